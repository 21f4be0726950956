import Foundation
import Strata

/// Keys that stay taken for a time, also after their operation has ended.
extension OperationRepository {
    /// The number of rows that one transaction deletes, so that other commits get their turn.
    static let uniquenessPortion = 200

    /// Frees the keys of operations whose work is not done and will not be done.
    func endUniqueness(of numbers: [Int64]) throws {
        guard !numbers.isEmpty else { return }
        let ended = try transaction.numbers(QueueSQL.selectListedUniqueness, [.ids(numbers)])
        try delete(ended, of: OperationUniqueness.self, byList: QueueSQL.deleteListedUniqueness)
    }

    /// Deletes rows whose time is over.
    ///
    /// - Returns: whether there may be more.
    func pruneUniqueness() throws -> Bool {
        let ended = try transaction.numbers(
            QueueSQL.selectEndedUniqueness,
            [.real(now.timeIntervalSinceReferenceDate), .integer(Int64(Self.uniquenessPortion))]
        )
        try delete(ended, of: OperationUniqueness.self, by: QueueSQL.deleteUniqueness)
        return ended.count == Self.uniquenessPortion
    }

    /// Checks that no other operation had the key when this one was queued, and deletes rows whose time was over.
    ///
    /// - Throws: `StrataError` with `notUnique`.
    func checkUniqueness(of number: Int64) throws {
        var ended: [Int64] = []
        var holder: (number: Int64, pipeline: String, key: String, until: Date)?
        try transaction.rows(QueueSQL.selectSameUniqueness, [.integer(number)]) { row in
            let other = try row.read(Int64.self, at: 0)
            guard try row.read(Bool.self, at: 1) else { return ended.append(other) }
            holder = (
                other, try row.read(String.self, at: 2), try row.read(String.self, at: 3),
                try row.read(Date.self, at: 4)
            )
        }
        if let holder {
            let detail = StrataError.Detail(
                model: "QueuedOperation",
                id: number,
                column: "key",
                message: "has the same pipeline ('\(holder.pipeline)') and key ('\(holder.key)') as QueuedOperation "
                    + "\(holder.number), which is unique until \(holder.until.inWords)"
            )
            throw StrataError(
                .notUnique,
                "Nothing was saved: an operation was queued under a key that is still taken. Roll back, and queue it "
                    + "again to get the other operation's id.",
                details: [detail]
            )
        }
        try delete(ended, of: OperationUniqueness.self, by: QueueSQL.deleteUniqueness)
    }
}

/// Checks the keys at each commit, whichever process and context it comes from.
extension OperationUniqueness: CommitHook {
    package static func afterWrite(_ commit: ModelChanges<Row>, in transaction: StoreTransaction) throws {
        guard !commit.inserted.isEmpty else { return }
        let repository = OperationRepository(transaction)
        let strays = try repository.strays(among: commit.inserted, QueueSQL.selectStrayUniqueness)
        try repository.delete(strays, of: OperationUniqueness.self, by: QueueSQL.deleteUniqueness)
        for number in commit.inserted { try repository.checkUniqueness(of: number) }
    }
}
