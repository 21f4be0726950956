import Crypto
import Foundation
import Strata

/// What tells contents apart: their size and SHA-256. Of a sealed file it is the SHA-256 of the preamble, in which there is a random salt, so that it
/// says nothing of the content, and a few bytes are enough to recognise it.
struct ContentPrint: Hashable, Sendable {
    let digest: String
    let size: Int64

    init(of body: RemoteBody) async throws {
        if let bytes = body.bytes {
            self.init(digest: Hexadecimal.text(SHA256.hash(data: bytes)), size: body.size)
            return
        }
        try await self.init(of: body.chunks())
        guard size == body.size else { throw RemoteError.wrongSize(size, body.size) }
    }

    init(of chunks: AsyncThrowingStream<Data, any Error>) async throws {
        var hash = SHA256()
        var size: Int64 = 0
        for try await chunk in chunks {
            hash.update(data: chunk)
            size += Int64(chunk.count)
        }
        // To a task that is cancelled the chunks just end.
        try Task.checkCancellation()
        digest = Hexadecimal.text(hash.finalize())
        self.size = size
    }

    private init(digest: String, size: Int64) { (self.digest, self.size) = (digest, size) }

    /// - Parameter start: the first bytes of a sealed file.
    init(sealed start: Data, size: Int64) {
        digest = Self.seal + Hexadecimal.text(SHA256.hash(data: start.prefix(Int(SealedFile.preambleSize))))
        self.size = size
    }

    init?(text: String) {
        let parts = text.split(atBytes: "-")
        guard parts.count == 2, let size = Int64(parts[1]) else { return nil }
        (digest, self.size) = (parts[0], size)
    }

    private static let seal = "seal."

    var text: String { "\(digest)-\(size)" }

    /// Whether it is one of a sealed file.
    var isSealed: Bool { digest.hasBytePrefix(Self.seal) }
}
