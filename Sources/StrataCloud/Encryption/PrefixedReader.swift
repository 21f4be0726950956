import Foundation

/// Reads a body whose first bytes are replaced.
actor PrefixedReader {
    private let start: Data
    private let body: RemoteBody
    private var range: Range<Int64>
    private var rest: ByteReader?

    init(start: Data, body: RemoteBody, range: Range<Int64>) {
        (self.start, self.body, self.range) = (start, body, range)
    }

    func next() async throws -> Data? {
        guard !range.isEmpty else { return nil }
        if range.lowerBound < start.count {
            let bytes = start[Int(range.lowerBound)..<min(start.count, Int(range.upperBound))]
            range = range.lowerBound + Int64(bytes.count)..<range.upperBound
            return Data(bytes)
        }
        if rest == nil { rest = ByteReader(try await body.chunks(range)) }
        guard let bytes = try await rest?.read(min(ContentEncryptor.chunkSize, range.count)), !bytes.isEmpty else {
            throw RemoteError(.unreadableBody, "The encrypted file has fewer bytes than were announced.")
        }
        range = range.lowerBound + Int64(bytes.count)..<range.upperBound
        return bytes
    }
}
