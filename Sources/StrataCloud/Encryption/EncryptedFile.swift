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

extension EncryptedFile {
    /// Decrypts a range of a section as its bytes arrive.
    ///
    /// The memory holds one chunk of the file and one of the transfer.
    ///
    /// - Parameters:
    ///   - section: the section to decrypt.
    ///   - range: the range of decrypted bytes, as for ``encryptedRange(of:_:)``.
    ///   - encrypted: exactly the encrypted bytes of that encrypted range.
    /// - Returns: a stream of the decrypted bytes. It throws ``CloudError`` with `encryptedContentDamaged` or
    ///   `encryptedContentTruncated` at the first chunk that is not authentic or not complete. It rethrows the errors
    ///   of `encrypted`.
    public func open(
        _ section: EncryptedSection,
        _ range: Range<Int64>? = nil,
        in encrypted: AsyncThrowingStream<Data, any Error>
    ) -> AsyncThrowingStream<Data, any Error> {
        let reader = DecryptingReader(self, section, clamped(range, section), encrypted)
        return AsyncThrowingStream(unfolding: { try await reader.next() })
    }

    /// Decrypts a range of a section as its bytes arrive from a remote.
    ///
    /// - Parameters:
    ///   - section: the section to decrypt.
    ///   - range: the range of decrypted bytes, as for ``encryptedRange(of:_:)``.
    ///   - download: the answer to a request for ``encryptedRange(of:_:)``.
    /// - Throws: ``CloudError`` with `encryptedContentTruncated` or `encryptedContentDamaged` if the answer contains
    ///   another range, or if the object has another size than the file. The stream throws as in
    ///   ``open(_:_:in:)-(_,_,AsyncThrowingStream<Data,Error>)``.
    public func open(
        _ section: EncryptedSection,
        _ range: Range<Int64>? = nil,
        in download: RemoteDownload
    ) throws -> AsyncThrowingStream<Data, any Error> {
        if let size = download.object.size { try check(size: size) }
        let wanted = encryptedRange(of: section, range)
        guard download.range == wanted else {
            throw CloudError(
                .encryptedContentDamaged,
                "The answer has the bytes \(download.range) of the file, not \(wanted)."
            )
        }
        return open(section, range, in: download.chunks)
    }

    /// Decrypts a range of a section in memory.
    ///
    /// - Parameters:
    ///   - section: the section to decrypt.
    ///   - range: the range of decrypted bytes, as for ``encryptedRange(of:_:)``.
    ///   - encrypted: the bytes of ``encryptedRange(of:_:)``.
    /// - Throws: ``CloudError`` with `encryptedContentDamaged` or `encryptedContentTruncated`.
    public func open(_ section: EncryptedSection, _ range: Range<Int64>? = nil, in encrypted: Data) throws -> Data {
        let wanted = clamped(range, section)
        let expected = encryptedRange(of: section, wanted)
        if encrypted.count < expected.count {
            throw CloudError.truncated(Int64(encrypted.count), Int64(expected.count))
        }
        if encrypted.count > expected.count { throw CloudError.surplus(section) }
        var result = Data(capacity: wanted.count)
        var rest = encrypted
        for chunk in layout.chunks(of: section, holding: wanted) {
            let size = layout.range(of: section, chunk: chunk).count + Int(EncryptedFileLayout.overhead)
            result += try open(section, chunk, rest.prefix(size), wanted)
            rest = rest.dropFirst(size)
        }
        return result
    }

    /// The header, if the first bytes of the file contain all of it.
    ///
    /// - Parameter bytes: the first ``firstRead`` bytes of the file, or the whole file if it is shorter.
    /// - Returns: nil if the header extends beyond `bytes`. Then fetch its ``encryptedRange(of:_:)``.
    /// - Throws: ``CloudError`` with `encryptedContentDamaged` or `encryptedContentMalformed`.
    public func header(in bytes: Data) throws -> EncryptedHeader? {
        let range = encryptedRange(of: .header)
        guard bytes.count >= range.upperBound else {
            if bytes.count < Self.firstRead, range.upperBound <= Self.firstRead {
                throw CloudError.truncated(Int64(bytes.count), range.upperBound)
            }
            return nil
        }
        let encrypted = bytes.dropFirst(Int(range.lowerBound)).prefix(range.count)
        return try EncryptedHeader(decoding: open(.header, in: Data(encrypted)))
    }

    /// Decrypts a chunk, and returns the bytes that belong to the requested range of the section.
    func open(_ section: EncryptedSection, _ chunk: Int64, _ box: Data, _ wanted: Range<Int64>) throws -> Data {
        guard let plain = keys.open(box, at: layout.position(of: section, chunk: chunk)) else {
            throw CloudError(
                .encryptedContentDamaged,
                "Chunk \(chunk) of the section '\(section)' does not match the encrypted content. "
                    + "Download the file again."
            )
        }
        let all = layout.range(of: section, chunk: chunk)
        let part = wanted.clamped(to: all)
        guard part != all else { return plain }
        return plain.dropFirst(Int(part.lowerBound - all.lowerBound)).prefix(part.count)
    }
}

/// Decrypts the chunks of a section as they arrive.
private actor DecryptingReader {
    private let file: EncryptedFile
    private let section: EncryptedSection
    private let wanted: Range<Int64>
    private let reader: ByteReader
    /// The chunks that have not arrived yet.
    private var chunks: Range<Int64>
    /// Whether an error was thrown. Then no further bytes follow.
    private var hasFailed = false

    init(
        _ file: EncryptedFile,
        _ section: EncryptedSection,
        _ wanted: Range<Int64>,
        _ encrypted: AsyncThrowingStream<Data, any Error>
    ) {
        self.file = file
        self.section = section
        self.wanted = wanted
        reader = ByteReader(encrypted)
        chunks = file.layout.chunks(of: section, holding: wanted)
    }

    func next() async throws -> Data? {
        guard !hasFailed else { return nil }
        do { return try await open() } catch {
            hasFailed = true
            throw error
        }
    }

    private func open() async throws -> Data? {
        guard let chunk = chunks.first else {
            guard try await reader.isEmpty() else { throw CloudError.surplus(section) }
            return nil
        }
        let size = file.layout.range(of: section, chunk: chunk).count + Int(EncryptedFileLayout.overhead)
        let box = try await reader.read(size)
        guard box.count == size else { throw CloudError.truncated(Int64(box.count), Int64(size)) }
        chunks = chunk + 1..<chunks.upperBound
        return try file.open(section, chunk, box, wanted)
    }
}

extension CloudError {
    static func surplus(_ section: EncryptedSection) -> CloudError {
        CloudError(.encryptedContentDamaged, "There are more bytes than the section '\(section)' has.")
    }
}
