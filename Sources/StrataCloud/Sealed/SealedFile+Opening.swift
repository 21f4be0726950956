public import Foundation

extension SealedFile {
    /// Opens a range of a section as its bytes arrive, in memory for one chunk of the file and one of the transfer.
    ///
    /// - Parameters:
    ///   - range: of the unsealed bytes, as for ``sealedRange(of:_:)``.
    ///   - sealed: the bytes of exactly that sealed range.
    /// - Returns: the unsealed bytes, which throw ``CloudError`` with `sealedDamaged` or `sealedTruncated` at the first chunk that is not genuine
    ///   or not whole, and what `sealed` throws.
    public func open(
        _ section: SealedSection,
        _ range: Range<Int64>? = nil,
        in sealed: AsyncThrowingStream<Data, any Error>
    ) -> AsyncThrowingStream<Data, any Error> {
        let reader = OpeningReader(self, section, clamped(range, section), sealed)
        return AsyncThrowingStream(unfolding: { try await reader.next() })
    }

    /// Opens a range of a section as its bytes arrive from a remote.
    ///
    /// - Parameter download: the answer to a request for ``sealedRange(of:_:)``.
    /// - Throws: ``CloudError`` with `sealedTruncated` or `sealedDamaged` where the answer holds another range, or the object is of another size than
    ///   the file. What is in the stream throws as in ``open(_:_:in:)-(_,_,AsyncThrowingStream<Data,Error>)``.
    public func open(
        _ section: SealedSection,
        _ range: Range<Int64>? = nil,
        in download: RemoteDownload
    ) throws -> AsyncThrowingStream<Data, any Error> {
        if let size = download.object.size { try check(size: size) }
        let wanted = sealedRange(of: section, range)
        guard download.range == wanted else {
            throw CloudError(.sealedDamaged, "The answer has the bytes \(download.range) of the file, not \(wanted).")
        }
        return open(section, range, in: download.chunks)
    }

    /// Opens a range of a section in memory.
    ///
    /// - Parameter sealed: the bytes of ``sealedRange(of:_:)``.
    /// - Throws: ``CloudError`` with `sealedDamaged` or `sealedTruncated`.
    public func open(_ section: SealedSection, _ range: Range<Int64>? = nil, in sealed: Data) throws -> Data {
        let wanted = clamped(range, section)
        let expected = sealedRange(of: section, wanted)
        if sealed.count < expected.count { throw CloudError.truncated(Int64(sealed.count), Int64(expected.count)) }
        if sealed.count > expected.count { throw CloudError.surplus(section) }
        var result = Data(capacity: wanted.count)
        var rest = sealed
        for chunk in layout.chunks(of: section, holding: wanted) {
            let size = layout.range(of: section, chunk: chunk).count + Int(SealedLayout.overhead)
            result += try open(section, chunk, rest.prefix(size), wanted)
            rest = rest.dropFirst(size)
        }
        return result
    }

    /// The header, where the first bytes of the file hold all of it.
    ///
    /// - Parameter bytes: the beginning of the file, as many as ``firstRead`` or all there are.
    /// - Returns: nil where the header does not end in `bytes`; then fetch ``sealedRange(of:_:)`` of it.
    /// - Throws: ``CloudError`` with `sealedDamaged` or `sealedMalformed`.
    public func header(in bytes: Data) throws -> SealedHeader? {
        let range = sealedRange(of: .header)
        guard bytes.count >= range.upperBound else {
            if bytes.count < Self.firstRead, range.upperBound <= Self.firstRead {
                throw CloudError.truncated(Int64(bytes.count), range.upperBound)
            }
            return nil
        }
        let sealed = bytes.dropFirst(Int(range.lowerBound)).prefix(range.count)
        return try SealedHeader(decoding: open(.header, in: Data(sealed)))
    }

    /// What of a chunk belongs to a range of the section.
    func open(_ section: SealedSection, _ chunk: Int64, _ box: Data, _ wanted: Range<Int64>) throws -> Data {
        let position = SealedPosition(
            section: section,
            chunk: chunk,
            isLast: chunk == layout.chunkCount(of: section) - 1
        )
        let plain = try keys.open(box, at: position)
        let all = layout.range(of: section, chunk: chunk)
        let part = wanted.clamped(to: all)
        guard part != all else { return plain }
        return plain.dropFirst(Int(part.lowerBound - all.lowerBound)).prefix(part.count)
    }
}

extension CloudError {
    static func surplus(_ section: SealedSection) -> CloudError {
        CloudError(.sealedDamaged, "There are more bytes than the section '\(section)' has.")
    }
}
