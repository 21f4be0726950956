public import Foundation

/// An encrypted file whose preamble has been decrypted.
///
/// The value computes the ranges to fetch, and decrypts the fetched bytes.
///
/// ```swift
/// let start = try await remote.get(key, range: 0..<EncryptedFile.firstRead, if: .none)
/// let file = try EncryptedFile(bytes, node: "alice/42", keys: keys)
/// let wanted = file.encryptedRange(of: .data, 1_000_000..<2_000_000)
/// let part = try await remote.get(key, range: wanted, if: .matches(eTag))
/// for try await bytes in try file.open(.data, 1_000_000..<2_000_000, in: part) { … }
/// ```
///
/// All returned bytes are authenticated: each chunk is checked, together with its position in this version of this
/// node's content, before its bytes are returned. The file alone cannot show whether a newer version exists; compare
/// its ETag for that.
///
/// Isolation: any.
public struct EncryptedFile: Sendable {
    /// The size of the preamble in bytes: 212. The preamble describes the layout and the keys of the file.
    public static let preambleSize: Int64 = 212
    /// The number of bytes to fetch first.
    ///
    /// These bytes contain the preamble. They also contain the header if the chunks of the file have at least 16 KiB.
    public static let firstRead: Int64 = 16_384

    /// The key of the node, for giving it to others or for encrypting further versions.
    public let contentKey: ContentKey
    /// The id of the account key that wraps the content key.
    public var accountKey: UUID { preamble.accountKey }

    let preamble: EncryptedFilePreamble
    let layout: EncryptedFileLayout
    let keys: EncryptedFileKeys

    /// Decrypts a preamble with the keys of the account.
    ///
    /// - Parameters:
    ///   - bytes: at least the first 212 bytes of the file.
    ///   - node: the text that the file was bound to when it was encrypted.
    ///   - keys: the keys of the account.
    /// - Throws: ``CloudError`` with `notEncrypted`, `encryptionVersionUnknown`, `encryptedContentTruncated`,
    ///   `accountKeyUnknown`, `encryptionKeyRefused`, `encryptedForAnotherNode` or `encryptedContentMalformed`.
    public init(_ bytes: Data, node: String, keys: AccountKeys) throws {
        let preamble = try EncryptedFilePreamble(bytes)
        try self.init(preamble, node: node, key: preamble.unwrap(with: keys))
    }

    /// Decrypts a preamble with the key of the node, for recipients of that key.
    ///
    /// - Throws: as ``init(_:node:keys:)``, except `accountKeyUnknown`.
    public init(_ bytes: Data, node: String, key: ContentKey) throws {
        try self.init(EncryptedFilePreamble(bytes), node: node, key: key)
    }

    private init(_ preamble: EncryptedFilePreamble, node: String, key: ContentKey) throws {
        self.preamble = preamble
        contentKey = key
        keys = EncryptedFileKeys(key, salt: preamble.salt, node: node)
        layout = try preamble.decryptTable(node: node, keys: keys)
    }

    // MARK: Sizes and places

    /// The size of the file in bytes.
    public var size: Int64 { layout.total }

    /// The decrypted size of a section in bytes.
    public func size(of section: EncryptedSection) -> Int64 { layout.size(of: section) }

    /// The range of the file to fetch for a range of a section: the chunks that contain it.
    ///
    /// - Parameters:
    ///   - section: the section.
    ///   - range: the range of decrypted bytes; nil for the whole section. Bytes outside of the section are ignored.
    /// - Returns: the range of encrypted bytes. It is empty if no bytes are needed.
    public func encryptedRange(of section: EncryptedSection, _ range: Range<Int64>? = nil) -> Range<Int64> {
        let wanted = clamped(range, section)
        return layout.encryptedRange(of: section, chunks: layout.chunks(of: section, holding: wanted))
    }

    func clamped(_ range: Range<Int64>?, _ section: EncryptedSection) -> Range<Int64> {
        let whole = 0..<layout.size(of: section)
        return range?.clamped(to: whole) ?? whole
    }

    /// Compares the size that the remote reports with the size in the file's own table.
    ///
    /// - Throws: ``CloudError`` with `encryptedContentTruncated` if the reported size is smaller, and
    ///   `encryptedContentDamaged` if it is larger.
    public func check(size: Int64) throws {
        if size < layout.total { throw CloudError.truncated(size, layout.total) }
        if size > layout.total {
            throw CloudError(
                .encryptedContentDamaged,
                "The file has \(size - layout.total) bytes after the end of the encrypted content."
            )
        }
    }

    // MARK: Another account key

    /// The preamble with the content key wrapped by the account's current key. The rest of the file stays unchanged.
    ///
    /// Remotes replace objects only as a whole. So the new file consists of these bytes, followed by the old file's
    /// bytes from ``preambleSize``: see ``rewrapped(_:with:)``. The content is not encrypted again.
    ///
    /// A holder of the old account key and an old copy of the file keeps access to the content key. To revoke that
    /// access, encrypt the content again with a new ``ContentKey``.
    public func rewrapped(with keys: AccountKeys) throws -> Data {
        var preamble = preamble
        try preamble.wrap(contentKey, with: keys.current, nonce: EncryptedFileKeys.random(12))
        return preamble.bytes
    }

    /// The whole file with the content key wrapped by the account's current key.
    ///
    /// - Parameters:
    ///   - old: the existing file, of ``size`` bytes. It is read from ``preambleSize``, with one of its chunks in
    ///     memory.
    ///   - keys: the keys of the account.
    /// - Throws: ``CloudError`` with `encryptedContentTruncated` or `encryptedContentDamaged` if `old` has another
    ///   size.
    public func rewrapped(_ old: RemoteBody, with keys: AccountKeys) throws -> RemoteBody {
        try check(size: old.size)
        let start = try rewrapped(with: keys)
        var body = RemoteBody(size: old.size) { range in
            let reader = PrefixedReader(start: start, body: old, range: range.clamped(to: 0..<old.size))
            return AsyncThrowingStream(unfolding: { try await reader.next() })
        }
        body.mediaType = old.mediaType
        return body
    }
}
