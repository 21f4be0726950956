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

extension SymmetricKey {
    /// Creates a key of 256 bits.
    init(exactly bytes: Data) throws {
        guard bytes.count == 32 else {
            throw CloudError(.encryptionInputInvalid, "A key has 32 bytes, not \(bytes.count).")
        }
        self.init(data: bytes)
    }
}
