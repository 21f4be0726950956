import Crypto
public import Foundation

/// The key of an account, by which the keys of its nodes are wrapped. It never leaves the machine.
///
/// It is as secret as everything that was ever sealed with it; keep it where the system keeps credentials.
public struct AccountKey: Sendable {
    /// By which sealed files name the key. It is not secret, and stands in each of them.
    public let id: UUID
    let key: SymmetricKey

    /// A new key, from the system's random numbers.
    public init() {
        id = UUID()
        key = SymmetricKey(size: .bits256)
    }

    /// A key that was kept.
    ///
    /// - Parameter bytes: 32 of them.
    /// - Throws: ``CloudError`` with `sealInvalid` where there are fewer or more.
    public init(id: UUID, bytes: Data) throws {
        self.id = id
        key = try SymmetricKey(exactly: bytes)
    }

    /// The 32 bytes, for keeping them.
    public var bytes: Data { key.withUnsafeBytes { Data($0) } }
}

extension SymmetricKey {
    /// A key of 256 bits.
    init(exactly bytes: Data) throws {
        guard bytes.count == 32 else {
            throw CloudError(.sealInvalid, "A key has 32 bytes, not \(bytes.count).")
        }
        self.init(data: bytes)
    }
}
