import Crypto
import Foundation

/// The keys of one encrypted file, derived from the content key of its node and the salt of the file.
struct EncryptedFileKeys: Sendable {
    /// The key for the section table, which names the node of the file.
    let table: SymmetricKey
    /// The key for the chunks.
    private let chunks: SymmetricKey
    /// The key for the nonces of the chunks.
    private let nonces: SymmetricKey
    /// The key for the digests from which the nonces are computed.
    private let digests: SymmetricKey

    init(_ content: ContentKey, salt: Data, node: String) {
        let node = Self.digest(of: node)
        table = Self.derive(content.key, salt, "strata.sealed.1.table")
        chunks = Self.derive(content.key, salt, "strata.sealed.1.chunks", node)
        nonces = Self.derive(content.key, salt, "strata.sealed.1.nonces", node)
        digests = Self.derive(content.key, salt, "strata.sealed.1.digests", node)
    }

    /// The key that wraps the content key in the file with this salt.
    ///
    /// Each file has a different wrapping key, so the number of files is not limited by the nonces of one key.
    static func wrapping(_ account: AccountKey, salt: Data) -> SymmetricKey {
        derive(account.key, salt, "strata.sealed.1.wrap")
    }

    static func digest(of node: String) -> Data { Data(SHA256.hash(data: Data(node.utf8))) }

    private static func derive(_ key: SymmetricKey, _ salt: Data, _ label: String, _ node: Data = Data())
        -> SymmetricKey
    {
        HKDF<SHA256>.deriveKey(inputKeyMaterial: key, salt: salt, info: Data(label.utf8) + node, outputByteCount: 32)
    }

    /// Random bytes from the system.
    static func random(_ count: Int) -> Data {
        SymmetricKey(size: SymmetricKeySize(bitCount: count * 8)).withUnsafeBytes { Data($0) }
    }

    // MARK: Chunks

    /// Encrypts a chunk into a sealed box. The same bytes at the same position always give the same box.
    func seal(_ plain: Data, at position: ChunkPosition) throws -> Data {
        let place = position.bytes
        return try Self.seal(plain, using: chunks, nonce: try nonce(of: plain, at: place), authenticating: place)
    }

    /// Decrypts the sealed box of a chunk.
    func open(_ box: Data, at position: ChunkPosition) throws -> Data {
        guard let plain = Self.open(box, using: chunks, authenticating: position.bytes) else {
            throw CloudError(
                .encryptedContentDamaged,
                "Chunk \(position.chunk) of the section '\(position.section)' does not match the encrypted content. "
                    + "Download the file again."
            )
        }
        return plain
    }

    /// The nonce of a chunk, which depends on its bytes.
    ///
    /// If a source changes between two attempts under one upload state, its chunks get other nonces. So no two
    /// different chunks are encrypted with the same nonce.
    ///
    /// The nonce is a pseudorandom function (HMAC) of a universal hash of the bytes. The hash is GHASH, computed as
    /// GMAC under a separate key with a constant nonce. The hash is many times faster than SHA-256. The hash never
    /// leaves this function, because a GMAC with a constant nonce must stay secret. Two chunks of 2^20 blocks have the
    /// same hash with a probability of at most 2^-108 (McGrew and Viega 2004).
    private func nonce(of plain: Data, at place: Data) throws -> Data {
        let digest = try AES.GCM.seal(
            Data(),
            using: digests,
            nonce: AES.GCM.Nonce(data: Data(count: 12)),
            authenticating: plain
        )
        return Data(HMAC<SHA256>.authenticationCode(for: place + digest.tag, using: nonces)).prefix(12)
    }

    // MARK: Boxes

    static func seal(
        _ plain: Data,
        using key: SymmetricKey,
        nonce: Data,
        authenticating data: Data
    ) throws -> Data {
        let box = try AES.GCM.seal(plain, using: key, nonce: AES.GCM.Nonce(data: nonce), authenticating: data)
        // The combined form always exists for a nonce of 12 bytes.
        return box.combined ?? nonce + box.ciphertext + box.tag
    }

    /// - Returns: nil if the box is not authentic.
    static func open(_ box: Data, using key: SymmetricKey, authenticating data: Data) -> Data? {
        guard let box = try? AES.GCM.SealedBox(combined: box) else { return nil }
        return try? AES.GCM.open(box, using: key, authenticating: data)
    }
}
