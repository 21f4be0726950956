public import Foundation
public import Strata

/// An account that was set up in the store. Its credentials are not here: the remote has them.
@Model(table: "CloudAccount")
public final class AccountRecord {
    /// The id that the application has given it.
    @Attribute(.unique) public internal(set) var account: String
    /// What remote it is on, without credentials.
    public internal(set) var remote: String
    /// Whether names that differ in case only are two.
    public internal(set) var isCaseSensitive: Bool
    /// Whether records of files are sent.
    public internal(set) var keepsRecords: Bool
    /// Whether the content of files is sealed.
    public internal(set) var isSealed: Bool = false
    /// From where the next pull goes on, of a remote that has a feed of changes.
    var feedPosition: FeedPosition?
    /// Whether it is being removed, or was until that was broken off.
    var isBeingRemoved: Bool = false
    /// When it was set up.
    @Attribute(.createdAt) public internal(set) var createdAt: Date?
    /// The numbers of the ids of its trunks.
    var home: Int64
    var prefs: Int64
    var inbox: Int64
    var outbox: Int64
    var detached: Int64
}

extension Query where Object == AccountRecord {
    /// The account of an id.
    static func account(_ account: String) -> Self { AccountRecord.where { $0.account == account } }
}

extension AccountRecord {
    /// Checks that nobody has begun to remove it.
    ///
    /// - Throws: ``CloudError`` with `removalUnfinished`.
    func checkWhole() throws {
        guard isBeingRemoved else { return }
        throw CloudError(
            .removalUnfinished,
            "The removal of the account '\(account)' has not come to its end. Call `CloudAccount.remove` once more, then it can be set up anew."
        )
    }
}
