import Crypto
public import Foundation

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
