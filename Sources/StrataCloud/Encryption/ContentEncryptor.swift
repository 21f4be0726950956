import Foundation

/// Encrypts the content of a node into one file, whose bytes ``body`` provides.
///
/// ```swift
/// let encryptor = try ContentEncryptor(header, data: .file(video), key: contentKey, node: "alice/42", keys: keys)
/// let uploadState = encryptor.uploadState  // to be kept until the upload is complete
/// try await remote.put(encryptor.body, at: key, if: .isAbsent)
/// ```
///
/// Encrypting the same content under one upload state gives the same bytes each time, for any ranges. So an upload in
/// parts is resumed with the upload state alone:
///
/// ```swift
/// let encryptor = try ContentEncryptor(resuming: uploadState, data: .file(video), node: "alice/42", keys: keys)
/// ```
///
/// If a source has changed meanwhile, the initializer or the reading of its bytes throws `encryptionSourceChanged`.
/// Even if a change is not noticed, no two different chunks are encrypted with the same key and nonce.
///
/// Isolation: any. **Complexity**: memory for a few chunks, regardless of the sizes. A range of the file costs as much
/// as its chunks.
public struct ContentEncryptor: Sendable {
    /// The default size of chunks: 64 KiB.
    public static let chunkSize = 65_536

    /// The state for resuming the upload in another process.
    public let uploadState: UploadState
    /// The sources of metadata, thumbnail and data, in this order.
    fileprivate let sources: [EncryptionSource]
    /// The bytes of the sources.
    fileprivate let bodies: [RemoteBody]
    fileprivate let layout: EncryptedFileLayout
    fileprivate let keys: EncryptedFileKeys

    /// The encrypted file. Its size is known in advance, and it can be read more than once, in any ranges.
    public var body: RemoteBody {
        RemoteBody(size: layout.total) { [self] range in
            let reader = EncryptingReader(self, range.clamped(to: 0..<layout.total))
            return AsyncThrowingStream(unfolding: { try await reader.next() })
        }
    }

    /// Begins to encrypt a version of a node's content.
    ///
    /// - Parameters:
    ///   - header: the header of the file. The initializer sets its sizes.
    ///   - metadata: the source of the metadata section.
    ///   - thumbnail: the source of the thumbnail section.
    ///   - data: the source of the data section.
    ///   - key: the key of the node.
    ///   - node: a text that the file is bound to. It must identify the node permanently, wherever the file is
    ///     decrypted: for example account and id number, but not the path if the node may move. The text cannot be read
    ///     from the file.
    ///   - keys: the keys of the account. The current one wraps `key`.
    ///   - chunkSize: the number of bytes that are encrypted together, a power of two from 16 to 16,777,216. A range is
    ///     decrypted in whole chunks. Each chunk costs 28 additional bytes.
    /// - Throws: ``CloudError`` with `encryptionInputInvalid`; `RemoteError` with `unreadableBody` for files that
    ///   cannot be read.
    public init(
        _ header: EncryptedHeader = EncryptedHeader(),
        metadata: EncryptionSource = .none,
        thumbnail: EncryptionSource = .none,
        data: EncryptionSource = .none,
        key: ContentKey,
        node: String,
        keys: AccountKeys,
        chunkSize: Int = ContentEncryptor.chunkSize
    ) throws {
        try self.init(
            header,
            [metadata, thumbnail, data],
            key: key,
            node: node,
            keys: keys,
            chunkSize: chunkSize,
            random: EncryptedFileKeys.random
        )
    }

    /// - Parameter random: returns the given number of random bytes. It is called for the salt, for the nonce of the
    ///   table, and for the nonce of the wrapped key, in this order.
    init(
        _ header: EncryptedHeader,
        _ sources: [EncryptionSource],
        key: ContentKey,
        node: String,
        keys: AccountKeys,
        chunkSize: Int,
        random: (Int) -> Data
    ) throws {
        let exponent = UInt8(truncatingIfNeeded: chunkSize.trailingZeroBitCount)
        guard chunkSize > 0, chunkSize.nonzeroBitCount == 1, EncryptedFilePreamble.exponents ~= exponent else {
            throw CloudError(
                .encryptionInputInvalid,
                "A chunk has 2^4 to 2^24 bytes, a power of two, not \(chunkSize)."
            )
        }
        let bodies = try sources.map { try $0.body() }
        var header = header
        header.sizes = [.metadata: bodies[0].size, .thumbnail: bodies[1].size, .data: bodies[2].size]
        let plain = try header.encoded()
        let layout = EncryptedFileLayout(chunkSize: Int64(chunkSize), sizes: [Int64(plain.count)] + bodies.map(\.size))
        guard layout.isValid else { throw CloudError(.encryptionInputInvalid, "A section is larger than 2^56 bytes.") }
        var preamble = EncryptedFilePreamble(exponent: exponent, accountKey: keys.current.id, salt: random(32))
        let fileKeys = EncryptedFileKeys(key, salt: preamble.salt, node: node)
        try preamble.encryptTable(layout, node: node, keys: fileKeys, nonce: random(12))
        try preamble.wrap(key, with: keys.current, nonce: random(12))
        var head = preamble.bytes
        for chunk in 0..<layout.chunkCount(of: .header) {
            let range = layout.range(of: .header, chunk: chunk)
            let position = layout.position(of: .header, chunk: chunk)
            head += try fileKeys.seal(plain[Int(range.lowerBound)..<Int(range.upperBound)], at: position)
        }
        uploadState = UploadState(head: head, fingerprints: try sources.map { try $0.fingerprint() })
        (self.sources, self.bodies, self.layout, self.keys) = (sources, bodies, layout, fileKeys)
    }

