import Strata

/// From which status an operation may go to which. All that changes one is checked against this table, by the database.
enum StatusRules {
    static let successors: [OperationStatus: Set<OperationStatus>] = [
        .pending: [.waiting, .held, .active, .failed],
        .waiting: [.pending, .failed],
        .held: [.pending, .failed],
        .active: [.pending, .held, .failed],
        .failed: [.pending],
    ]

    /// The triggers that check it. Only an operation that is active has a worker, only one that waits may do so
    /// for a place in its lane, and epochs only grow.
    static let guards = [
        trigger("insert", "INSERT", "NEW.\"status\" NOT BETWEEN 0 AND 4 OR \(isTorn)"),
        trigger(
            "update",
            "UPDATE OF \"status\", \"worker\", \"epoch\"",
            """
            NEW."status" NOT BETWEEN 0 AND 4 OR (\(mask) >> (OLD."status" * 5 + NEW."status")) & 1 = 0 OR \(isTorn) \
            OR NEW."epoch" < OLD."epoch"
            """
        ),
    ]

    private static let isTorn = """
        (NEW."status" = 3) <> (NEW."worker" IS NOT NULL) OR NEW."awaitsPlace" IS NOT NULL AND NEW."status" <> 1
        """

    /// A bit for each step that is allowed; to stay is allowed.
    private static var mask: Int {
        OperationStatus.allCases.reduce(0) { mask, status in
            let next = (successors[status] ?? []).union([status])
            return next.reduce(mask) { $0 | 1 << (status.rawValue * 5 + $1.rawValue) }
        }
    }

    private static func trigger(_ name: String, _ event: String, _ fault: String) -> String {
        """
        CREATE TEMP TRIGGER IF NOT EXISTS "strata_guard_operation_\(name)" AFTER \(event) ON main."QueuedOperation" WHEN \(fault) \
        BEGIN SELECT RAISE(ABORT, 'an operation would go where no operation may go'); END
        """
    }
}
