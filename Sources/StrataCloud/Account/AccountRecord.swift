import Foundation
import Strata

/// An account that is set up in the store. The record does not contain credentials: the remote has them.
@Model(table: "CloudAccount")
final class AccountRecord {
    /// The account's id, which the application chooses.
    @Attribute(.unique) var account: String
    /// The name of the account's remote, without credentials.
    var remote: String
    /// Whether names that differ only in case are different names.
    var isCaseSensitive: Bool
    /// Unused. The column stays, because a migration drops a column only if the application declares it.
    var keepsRecords: Bool = false
    /// Whether the content of files is encrypted.
    var isSealed: Bool = false
    /// Unused. Earlier versions could pull from a feed of changes. The column stays, because a migration drops a column
    /// only if the application declares it.
    var feedPosition: String?
    /// Whether a removal of the account has begun. The value stays true if the removal was interrupted.
    var isBeingRemoved: Bool = false
    /// The date of the setup.
    @Attribute(.createdAt) var createdAt: Date?
    /// The id numbers of the account's trunks.
    var home: Int64
    var prefs: Int64
    var inbox: Int64
    var outbox: Int64
    var detached: Int64
}

extension Query where Object == AccountRecord {
    /// The account with this id.
    static func account(_ account: String) -> Self { AccountRecord.where { $0.account == account } }
}

extension AccountRecord {
    /// Checks that no removal of the account has begun.
    ///
    /// - Throws: ``CloudError`` with `removalUnfinished`.
    func checkWhole() throws {
        guard isBeingRemoved else { return }
        throw CloudError(
            .removalUnfinished,
            "The removal of the account '\(account)' is not finished. Call `CloudAccount.remove` again before you set "
                + "up the account."
        )
    }
}
