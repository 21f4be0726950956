public import Foundation

/// A sealed file, of which the preamble has been opened: it says where everything lies, and opens what was fetched.
///
/// ```swift
/// let start = try await remote.get(key, range: 0..<SealedFile.firstRead, if: .none)
/// let file = try SealedFile(bytes, node: "alice/42", keys: keys)
/// let wanted = file.sealedRange(of: .data, 1_000_000..<2_000_000)
/// let part = try await remote.get(key, range: wanted, if: .matches(eTag))
/// for try await bytes in try file.open(.data, 1_000_000..<2_000_000, in: part) { … }
/// ```
///
/// Nothing is given out that was not checked: each chunk is authenticated, together with its place in this version of this
/// node's content, before its bytes are handed on. What cannot be told from a file alone is whether there is a newer version of it;
/// for that compare its ETag.
///
/// Isolation: any.
public struct SealedFile: Sendable {
    /// How many bytes at the beginning of a file say everything about its layout and keys: 212.
    public static let preambleSize: Int64 = 212
    /// How many bytes to fetch first: those of the preamble, and of the header of every file whose chunks have 16 KiB or more.
    public static let firstRead: Int64 = 16_384

    /// The key of the node, to give it to others or to seal further versions.
    public let contentKey: ContentKey
    /// The id of the account key with which the content key is wrapped.
    public var accountKey: UUID { preamble.accountKey }

    let preamble: SealedPreamble
    let layout: SealedLayout
    let keys: SealedFileKeys

    /// Opens a preamble with the keys of the account.
    ///
    /// - Parameters:
    ///   - bytes: the first 212 bytes of the file, or more of them.
    ///   - node: what the file was bound to when it was sealed.
    /// - Throws: ``CloudError`` with `notSealed`, `sealedVersionUnknown`, `sealedTruncated`, `accountKeyUnknown`, `sealKeyRefused`,
    ///   `sealedForAnotherNode` or `sealedMalformed`.
    public init(_ bytes: Data, node: String, keys: AccountKeys) throws {
        let preamble = try SealedPreamble(bytes)
        try self.init(preamble, node: node, key: preamble.unwrap(with: keys))
    }

    /// Opens a preamble with the key of the node, for those to whom it was given.
    ///
    /// - Throws: as ``init(_:node:keys:)``, but for `accountKeyUnknown`.
    public init(_ bytes: Data, node: String, key: ContentKey) throws {
        try self.init(SealedPreamble(bytes), node: node, key: key)
    }

    private init(_ preamble: SealedPreamble, node: String, key: ContentKey) throws {
        self.preamble = preamble
        contentKey = key
        keys = SealedFileKeys(key, salt: preamble.salt, node: node)
        layout = try preamble.openTable(node: node, keys: keys)
    }

    // MARK: Sizes and places

    /// The size of the file in bytes.
    public var size: Int64 { layout.total }

    /// How many bytes a section has, unsealed.
    public func size(of section: SealedSection) -> Int64 { layout.size(of: section) }

    /// Which bytes of the file to fetch for a range of a section: the chunks that hold it.
    ///
    /// - Parameter range: of the unsealed bytes; what lies outside of the section is left out. All of them where it is nil.
    /// - Returns: an empty range where there is nothing to fetch.
    public func sealedRange(of section: SealedSection, _ range: Range<Int64>? = nil) -> Range<Int64> {
        let wanted = clamped(range, section)
        return layout.sealedRange(of: section, chunks: layout.chunks(of: section, holding: wanted))
    }

    func clamped(_ range: Range<Int64>?, _ section: SealedSection) -> Range<Int64> {
        let whole = 0..<layout.size(of: section)
        return range?.clamped(to: whole) ?? whole
    }

    /// Compares the size of the file as the remote says it with what the file says itself.
    ///
    /// - Throws: ``CloudError`` with `sealedTruncated` where it is smaller, and `sealedDamaged` where it is larger.
    public func check(size: Int64) throws {
        if size < layout.total { throw CloudError.truncated(size, layout.total) }
        if size > layout.total {
            throw CloudError(
                .sealedDamaged,
                "There are \(size - layout.total) bytes behind the end of the sealed file."
            )
        }
    }

    // MARK: Another account key

    /// The preamble with the content key wrapped by the account's current key; everything behind it stays as it is.
    ///
    /// On a remote, whose objects are only replaced as a whole, the new file is these bytes and then those of the old one from
    /// ``preambleSize`` on: ``rewrapped(_:with:)``. Nothing is sealed again.
    /// Who has the old account key and an old copy of the file keeps the content key. To shut somebody out, seal the content anew with a
    /// new ``ContentKey``.
    public func rewrapped(with keys: AccountKeys) throws -> Data {
        var preamble = preamble
        try preamble.wrap(contentKey, with: keys.current, nonce: SealedFileKeys.random(12))
        return preamble.bytes
    }

    /// The whole file with the content key wrapped by the account's current key.
    ///
    /// - Parameter old: the file as it is, of ``size`` bytes; it is read from ``preambleSize`` on, in memory for one of its chunks.
    /// - Throws: ``CloudError`` with `sealedTruncated` or `sealedDamaged` where `old` is of another size.
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
