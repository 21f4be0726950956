import Strata

/// From which status an operation may go to which. All that changes one is checked against this table, by the database, and what a commit inserts by
/// the engine, in its transaction.
enum StatusRules {
    static let successors: [OperationStatus: Set<OperationStatus>] = [
        .pending: [.waiting, .held, .active, .failed],
        .waiting: [.pending, .failed],
        .held: [.pending, .failed],
        .active: [.pending, .held, .failed],
        .failed: [.pending],
    ]

    /// The trigger that checks it, whichever statement updates. Only an operation that is active has a worker, only one that waits may
    /// do so for a place in its lane, and epochs only grow. What is inserted is looked at behind its commit: a trigger on inserts would
    /// have SQLite keep a journal of each one.
    static let guards = [
        """
        CREATE TEMP TRIGGER IF NOT EXISTS "strata_guard_operation_update" \
        AFTER UPDATE OF "status", "worker", "epoch" ON main."QueuedOperation" \
        WHEN \(isTorn("NEW.")) OR (\(mask) >> (OLD."status" * 5 + NEW."status")) & 1 = 0 OR NEW."epoch" < OLD."epoch" \
        BEGIN SELECT RAISE(ABORT, 'an operation would go where no operation may go'); END
        """
    ]

    /// The condition that what a row says contradicts itself.
    ///
    /// - Parameter prefix: what stands before the names of its columns; a plus keeps SQLite from looking for it by an index.
    static func isTorn(_ prefix: String) -> String {
        """
        (\(prefix)"status" NOT BETWEEN 0 AND 4 OR (\(prefix)"status" = 3) <> (\(prefix)"worker" IS NOT NULL) \
        OR \(prefix)"awaitsPlace" IS NOT NULL AND \(prefix)"status" <> 1)
        """
    }

    /// A bit for each step that is allowed; to stay is allowed.
    private static var mask: Int {
        OperationStatus.allCases.reduce(0) { mask, status in
            let next = (successors[status] ?? []).union([status])
            return next.reduce(mask) { $0 | 1 << (status.rawValue * 5 + $1.rawValue) }
        }
    }
}
