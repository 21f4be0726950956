import Foundation

/// Encrypts a range of a file, chunk by chunk, as it is read.
actor EncryptingReader {
    private let uploadState: UploadState
    private let sources: [EncryptionSource]
    private let bodies: [RemoteBody]
    private let layout: EncryptedFileLayout
    private let keys: EncryptedFileKeys
    /// The remaining range of the encrypted file.
    private var range: Range<Int64>
    /// The current section, and the reader of its source, positioned at the next chunk.
    private var current: (section: EncryptedSection, reader: ByteReader)?

    init(
        uploadState: UploadState,
        sources: [EncryptionSource],
        bodies: [RemoteBody],
        layout: EncryptedFileLayout,
        keys: EncryptedFileKeys,
        range: Range<Int64>
    ) {
        self.uploadState = uploadState
        self.sources = sources
        self.bodies = bodies
        self.layout = layout
        self.keys = keys
        self.range = range
    }

    /// The next bytes, at most one chunk; nil after the last bytes.
    func next() async throws -> Data? {
        guard !range.isEmpty else { return nil }
        let head = Int64(uploadState.head.count)
        if range.lowerBound < head {
            return give(uploadState.head, at: 0)
        }
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
        let count = layout.chunkCount(of: section)
        let wanted = layout.range(of: section, chunk: chunk)
        let reader = try await reader(of: section, from: wanted.lowerBound)
        let plain = try await reader.read(wanted.count)
        guard plain.count == wanted.count else {
            throw RemoteError(.unreadableBody, "The section '\(section)' has fewer bytes than were announced.")
        }
        let isLast = chunk == count - 1
        // The check comes after the read and before the bytes are returned. So no bytes of a source are sent if a
        // change of that source has been detected.
        try sources[section.index - 1].check(uploadState.fingerprints[section.index - 1])
        if isLast, !(try await reader.isEmpty()) {
            throw RemoteError(.unreadableBody, "The section '\(section)' has more bytes than were announced.")
        }
        return try keys.seal(plain, at: ChunkPosition(section: section, chunk: chunk, isLast: isLast))
    }

    private func reader(of section: EncryptedSection, from start: Int64) async throws -> ByteReader {
        // Chunks are read in order, so an existing reader of this section is at the beginning of the next chunk.
        if let current, current.section == section { return current.reader }
        let stream = try await bodies[section.index - 1].chunks(start..<layout.size(of: section))
        let reader = ByteReader(stream)
        current = (section, reader)
        return reader
    }
}
