/// Where everything lies in a sealed file of given sizes.
struct SealedLayout: Hashable, Sendable {
    /// What a box adds to the bytes in it: a nonce before them, and a tag behind them.
    static let overhead: Int64 = 12 + 16
    /// How large a section may be; no sum of sealed sizes leaves 64 bits then.
    static let maximumSize: Int64 = 1 << 56

    /// How many bytes a chunk has unsealed, the last one of a section apart.
    let chunkSize: Int64
    /// Unsealed sizes, in the order of the sections.
    let sizes: [Int64]

    /// Whether the format allows it.
    var isValid: Bool { sizes.count == SealedSection.allCases.count && sizes.allSatisfy { 0...Self.maximumSize ~= $0 } }

    func size(of section: SealedSection) -> Int64 { sizes[section.index] }

    func chunkCount(of section: SealedSection) -> Int64 {
        let size = size(of: section)
        return size / chunkSize + (size % chunkSize == 0 ? 0 : 1)
    }

    func sealedSize(of section: SealedSection) -> Int64 {
        size(of: section) + chunkCount(of: section) * Self.overhead
    }

    /// Where the section begins.
    func offset(of section: SealedSection) -> Int64 {
        SealedSection.allCases.prefix(section.index).reduce(Int64(SealedFile.preambleSize)) { $0 + sealedSize(of: $1) }
    }

    /// The bytes of the file that are the section.
    func sealedRange(of section: SealedSection) -> Range<Int64> {
        let start = offset(of: section)
        return start..<start + sealedSize(of: section)
    }

    /// The size of the file.
    var total: Int64 { sealedRange(of: .data).upperBound }

    /// The numbers of the chunks that hold unsealed bytes of the section.
    func chunks(of section: SealedSection, holding range: Range<Int64>) -> Range<Int64> {
        guard !range.isEmpty else { return 0..<0 }
        return range.lowerBound / chunkSize..<(range.upperBound - 1) / chunkSize + 1
    }

    /// The bytes of the file that are chunks of the section.
    func sealedRange(of section: SealedSection, chunks: Range<Int64>) -> Range<Int64> {
        let whole = sealedRange(of: section)
        let step = chunkSize + Self.overhead
        let start = whole.lowerBound + chunks.lowerBound * step
        guard !chunks.isEmpty else { return start..<start }
        return start..<min(whole.upperBound, whole.lowerBound + chunks.upperBound * step)
    }

    /// The unsealed bytes that a chunk holds.
    func range(of section: SealedSection, chunk: Int64) -> Range<Int64> {
        chunk * chunkSize..<min(size(of: section), (chunk + 1) * chunkSize)
    }
}
