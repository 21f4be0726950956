import Crypto
public import Foundation

/// The key of one node, from which those of all versions of its sealed content are derived.
///
/// It is made once for each node, and can be found in each of its files by whoever has the account key (``SealedFile/contentKey``).
/// Given to somebody else, it opens that node and no other.
public struct ContentKey: Sendable {
    let key: SymmetricKey

    /// A new key, from the system's random numbers.
    public init() { key = SymmetricKey(size: .bits256) }

    /// A key that was kept.
    ///
    /// - Parameter bytes: 32 of them.
    /// - Throws: ``CloudError`` with `sealInvalid` where there are fewer or more.
    public init(bytes: Data) throws { key = try SymmetricKey(exactly: bytes) }

    /// The 32 bytes, for giving them away.
    public var bytes: Data { key.withUnsafeBytes { Data($0) } }
}
