import Foundation

/// The keys of an account: the one that new files are sealed with, and earlier ones that open older files.
///
/// To change the key of an account, put a new one in front and keep the old one. What is sealed from then on names the new key. Files that
/// name the old one are opened as before; each may be rewrapped when that suits, see ``SealedFile/rewrapped(with:)``. The old key can
/// be dropped once no file names it.
public struct AccountKeys: Sendable {
    /// The key that new files are sealed with.
    public let current: AccountKey
    /// Keys that older files were sealed with.
    public let earlier: [AccountKey]

    /// The keys of an account.
    public init(_ current: AccountKey, earlier: [AccountKey] = []) {
        self.current = current
        self.earlier = earlier
    }

    func key(_ id: UUID) throws -> AccountKey {
        if current.id == id { return current }
        if let key = earlier.first(where: { $0.id == id }) { return key }
        throw CloudError(
            .accountKeyUnknown,
            "The file was sealed with the account key \(id), which is not among those given. Add it to the earlier ones."
        )
    }
}
