import Crypto
import Foundation
import Strata

/// For an encrypted file, the digest is the SHA-256 of the preamble. The preamble contains a random salt, so the hash
/// reveals no information about the content. Only the first bytes of the file are needed to recognise it.
extension ContentHash {
    /// - Parameter start: the first bytes of an encrypted file.
    init(encrypted start: Data, size: Int64) {
        let preamble = start.prefix(Int(EncryptedFile.preambleSize))
        self.init(digest: Self.seal + Hexadecimal.text(SHA256.hash(data: preamble)), size: size)
    }

    private static let seal = "seal."

    /// Whether the hash belongs to an encrypted file.
    var isEncrypted: Bool { digest.hasBytePrefix(Self.seal) }
}
