import Strata

/// The table of allowed status changes. The database checks every update against it. The engine checks inserted
/// operations in the transaction that inserts them.
enum StatusRules {
    static let successors: [OperationStatus: Set<OperationStatus>] = [
        .pending: [.waiting, .held, .active, .failed],
        .waiting: [.pending, .failed],
        .held: [.pending, .failed],
        .active: [.pending, .held, .failed],
        .failed: [.pending],
    ]

    /// The trigger that checks every update, whichever statement makes it. Only an active operation has a worker, only
    /// a waiting operation waits for a place in its lane, and epochs only grow. The commit checks inserted operations
    /// itself, because a trigger on inserts would make SQLite keep a journal of each insert.
    static let guards = [
        """
        CREATE TEMP TRIGGER IF NOT EXISTS "strata_guard_operation_update" \
        AFTER UPDATE OF "status", "worker", "epoch" ON main."QueuedOperation" \
        WHEN \(isTorn("NEW.")) OR (\(mask) >> (OLD."status" * 5 + NEW."status")) & 1 = 0 OR NEW."epoch" < OLD."epoch" \
        BEGIN SELECT RAISE(ABORT, 'an operation would get a status that its current status does not allow'); END
        """
    ]

    /// The condition that a row's columns contradict each other.
    ///
    /// - Parameter prefix: the prefix of the column names. A plus keeps SQLite from using an index.
    static func isTorn(_ prefix: String) -> String {
        """
        (\(prefix)"status" NOT BETWEEN 0 AND 4 OR (\(prefix)"status" = 3) <> (\(prefix)"worker" IS NOT NULL) \
        OR \(prefix)"awaitsPlace" IS NOT NULL AND \(prefix)"status" <> 1)
        """
    }

    /// A bit for each allowed change. An unchanged status is allowed.
    private static var mask: Int {
        OperationStatus.allCases.reduce(0) { mask, status in
            let next = (successors[status] ?? []).union([status])
            return next.reduce(mask) { $0 | 1 << (status.rawValue * 5 + $1.rawValue) }
        }
    }
}
