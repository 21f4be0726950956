import Foundation

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
