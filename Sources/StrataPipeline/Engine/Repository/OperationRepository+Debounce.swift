import Foundation
import Strata

/// Operations that are queued when no further call has replaced them for a while.
extension OperationRepository {
    /// The number of operations that one transaction queues, so that other commits get their turn.
    static let debouncePortion = 200

    /// Replaces the other rows of a key by a new one. The first call determines the latest due time. A call that is
    /// committed late does not shorten the wait after a later call.
    func mergeDebounced(into number: Int64) throws {
        var replaced: [Int64] = []
        var (first, last) = (Double.infinity, -Double.infinity)
        try transaction.rows(QueueSQL.selectSameDebounced, [.integer(number)]) { row in
            replaced.append(try row.read(Int64.self, at: 0))
            first = min(first, try row.read(Double.self, at: 1))
            last = max(last, try row.read(Double.self, at: 2))
        }
        guard !replaced.isEmpty else { return }
        try delete(replaced, of: DebouncedOperation.self, by: QueueSQL.deleteDebounced)
        try transaction.run(QueueSQL.mergeDebounced, [.real(first), .real(last), version, .integer(number)])
        try transaction.report(updated: number, ["firstAt", "lastAt", "dueAt"], of: DebouncedOperation.self)
    }

    /// Queues due operations. If an operation with the key runs, the row stays, and a pass after the operation's end
    /// queues the new one.
    ///
    /// - Returns: whether there may be more.
    /// - Complexity: O(due rows), up to one portion, and O(due rows whose key a running operation has).
    func queueDebounced() throws -> Bool {
        guard try areDebounced() else { return false }
        var all: [PlannedOperation] = []
        let values: [StoredValue] = [.real(now.timeIntervalSinceReferenceDate), .integer(Int64(Self.debouncePortion))]
        try transaction.rows(QueueSQL.selectDueDebounced, values) { all.append(try PlannedOperation($0)) }
        for due in all {
            // Two rows have the same key if the rows of a renamed pipeline have joined those of another one.
            if let queued = try transaction.integer(QueueSQL.selectOfKey, [.text(due.pipeline), .text(due.name)]) {
                try replace(queued, by: due)
            } else {
                _ = try queue(due, QueueSQL.insertKeyed)
            }
            try delete([due.id], of: DebouncedOperation.self, by: QueueSQL.deleteDebounced)
        }
        return all.count == Self.debouncePortion
    }

    /// Replaces the payload of an operation that does not run, and makes it pending as if it had never been tried.
    private func replace(_ number: Int64, by due: PlannedOperation) throws {
        try transaction.run(
            QueueSQL.replacePayload,
            [
                .text(due.type), .blob(due.payload), .integer(due.payloadVersion), .integer(due.priority), version,
                .integer(number),
            ]
        )
        try transaction.report(updated: number, QueueSQL.replacePayloadColumns, of: QueuedOperation.self)
        // The operation may have been about an object.
        if try haveItems(), try transaction.run(QueueSQL.clearItem, [version, .integer(number)]) > 0 {
            try transaction.report(updated: number, ["item"], of: OperationItem.self)
        }
        if try haveTies() { try endExpiry(of: number) }
        try retry(number)
        // The priority may be lower than before.
        if let state = try state(of: number) { try offerPlace(in: state.lane, of: state.pipeline) }
    }

    /// Removes the expiry of an operation, which was that of the replaced payload. Its other options stay.
    private func endExpiry(of number: Int64) throws {
        for settings in try transaction.numbers(QueueSQL.selectExpiring, [.integer(number)]) {
            try transaction.run(QueueSQL.endExpiry, [version, .integer(settings)])
            try transaction.report(updated: settings, ["expiresAt", "expiryDue"], of: OperationSettings.self)
        }
    }
}

/// Merges the rows of a key at each commit, whichever process and context it comes from.
extension DebouncedOperation: CommitHook {
    package static func afterWrite(_ commit: ModelChanges<Row>, in transaction: StoreTransaction) throws {
        let repository = OperationRepository(transaction)
        // The last call of the commit has the greatest id, and replaces the others.
        for number in commit.inserted.reversed() { try repository.mergeDebounced(into: number) }
    }
}
