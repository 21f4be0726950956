public import Foundation

extension SealedFile {
    /// Decrypts a range of a section as its bytes arrive.
    ///
    /// The memory holds one chunk of the file and one of the transfer.
    ///
    /// - Parameters:
    ///   - range: the range of decrypted bytes, as for ``sealedRange(of:_:)``.
    ///   - sealed: exactly the encrypted bytes of that sealed range.
    /// - Returns: a stream of the decrypted bytes. It throws ``CloudError`` with `sealedDamaged` or `sealedTruncated`
    ///   at the first chunk that is not authentic or not complete. It rethrows the errors of `sealed`.
    public func open(
        _ section: SealedSection,
        _ range: Range<Int64>? = nil,
        in sealed: AsyncThrowingStream<Data, any Error>
    ) -> AsyncThrowingStream<Data, any Error> {
        let reader = OpeningReader(self, section, clamped(range, section), sealed)
        return AsyncThrowingStream(unfolding: { try await reader.next() })
    }

    /// Decrypts a range of a section as its bytes arrive from a remote.
    ///
    /// - Parameter download: the answer to a request for ``sealedRange(of:_:)``.
    /// - Throws: ``CloudError`` with `sealedTruncated` or `sealedDamaged` if the answer contains another range, or if
    ///   the object has another size than the file. The stream throws as in
    ///   ``open(_:_:in:)-(_,_,AsyncThrowingStream<Data,Error>)``.
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

    /// Decrypts a range of a section in memory.
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

    /// The header, if the first bytes of the file contain all of it.
    ///
    /// - Parameter bytes: the first ``firstRead`` bytes of the file, or the whole file if it is shorter.
    /// - Returns: nil if the header extends beyond `bytes`. Then fetch its ``sealedRange(of:_:)``.
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

    /// Decrypts a chunk, and returns the bytes that belong to the requested range of the section.
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
