import Foundation

/// Decrypts the chunks of a section as they arrive.
actor DecryptingReader {
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
