/// Statements about time, limits, finished operations and workers.
extension QueueSQL {
    // Time.

    static let selectDueHolds = "SELECT \"id\", \"operation\" FROM \(holds) WHERE \"until\" <= ? LIMIT 1000"
    static let selectNextDue = """
        SELECT min("at") FROM (SELECT min("until") AS "at" FROM \(holds) UNION ALL SELECT min("nextAt") FROM \(schedules) WHERE "nextAt" > ?1 \
        UNION ALL SELECT min("expiryDue") FROM \(settings) WHERE "expiryDue" > -1e300 \
        UNION ALL SELECT min("dueAt") FROM \(debounced) WHERE "dueAt" > ?1)
        """
    /// Pauses that began later than a date, with their lengths.
    static let selectPausesBegunAfter = "SELECT \"id\", \"until\" - \"since\" FROM \(holds) WHERE \"since\" > ?"
    static let movePause = "UPDATE \(holds) SET \"until\" = ?, \"since\" = ?, \"_version\" = ? WHERE \"id\" = ?"
    static let selectHoldOwners = "SELECT \"operation\" FROM \(holds) WHERE \"id\" = ?"

    // Schedules.

    /// Schedules whose next due date was not computed from their present schedule. Paused schedules do not have a due
    /// date.
    static let selectUnplanned = """
        SELECT "id", "schedule", "isPaused" FROM \(schedules) \
        WHERE "planned" IS NOT CASE "isPaused" WHEN 0 THEN "schedule" ELSE '' END
        """
    /// Paused schedules that still have a due date.
    static let selectUnplannedPaused =
        "SELECT \"id\" FROM \(schedules) WHERE \"isPaused\" = 1 AND \"planned\" IS NOT ''"
    static let plan = "UPDATE \(schedules) SET \"planned\" = ?, \"nextAt\" = ?, \"_version\" = ? WHERE \"id\" = ?"
    static let selectDueSchedules = """
        SELECT "id", "name", "pipeline", "lane", "priority", "type", "payload", "payloadVersion", "schedule", "overlap", "nextAt", \
        "catchUp" \
        FROM \(schedules) WHERE "nextAt" <= ? AND "isPaused" = 0 AND "id" > ? ORDER BY "id" LIMIT 1000
        """
    static let advance = """
        UPDATE \(schedules) SET "lastAt" = ?, "nextAt" = ?, "_version" = ? WHERE "id" = ?
        """
    /// The planned schedules.
    static let selectPlanned =
        "SELECT \"id\", \"schedule\", \"nextAt\", \"lastAt\" FROM \(schedules) WHERE \"nextAt\" > ?"
    static let selectSchedulesOf = "SELECT \"id\" FROM \(schedules) WHERE \"pipeline\" = ?"
    static let moveSchedule = "UPDATE \(schedules) SET \"pipeline\" = ?, \"_version\" = ? WHERE \"id\" = ?"
    static let dropKey = "UPDATE \(operations) SET \"key\" = NULL, \"_version\" = ? WHERE \"id\" = ?"
    static let selectKeyTaken = """
        SELECT o."id" FROM \(operations) o WHERE o."pipeline" = ?1 AND o."key" IN \
        (SELECT p."key" FROM \(operations) p WHERE p."pipeline" = ?2 AND p."key" IS NOT NULL)
        """
    static let setFinishedKey = "UPDATE \"FinishedOperation\" SET \"key\" = ? WHERE \"id\" = ?"
    /// Whether an operation of a schedule is queued and has not failed. The plus signs make SQLite search by the
    /// schedule: schedules queue few operations, and a pipeline may have many.
    static let selectScheduled = """
        SELECT 1 FROM \(operations) WHERE "schedule" = ? AND +"pipeline" = ? AND +"status" <> 4 LIMIT 1
        """
    static let insertOperation = insertOperation(with: "schedule")
    /// Inserts an operation with a text in one of the columns that are otherwise empty.
    static func insertOperation(with column: String) -> String {
        """
        INSERT INTO \(operations) ("id", "pipeline", "lane", "priority", "rank", "type", "payload", "payloadVersion", "\(column)", \
        "enqueuedAt", "commit", "failures", "_version", "sortKey", "edits", "status", "attempts", "crashes", "epoch") \
        VALUES (?1, ?2, ?3, ?4, ~?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?10, 0, 0, 0, 0, 0, 0)
        """
    }

    // Rate limits.

