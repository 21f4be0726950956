import Crypto
import Foundation

/// The keys of one sealed file, derived from the content key of its node and the salt of the file.
struct SealedFileKeys: Sendable {
    /// For the section table, which says for which node the file is.
    let table: SymmetricKey
    /// For the chunks.
    private let chunks: SymmetricKey
    /// For the nonces of the chunks.
    private let nonces: SymmetricKey
    /// For the digests that go into the nonces.
    private let digests: SymmetricKey

    init(_ content: ContentKey, salt: Data, node: String) {
        let node = Self.digest(of: node)
        table = Self.derive(content.key, salt, "strata.sealed.1.table")
        chunks = Self.derive(content.key, salt, "strata.sealed.1.chunks", node)
        nonces = Self.derive(content.key, salt, "strata.sealed.1.nonces", node)
        digests = Self.derive(content.key, salt, "strata.sealed.1.digests", node)
    }

    /// The key that wraps a content key in the file of a salt. No two files have the same one, so that the number of files is not limited
    /// by the nonces of one key.
    static func wrapping(_ account: AccountKey, salt: Data) -> SymmetricKey {
        derive(account.key, salt, "strata.sealed.1.wrap")
    }

    static func digest(of node: String) -> Data { Data(SHA256.hash(data: Data(node.utf8))) }

    private static func derive(_ key: SymmetricKey, _ salt: Data, _ label: String, _ node: Data = Data())
        -> SymmetricKey
    {
        HKDF<SHA256>.deriveKey(inputKeyMaterial: key, salt: salt, info: Data(label.utf8) + node, outputByteCount: 32)
    }

    /// Bytes from the system's random numbers.
    static func random(_ count: Int) -> Data {
        SymmetricKey(size: SymmetricKeySize(bitCount: count * 8)).withUnsafeBytes { Data($0) }
    }

    // MARK: Chunks

    /// The box of a chunk: the same one whenever the same bytes are sealed in the same place.
    func seal(_ plain: Data, at position: SealedPosition) throws -> Data {
        let place = position.bytes
        return try Self.seal(plain, using: chunks, nonce: try nonce(of: plain, at: place), authenticating: place)
    }

    /// What is in the box of a chunk.
    func open(_ box: Data, at position: SealedPosition) throws -> Data {
        guard let plain = Self.open(box, using: chunks, authenticating: position.bytes) else {
            throw CloudError(
                .sealedDamaged,
                "Chunk \(position.chunk) of the section '\(position.section)' is not what was sealed. Fetch it again."
            )
        }
        return plain
    }

    /// A nonce that depends on the bytes: if a source changes between two attempts under one ticket, its chunks get other nonces, and
    /// nothing is ever encrypted twice with the same one.
    ///
    /// It is a pseudorandom function (HMAC) of a universal hash (GHASH, as GMAC under a key and nonce of its own) of the bytes. The hash is
    /// many times faster than SHA-256, and never leaves this function: a GMAC with a constant nonce must not be shown to anybody.
    /// Two chunks of 2^20 blocks have the same hash with a probability of 2^-108 at most (McGrew and Viega 2004).
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
        // There is a combined form whenever the nonce has 12 bytes.
        return box.combined ?? nonce + box.ciphertext + box.tag
    }

    /// - Returns: nil where the box is not genuine.
    static func open(_ box: Data, using key: SymmetricKey, authenticating data: Data) -> Data? {
        guard let box = try? AES.GCM.SealedBox(combined: box) else { return nil }
        return try? AES.GCM.open(box, using: key, authenticating: data)
    }
}
