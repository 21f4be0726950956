public import Foundation

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
        let position = ChunkPosition(
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
    static func surplus(_ section: EncryptedSection) -> CloudError {
        CloudError(.encryptedContentDamaged, "There are more bytes than the section '\(section)' has.")
    }
}
