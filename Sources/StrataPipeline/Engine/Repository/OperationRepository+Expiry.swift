import Foundation
import Strata

/// The end of operations that have not started in time.
extension OperationRepository {
    /// The number of operations whose expiry one transaction handles, so that other commits get their turn.
    static let expiryPortion = 200

    /// Ends the operations whose expiry has come, unless they were started or have failed. If there are more than one
    /// portion, the next due date has come too, and the next pass continues.
    func expireDue() throws {
        guard try haveTies() else { return }
        var due: [(settings: Int64, operation: Int64, mayExpire: Bool)] = []
        let values: [StoredValue] = [.real(now.timeIntervalSinceReferenceDate), .integer(Int64(Self.expiryPortion))]
        try transaction.rows(QueueSQL.selectDueExpiries, values) { row in
            due.append(
                (try row.read(Int64.self, at: 0), try row.read(Int64.self, at: 1), try row.read(Bool.self, at: 2))
            )
        }
        for (settings, operation, mayExpire) in due {
            // The end of an earlier one may have failed its dependants.
            if try mayExpire && expire(operation) { continue }
            try transaction.run(QueueSQL.setExpiryHandled, [version, .integer(settings)])
            try transaction.report(updated: settings, ["expiryDue"], of: OperationSettings.self)
        }
    }

    /// Ends an operation that was never started as expired, and fails or releases its dependants by their policies.
    ///
    /// - Returns: whether the operation was still queued.
    @discardableResult
    func expire(_ number: Int64) throws -> Bool {
        guard let state = try state(of: number), state.status != .active, state.status != .failed else { return false }
        // This is read before the end, which releases all dependants.
        let failing = try transaction.numbers(QueueSQL.selectFailingDependants, [.integer(number)])
        try finish(number, .expired, in: state.pipeline, state.lane)
        sideResults.reports.append((number, state.pipeline, .finished(.expired)))
        let reason = "Operation \(number) has expired, and this operation depends on it."
        sideResults.toFail += failing.map { ($0, reason) }
        try failDependants()
        return true
    }
}

/// Deletes options whose operation does not exist, because their own context has deleted the operation before the
/// commit.
extension OperationSettings: CommitHook {
    package static var consistencyRules: [ConsistencyRule] { QueueSQL.settingsRules }

    package static func afterWrite(_ commit: ModelChanges<Row>, in transaction: StoreTransaction) throws {
        let repository = OperationRepository(transaction)
        let strays = try repository.strays(among: commit.inserted, QueueSQL.selectStraySettings)
        try repository.delete(strays, of: OperationSettings.self, by: QueueSQL.deleteSettings)
    }
}
