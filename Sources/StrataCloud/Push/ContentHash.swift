import Crypto
import Foundation
import Strata

/// A hash that identifies content: its size and SHA-256. For an encrypted file it is the SHA-256 of the preamble. The
/// preamble contains a random salt, so the hash reveals no information about the content. Only the first bytes of the
/// file are needed to recognise it.
struct ContentHash: Hashable, Sendable {
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
        // In a cancelled task the chunks just end, so the hash would be incomplete.
        try Task.checkCancellation()
        digest = Hexadecimal.text(hash.finalize())
        self.size = size
    }

    private init(digest: String, size: Int64) { (self.digest, self.size) = (digest, size) }

    /// - Parameter start: the first bytes of an encrypted file.
    init(encrypted start: Data, size: Int64) {
        digest = Self.seal + Hexadecimal.text(SHA256.hash(data: start.prefix(Int(EncryptedFile.preambleSize))))
        self.size = size
    }

    init?(text: String) {
        let parts = text.split(atBytes: "-")
        guard parts.count == 2, let size = Int64(parts[1]) else { return nil }
        (digest, self.size) = (parts[0], size)
    }

    private static let seal = "seal."

    var text: String { "\(digest)-\(size)" }

    /// Whether the hash belongs to an encrypted file.
    var isEncrypted: Bool { digest.hasBytePrefix(Self.seal) }
}
