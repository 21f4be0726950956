internal import AsyncHTTPClient
import Foundation
internal import NIOCore
internal import NIOFoundationCompat
import StrataRemotes

/// Reads the body of an answer chunk by chunk. It reads only on demand, so the server waits for a slow reader.
actor IncomingChunks {
    /// Nil while a call reads, and after the last byte. Releasing it ends the transfer.
    private var source: (iterator: HTTPClientResponse.Body.AsyncIterator, ticket: RequestGate.Ticket)?
    private let host: String
    private let key: RemoteKey?
    private var skipped: Int64
    private var left: Int64

    init(
        iterator: sending HTTPClientResponse.Body.AsyncIterator,
        ticket: RequestGate.Ticket,
        host: String,
        key: RemoteKey?,
        skipped: Int64,
        length: Int64
    ) {
        source = (iterator, ticket)
        self.host = host
        self.key = key
        self.skipped = skipped
        left = length
    }

    func next() async throws -> Data? {
        while left > 0 {
            guard let data = try await read() else {
                try Task.checkCancellation()
                throw RemoteError(.damagedContent, "The content from \(host) is \(left) bytes too short.", key: key)
            }
            let front = Int(min(skipped, Int64(data.count)))
            skipped -= Int64(front)
            let part = data.dropFirst(front).prefix(Int(clamping: left))
            left -= Int64(part.count)
            if !part.isEmpty { return Data(part) }
        }
        source = nil
        return nil
    }

    private func read() async throws -> Data? {
        guard let (iterator, ticket) = source else { return nil }
        source = nil
        do {
            // The iterator was removed from the actor's state above and is stored back only after this read. So only
            // one call uses it at a time.
            nonisolated(unsafe) var reader = iterator
            let buffer = try await reader.next()
            source = (reader, ticket)
            return buffer.map { Data(buffer: $0) }
        } catch {
            throw RemoteError.ofConnection(error, host: host, key: key)
        }
    }
}
