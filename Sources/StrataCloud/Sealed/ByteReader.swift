import Foundation

/// Takes bytes out of a stream in pieces of the size that is asked for.
///
/// Isolation: whoever holds it; one call after the other.
final class ByteReader {
    private var iterator: AsyncThrowingStream<Data, any Error>.Iterator
    private var buffer = Data()
    private var isAtEnd = false

    init(_ stream: AsyncThrowingStream<Data, any Error>) { iterator = stream.makeAsyncIterator() }

    /// The next bytes; fewer than asked for only at the end of the stream.
    ///
    /// **Complexity**: linear in the bytes, and in memory they are held together with one chunk of the stream.
    nonisolated(nonsending) func read(_ count: Int) async throws -> Data {
        while buffer.count < count, !isAtEnd {
            guard let chunk = try await iterator.next(isolation: #isolation) else {
                isAtEnd = true
                break
            }
            if buffer.isEmpty { buffer = chunk } else { buffer.append(chunk) }
        }
        let result = buffer.prefix(count)
        // What remains is a slice of the same storage; nothing is copied.
        buffer = buffer.count > count ? buffer.dropFirst(count) : Data()
        return result
    }

    /// Whether there is nothing left.
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