    static let selectBudget = "SELECT \"id\", \"tokens\", \"countedAt\" FROM \"PipelineBudget\" WHERE \"name\" = ?"
    static let insertBudget = """
        INSERT INTO "PipelineBudget" ("id", "name", "tokens", "countedAt", "_version") VALUES (?, ?, ?, ?, ?)
        """
    static let updateBudget = """
        UPDATE "PipelineBudget" SET "tokens" = ?, "countedAt" = ?, "_version" = ? WHERE "id" = ?
        """

    // Constraints.

    static let selectConstrained = """
        SELECT "id", "pipeline" FROM \(operations) WHERE +"status" = 2 AND "constraint" = ?
        """

    static let wake =
        "UPDATE \(operations) SET \"status\" = 0, \"constraint\" = NULL, \"_version\" = ? WHERE \"id\" = ?"

    // Finished operations.

    /// The newest finished operation beyond the greatest number.
    static let selectFirstExcess = """
        SELECT "finishedAt", "id" FROM "FinishedOperation" ORDER BY "finishedAt" DESC, "id" DESC LIMIT 1 OFFSET ?
        """
    static let selectOldFinished = """
        SELECT "id" FROM "FinishedOperation" WHERE ("finishedAt", "id") <= (?, ?) ORDER BY "finishedAt", "id" LIMIT ?
        """
    static let selectRetention = "SELECT \"id\" FROM \"PipelineRetention\" WHERE \"name\" = ?"
    static let selectLongestRetention = "SELECT max(\"maximumAge\"), max(\"maximumCount\") FROM \"PipelineRetention\""
    static let insertRetention = """
        INSERT INTO "PipelineRetention" ("id", "name", "maximumAge", "maximumCount", "_version") VALUES (?, ?, ?, ?, ?)
        """
    static let updateRetention = """
        UPDATE "PipelineRetention" SET "maximumAge" = ?1, "maximumCount" = ?2, "_version" = ?3 \
        WHERE "id" = ?4 AND ("maximumAge", "maximumCount") <> (?1, ?2)
        """
    static let deleteRetention = "DELETE FROM \"PipelineRetention\" WHERE \"id\" = ?"
    /// Operations that ended later than a date. The statement makes SQLite use the index by the time, and reads one
    /// portion at most.
    static let selectFinishedAfter = "SELECT \"id\" FROM \"FinishedOperation\" WHERE \"finishedAt\" > ? LIMIT ?"
    static let moveFinished = "UPDATE \"FinishedOperation\" SET \"finishedAt\" = ?, \"_version\" = ? WHERE \"id\" = ?"
    static let selectTransitionsAfter = "SELECT \"id\" FROM \"OperationTransition\" WHERE \"at\" > ? LIMIT ?"
    static let moveTransition = "UPDATE \"OperationTransition\" SET \"at\" = ?, \"_version\" = ? WHERE \"id\" = ?"
    /// For operations that the same transaction has finished, so that the version stays.
    static let setResultValue = "UPDATE \"FinishedOperation\" SET \"resultValue\" = ? WHERE \"id\" = ?"
    static let selectResult = "SELECT \"pipeline\", \"result\" FROM \"FinishedOperation\" WHERE \"id\" = ?"
    static let deleteFinished = "DELETE FROM \"FinishedOperation\" WHERE \"id\" = ?"

    // Workers.

    static let selectBusyWorkers =
        "SELECT DISTINCT \"worker\" FROM \(operations) WHERE \"status\" = 3 AND \"worker\" IS NOT NULL"

    static let insertWorker = """
        INSERT INTO "PipelineWorker" ("id", "process", "processStart", "machine", "beat", "startedAt", "_version") \
        VALUES (?, ?, ?, ?, 0, ?, ?)
        """
    static let selectWorkers =
        "SELECT \"id\", \"process\", \"processStart\", \"machine\", \"beat\" FROM \"PipelineWorker\""
    static let selectWorker = "SELECT 1 FROM \"PipelineWorker\" WHERE \"id\" = ?"
    static let deleteWorker = "DELETE FROM \"PipelineWorker\" WHERE \"id\" = ?"
    static let heartbeat = "UPDATE \"PipelineWorker\" SET \"beat\" = \"beat\" + 1, \"_version\" = ? WHERE \"id\" = ?"
    static let selectActiveOfWorker =
        "SELECT \"id\", \"crashes\" FROM \(operations) WHERE \"status\" = 3 AND \"worker\" = ?"
    static let reclaim = """
        UPDATE \(operations) SET "status" = 0, "worker" = NULL, "crashes" = "crashes" + ?1, \
        "suspicion" = max(coalesce("suspicion", 0) + 1 - ?1, 1), "attempts" = "attempts" - 1, "_version" = ?2 WHERE "id" = ?3
        """
    static let reclaimColumns = ["status", "worker", "crashes", "suspicion", "attempts"]
}