    /// Resumes an encryption with the same sources.
    ///
    /// - Throws: ``CloudError`` with `encryptionSourceChanged` for other sources; the errors of
    ///   ``EncryptedFile/init(_:node:keys:)`` for an upload state that is damaged, belongs to another node, or names an
    ///   account key that is not among `keys`.
    public init(
        resuming uploadState: UploadState,
        metadata: EncryptionSource = .none,
        thumbnail: EncryptionSource = .none,
        data: EncryptionSource = .none,
        node: String,
        keys: AccountKeys
    ) throws {
        let file = try EncryptedFile(uploadState.head, node: node, keys: keys)
        guard Int64(uploadState.head.count) == file.layout.offset(of: .metadata),
            try file.header(in: uploadState.head) != nil
        else {
            throw CloudError.truncated(Int64(uploadState.head.count), file.layout.offset(of: .metadata))
        }
        let sources = [metadata, thumbnail, data]
        let bodies = try sources.map { try $0.body() }
        let sections: [EncryptedSection] = [.metadata, .thumbnail, .data]
        guard uploadState.fingerprints.count == sections.count else {
            throw CloudError(
                .encryptedContentMalformed,
                "The upload state was not written by this version. Begin again, with a new upload state."
            )
        }
        for (index, section) in sections.enumerated() {
            guard bodies[index].size == file.size(of: section),
                try sources[index].fingerprint() == uploadState.fingerprints[index]
            else { throw CloudError.sourceChanged("The source of the section '\(section)'") }
        }
        self.uploadState = uploadState
        (self.sources, self.bodies, layout, self.keys) = (sources, bodies, file.layout, file.keys)
    }
}

/// The state for resuming an upload of encrypted content, also in another process.
///
/// With an upload state, the same content is encrypted to the same bytes.
///
/// The upload state does not contain secrets: the account key wraps the content key, and all data about the content is
/// encrypted or a digest. An upload state belongs to one version of one node's content. A new version gets a new upload
/// state.
public struct UploadState: Hashable, Sendable, Codable {
    /// The preamble and the encrypted header.
    let head: Data
    /// The fingerprints that detect changes of the sources: metadata, thumbnail, data.
    let fingerprints: [String]
}

/// Encrypts a range of a file, chunk by chunk, as it is read.
private actor EncryptingReader {
    private let encryptor: ContentEncryptor
    /// The remaining range of the encrypted file.
    private var range: Range<Int64>
    /// The current section, and the reader of its source, positioned at the next chunk.
    private var current: (section: EncryptedSection, reader: ByteReader)?

    init(_ encryptor: ContentEncryptor, _ range: Range<Int64>) { (self.encryptor, self.range) = (encryptor, range) }

    private var layout: EncryptedFileLayout { encryptor.layout }

    /// The next bytes, at most one chunk; nil after the last bytes.
    func next() async throws -> Data? {
        guard !range.isEmpty else { return nil }
        let head = encryptor.uploadState.head
        if range.lowerBound < head.count { return give(head, at: 0) }
        guard
            let section = EncryptedSection.allCases.last(where: {
                layout.encryptedRange(of: $0).contains(range.lowerBound)
            })
        else { return nil }
        let step = layout.chunkSize + EncryptedFileLayout.overhead
        let chunk = (range.lowerBound - layout.offset(of: section)) / step
        let box = try await seal(section, chunk)
        return give(box, at: layout.offset(of: section) + chunk * step)
    }

    /// Returns those of the given bytes that belong to the range, and moves the start of the range to their end.
    private func give(_ bytes: Data, at offset: Int64) -> Data {
        let start = Int(range.lowerBound - offset)
        let end = Int(min(range.upperBound - offset, Int64(bytes.count)))
        range = offset + Int64(end)..<range.upperBound
        return Data(bytes.dropFirst(start).prefix(end - start))
    }

    private func seal(_ section: EncryptedSection, _ chunk: Int64) async throws -> Data {
        let wanted = layout.range(of: section, chunk: chunk)
        let reader = try await reader(of: section, from: wanted.lowerBound)
        let plain = try await reader.read(wanted.count)
        guard plain.count == wanted.count else {
            throw RemoteError(.unreadableBody, "The section '\(section)' has fewer bytes than were announced.")
        }
        // The check comes after the read and before the bytes are returned. So no bytes of a source are sent if a
        // change of that source has been detected.
        try encryptor.sources[section.index - 1].check(encryptor.uploadState.fingerprints[section.index - 1])
        let isLast = chunk == layout.chunkCount(of: section) - 1
        if isLast, !(try await reader.isEmpty()) {
            throw RemoteError(.unreadableBody, "The section '\(section)' has more bytes than were announced.")
        }
        return try encryptor.keys.seal(plain, at: layout.position(of: section, chunk: chunk))
    }

    private func reader(of section: EncryptedSection, from start: Int64) async throws -> ByteReader {
        // Chunks are read in order, so an existing reader of this section is at the beginning of the next chunk.
        if let current, current.section == section { return current.reader }
        let stream = try await encryptor.bodies[section.index - 1].chunks(start..<layout.size(of: section))
        let reader = ByteReader(stream)
        current = (section, reader)
        return reader
    }
}
