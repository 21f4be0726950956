import Crypto
import Foundation
import Strata

/// A hash that identifies content: its size and SHA-256.
package struct ContentHash: Hashable, Sendable {
    /// The digest in hexadecimal digits. A module above may mark digests of another kind with a prefix.
    package let digest: String
    /// The number of bytes.
    package let size: Int64

    package init(of body: RemoteBody) async throws {
        if let bytes = body.bytes {
            self.init(digest: Hexadecimal.text(SHA256.hash(data: bytes)), size: body.size)
            return
        }
        try await self.init(of: body.chunks())
        guard size == body.size else { throw RemoteError.wrongSize(size, body.size) }
    }

    package init(of chunks: AsyncThrowingStream<Data, any Error>) async throws {
        var hash = SHA256()
        var size: Int64 = 0
        for try await chunk in chunks {
            hash.update(data: chunk)
            size += Int64(chunk.count)
        }
        // In a cancelled task the chunks just end, so the hash would be incomplete.
        try Task.checkCancellation()
        digest = Hexadecimal.text(hash.finalize())
        self.size = size
    }

    package init(digest: String, size: Int64) { (self.digest, self.size) = (digest, size) }

    /// Creates a hash from its ``text``; nil for another text.
    package init?(text: String) {
        let parts = text.split(atBytes: "-")
        guard parts.count == 2, let size = Int64(parts[1]) else { return nil }
        (digest, self.size) = (parts[0], size)
    }

    /// The digest and the size as one text.
    package var text: String { "\(digest)-\(size)" }
}
