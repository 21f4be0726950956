import Strata

/// Statements for the copies and checks of a store.
extension QueueSQL {
    // Copies.

    /// The number in place of the worker of an operation that ran when the store was copied. No worker has it.
    static let copiedWorker: Int64 = 0

    /// Frees a copy from the workers of the original. Requests for running operations stay, so the first runner that
    /// opens the copy makes the operations ready.
    static let copyStatements = [
        "UPDATE \(operations) SET \"worker\" = \(copiedWorker) WHERE \"status\" = 3",
        "DELETE FROM \"PipelineWorker\"",
    ]
    /// The attempt that ran during the copy does not count, and neither does its end.
    static let returnCopied = """
        UPDATE \(operations) SET "status" = 0, "worker" = NULL, "attempts" = "attempts" - 1, "_version" = ? WHERE "id" = ?
        """
    static let returnCopiedColumns = ["status", "worker", "attempts"]

    // Checks.

    static let operationRules = [
        ConsistencyRule(
            "The status, the worker and the lane of the operation contradict each other.",
            sql: "SELECT \"id\" FROM \(operations) WHERE \(StatusRules.isTorn(""))"
        ),
        ConsistencyRule(
            "The operation is queued, and has also been finished.",
            sql: "SELECT \"id\" FROM \(operations) WHERE \"id\" IN (SELECT \"id\" FROM \"FinishedOperation\")"
        ),
        ConsistencyRule(
            "The operation was queued by a commit that the store does not have.",
            sql: """
                SELECT "id" FROM \(operations) WHERE "commit" > (SELECT max("sequence") FROM "strata_history")
                """
        ),
        ConsistencyRule(
            "The operation waits for earlier operations, but its lane and its prerequisites have none.",
            sql: """
                SELECT "id" FROM \(operations) AS o WHERE "status" = 1 AND NOT EXISTS (SELECT 1 FROM \(dependencies) AS d \
                JOIN \(operations) AS p ON p."id" = d."prerequisite" WHERE d."dependant" = o."id") \
                AND NOT EXISTS (SELECT 1 FROM \(operations) AS other WHERE other."pipeline" = o."pipeline" \
                AND other."lane" = o."lane" AND other."id" <> o."id") \
                AND NOT EXISTS (SELECT 1 FROM \(laneBudgets) AS b WHERE b."pipeline" = o."pipeline" \
                AND b."lane" = o."lane" AND b.\(isAwaited))
                """
        ),
    ]
    static let dependencyRules = [strays(dependencies, "dependant", "The dependency")]
    static let holdRules = [strays(holds, "operation", "The hold")]
    static let itemRules = [strays(items, "id", "The item")]
    static let traceRules = [strays(traces, "id", "The trace")]
    static let settingsRules = [strays(settings, "operation", "The set of options")]

    private static func strays(_ table: String, _ column: String, _ subject: String) -> ConsistencyRule {
        ConsistencyRule(
            "\(subject) belongs to an operation that is not queued.",
            sql: "SELECT \"id\" FROM \(table) WHERE \"\(column)\" NOT IN (SELECT \"id\" FROM \(operations))"
        )
    }
}
