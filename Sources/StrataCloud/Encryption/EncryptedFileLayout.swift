/// The positions of all sections and chunks in an encrypted file with given sizes.
struct EncryptedFileLayout: Hashable, Sendable {
    /// The number of bytes that a sealed box adds: a nonce before the encrypted bytes, and a tag after them.
    static let overhead: Int64 = 12 + 16
    /// The maximum size of a section in bytes. Sums of encrypted sizes then fit into 64 bits.
    static let maximumSize: Int64 = 1 << 56

    /// The decrypted size of a chunk in bytes, except for the last chunk of a section.
    let chunkSize: Int64
    /// The decrypted sizes, in the order of the sections.
    let sizes: [Int64]

    /// Whether the format allows these sizes.
    var isValid: Bool {
        sizes.count == EncryptedSection.allCases.count && sizes.allSatisfy { 0...Self.maximumSize ~= $0 }
    }

    func size(of section: EncryptedSection) -> Int64 { sizes[section.index] }

    func chunkCount(of section: EncryptedSection) -> Int64 {
        let size = size(of: section)
        return size / chunkSize + (size % chunkSize == 0 ? 0 : 1)
    }

    func encryptedSize(of section: EncryptedSection) -> Int64 {
        size(of: section) + chunkCount(of: section) * Self.overhead
    }

    /// The offset of a section in the file.
    func offset(of section: EncryptedSection) -> Int64 {
        EncryptedSection.allCases.prefix(section.index).reduce(Int64(EncryptedFile.preambleSize)) {
            $0 + encryptedSize(of: $1)
        }
    }

    /// The range of a section in the file.
    func encryptedRange(of section: EncryptedSection) -> Range<Int64> {
        let start = offset(of: section)
        return start..<start + encryptedSize(of: section)
    }

    /// The size of the file in bytes.
    var total: Int64 { encryptedRange(of: .data).upperBound }

    /// The indices of the chunks that contain a range of the section's decrypted bytes.
    func chunks(of section: EncryptedSection, holding range: Range<Int64>) -> Range<Int64> {
        guard !range.isEmpty else { return 0..<0 }
        return range.lowerBound / chunkSize..<(range.upperBound - 1) / chunkSize + 1
    }

    /// The range of some chunks of a section in the file.
    func encryptedRange(of section: EncryptedSection, chunks: Range<Int64>) -> Range<Int64> {
        let whole = encryptedRange(of: section)
        let step = chunkSize + Self.overhead
        let start = whole.lowerBound + chunks.lowerBound * step
        guard !chunks.isEmpty else { return start..<start }
        return start..<min(whole.upperBound, whole.lowerBound + chunks.upperBound * step)
    }

    /// The range of decrypted bytes that a chunk contains.
    func range(of section: EncryptedSection, chunk: Int64) -> Range<Int64> {
        chunk * chunkSize..<min(size(of: section), (chunk + 1) * chunkSize)
    }
}
