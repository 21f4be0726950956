import Foundation

/// Reads a stream of bytes in pieces of a requested size.
///
/// Isolation: that of its owner. Calls must not overlap.
final class ByteReader {
    private var iterator: AsyncThrowingStream<Data, any Error>.Iterator
    private var buffer = Data()
    private var isAtEnd = false

    init(_ stream: AsyncThrowingStream<Data, any Error>) { iterator = stream.makeAsyncIterator() }

    /// Reads the next bytes. It returns fewer than `count` bytes only at the end of the stream.
    ///
    /// **Complexity**: linear in the bytes. The memory holds these bytes and one chunk of the stream.
    nonisolated(nonsending) func read(_ count: Int) async throws -> Data {
        while buffer.count < count, !isAtEnd {
            guard let chunk = try await iterator.next(isolation: #isolation) else {
                isAtEnd = true
                break
            }
            if buffer.isEmpty { buffer = chunk } else { buffer.append(chunk) }
        }
        let result = buffer.prefix(count)
        // The rest is a slice of the same storage, so nothing is copied.
        buffer = buffer.count > count ? buffer.dropFirst(count) : Data()
        return result
    }

    /// Whether the stream has ended.
    nonisolated(nonsending) func isEmpty() async throws -> Bool {
        if !buffer.isEmpty { return false }
        while !isAtEnd {
            guard let chunk = try await iterator.next(isolation: #isolation) else {
                isAtEnd = true
                break
            }
            if !chunk.isEmpty {
                buffer = chunk
                return false
            }
        }
        return true
    }
}

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
