import Crypto
public import Foundation

/// The key of an account, which wraps the keys of its nodes. The key never leaves the machine.
///
/// The key is as secret as all content that was ever encrypted with it. Store it where the system stores credentials.
public struct AccountKey: Sendable {
    /// The id of the key. Encrypted files contain the id to name their key, so it is not secret.
    public let id: UUID
    let key: SymmetricKey

    /// Creates a new key from the system's random numbers.
    public init() {
        id = UUID()
        key = SymmetricKey(size: .bits256)
    }

    /// Creates a key from its stored bytes.
    ///
    /// - Parameters:
    ///   - id: the id of the key.
    ///   - bytes: exactly 32 bytes.
    /// - Throws: ``CloudError`` with `encryptionInputInvalid` if there are fewer or more bytes.
    public init(id: UUID, bytes: Data) throws {
        self.id = id
        key = try SymmetricKey(exactly: bytes)
    }

    /// The 32 bytes of the key, for storing them.
    public var bytes: Data { key.withUnsafeBytes { Data($0) } }
}

/// The keys of an account: the current key for new files, and earlier keys that decrypt older files.
///
/// To change the key of an account, pass a new key as `current` and the old key in `earlier`. Files encrypted after
/// that name the new key. Files that name the old key can still be decrypted. Each of them may be rewrapped at any
/// time, see ``EncryptedFile/rewrapped(with:)``. The old key can be removed after no file names it any more.
public struct AccountKeys: Sendable {
    /// The key that encrypts new files.
    public let current: AccountKey
    /// The keys that encrypted older files.
    public let earlier: [AccountKey]

    /// Creates the keys of an account.
    public init(_ current: AccountKey, earlier: [AccountKey] = []) {
        self.current = current
        self.earlier = earlier
    }

    func key(_ id: UUID) throws -> AccountKey {
        if current.id == id { return current }
        if let key = earlier.first(where: { $0.id == id }) { return key }
        throw CloudError(
            .accountKeyUnknown,
            "The file was encrypted with the account key \(id), which was not given. Add it to the earlier keys."
        )
    }
}

/// The key of one node. The keys of all encrypted versions of the node's content are derived from it.
///
/// The key is created once for each node. A holder of the account key can read it from each of the node's files
/// (``EncryptedFile/contentKey``). A recipient of this key can decrypt this node, but no other node.
public struct ContentKey: Sendable {
    let key: SymmetricKey

    /// Creates a new key from the system's random numbers.
    public init() { key = SymmetricKey(size: .bits256) }

    /// Creates a key from its stored bytes.
    ///
    /// - Parameter bytes: exactly 32 bytes.
    /// - Throws: ``CloudError`` with `encryptionInputInvalid` if there are fewer or more bytes.
    public init(bytes: Data) throws { key = try SymmetricKey(exactly: bytes) }

    /// The 32 bytes of the key, for giving them to a recipient.
    public var bytes: Data { key.withUnsafeBytes { Data($0) } }
}

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
    ///
    /// - Parameter position: the position by ``EncryptedFileLayout/position(of:chunk:)``.
    func seal(_ plain: Data, at position: Data) throws -> Data {
        try Self.seal(plain, using: chunks, nonce: nonce(of: plain, at: position), authenticating: position)
    }

    /// Decrypts the sealed box of a chunk.
    ///
    /// - Returns: nil if the box is not authentic, or belongs to another position.
    func open(_ box: Data, at position: Data) -> Data? {
        Self.open(box, using: chunks, authenticating: position)
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

extension SymmetricKey {
    /// Creates a key of 256 bits.
    init(exactly bytes: Data) throws {
        guard bytes.count == 32 else {
            throw CloudError(.encryptionInputInvalid, "A key has 32 bytes, not \(bytes.count).")
        }
        self.init(data: bytes)
    }
}
