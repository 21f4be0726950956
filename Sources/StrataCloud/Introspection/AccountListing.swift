import Foundation
import Strata
import StrataPipeline

/// An account with the work that is left for it, as a list shows it.
package struct AccountListing: Sendable {
    /// The number of the record's id, in whose order accounts are listed.
    package let id: Int64
    package let account: String
    /// The name of the remote, without credentials.
    package let remote: String
    package let isEncrypted: Bool
    /// Whether a removal of the account has begun.
    package let isBeingRemoved: Bool
    package let createdAt: Date?
    /// The number of queued operations by status.
    package let operations: [OperationStatus: Int]
    /// The number of unresolved conflicts, up to ``countedConflicts``.
    package let conflictCount: Int

    /// The number up to which conflicts are counted.
    package static let countedConflicts = 1000
}

extension ObjectContext {
    /// Lists some of the store's accounts, in the order of their ids.
    ///
    /// - Parameters:
    ///   - id: the number of the id after which the list begins; 0 for the first ones.
    ///   - limit: the greatest number of accounts.
    /// - Throws: errors of the store.
    /// - Complexity: for each account, O(its queued operations) in an index.
    package func accountListings(after id: Int64 = 0, limit: Int) throws -> [AccountListing] {
        try fetch(AccountRecord.self, sql: AccountSQL.accounts(after: id, limit: limit)).map { record in
            let pipeline = AccountInfo(record).pipeline
            var operations: [OperationStatus: Int] = [:]
            for status in OperationStatus.allCases {
                let count = try values(Int.self, AccountSQL.operationCount(of: pipeline, status)).first ?? 0
                if count > 0 { operations[status] = count }
            }
            return AccountListing(
                id: record.id.rawValue,
                account: record.account,
                remote: record.remote,
                isEncrypted: record.isSealed,
                isBeingRemoved: record.isBeingRemoved,
                createdAt: record.createdAt,
                operations: operations,
                conflictCount: try values(Int.self, AccountSQL.conflictCount(of: record.account)).first ?? 0
            )
        }
    }

    /// The ids of some accounts, in the order of their records. Accounts whose removal has begun are left out.
    package func accountIDs(limit: Int) throws -> [String] {
        try fetch(AccountRecord.self, sql: AccountSQL.accounts(after: 0, limit: limit))
            .filter { !$0.isBeingRemoved }.map(\.account)
    }
}

/// The statements of lists of accounts.
package enum AccountSQL {
    package static func accounts(after id: Int64, limit: Int) -> SQL {
        "SELECT \"id\" FROM \"CloudAccount\" WHERE \"id\" > \(id) ORDER BY \"id\" LIMIT \(limit)"
    }

    package static func operationCount(of pipeline: PipelineName, _ status: OperationStatus) -> SQL {
        "SELECT count(*) FROM \"QueuedOperation\" WHERE \"status\" = \(status) AND \"pipeline\" = \(pipeline)"
    }

    package static func conflictCount(of account: String) -> SQL {
        """
        SELECT count(*) FROM (SELECT 1 FROM "CloudConflict" WHERE "account" = \(account) \
        LIMIT \(AccountListing.countedConflicts))
        """
    }

    package static func conflicts(of account: String, after id: Int64, limit: Int) -> SQL {
        """
        SELECT "id" FROM "CloudConflict" WHERE "account" = \(account) AND "id" > \(id) ORDER BY "id" LIMIT \(limit)
        """
    }
}
