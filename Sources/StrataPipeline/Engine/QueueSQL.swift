/// The engine's SQL statements. No other file of this target contains SQL.
enum QueueSQL {
    private static let operations = "\"QueuedOperation\""
    private static let dependencies = "\"OperationDependency\""
    private static let holds = "\"OperationHold\""
    private static let items = "\"OperationItem\""
    private static let schedules = "\"PeriodicOperation\""
    /// The conditions of statements for one operation and for several. For one operation, the first condition costs
    /// half as much.
    private static let one = "\"id\" = ?1"
    private static let range = "\"id\" BETWEEN ?1 AND ?2"

    /// Claimable operations, best first, with the columns that a claim needs.
    static let selectCandidates = selectCandidates(OperationRepository.Selection())

    /// The claimable operations of a selection.
    ///
    /// - Parameter hasTies: whether to read holds and queued prerequisites as well.
    static func selectCandidates(_ selection: OperationRepository.Selection, hasTies: Bool) -> String {
        switch (selection.keys != nil, selection.isSuspected, hasTies) {
        case (false, false, false): selectCandidates
        case (false, false, true): selectTiedCandidates
        default: selectCandidates(selection, with: hasTies ? ties : "")
        }
    }
    private static let selectTiedCandidates = selectCandidates(OperationRepository.Selection(), with: ties)
    private static let ties = """
        , (SELECT max("until") FROM \(holds) WHERE "operation" = o."id"), \
        EXISTS (SELECT 1 FROM \(dependencies) d JOIN \(operations) p ON p."id" = d."prerequisite" \
        WHERE d."dependant" = o."id" AND NOT (p."status" = 4 AND d."whenFailed" = 'run'))
        """
    private static func selectCandidates(_ selection: OperationRepository.Selection, with ties: String = "") -> String {
        // The plus signs make SQLite use the index of the few matching rows, and not the index of all pending rows.
        let isOfFew = selection.isSuspected || selection.keys != nil
        let conditions = [
            isOfFew ? "+\"status\" = 0" : "\"status\" = 0",
            selection.isSuspected ? "+\"pipeline\" = ?1" : "\"pipeline\" = ?1",
            selection.isSuspected ? "\"suspicion\" IS NOT NULL" : "\"suspicion\" IS NULL",
            selection.keys.map { _ in
                selection.isSuspected ? "+\"key\" >= ?3 AND +\"key\" < ?4" : "\"key\" >= ?3 AND \"key\" < ?4"
            },
        ]
        return """
            SELECT "id", "lane", "sortKey", "commit", "attempts", "epoch", "type", "payload", "payloadVersion", "enqueuedAt", \
            "key"\(ties) \
            FROM \(operations) o WHERE \(conditions.compactMap { $0 }.joined(separator: " AND ")) \
            ORDER BY \(selection.isSuspected ? "\"startedAt\" DESC, " : "")"rank", "commit", "id" LIMIT ?2
            """
    }

    // Suspected operations, which ran when their process ended.

    /// The pipelines with claimable suspected operations. The pipeline whose operation was started last comes first.
    static let selectSuspectedNames = """
        SELECT "pipeline" FROM \(operations) WHERE "suspicion" IS NOT NULL AND +"status" = 0 \
        GROUP BY "pipeline" ORDER BY max("startedAt") DESC, min("id")
        """
    /// The running operations in a worker's process, which may have several workers.
    static let selectActiveOfProcess = """
        SELECT "startedAt", "suspicion" FROM \(operations) WHERE "status" = 3 AND ("worker" = ?1 OR "worker" IN \
        (SELECT "id" FROM "PipelineWorker" WHERE "process" = ?2 AND "processStart" = ?3 AND "machine" = ?4))
        """

    /// The next name under which operations may be claimed.
    static let selectNextPending = """
        SELECT "pipeline" FROM \(operations) WHERE "status" = 0 AND "pipeline" > ? ORDER BY "pipeline" LIMIT 1
        """
    static let selectNextPendingUpTo = """
        SELECT "pipeline" FROM \(operations) WHERE "status" = 0 AND "pipeline" > ? AND "pipeline" <= ? ORDER BY "pipeline" LIMIT 1
        """

    /// Claims pending operations, by one id or by a range of ids. The plus, here and below, makes SQLite search by the
    /// ids, and not by the index of all pending operations.
    static let claim = claim(one)
    static let claimRange = claim(range)
    private static func claim(_ ids: String) -> String {
        """
        UPDATE \(operations) SET "status" = 3, "worker" = ?3, "epoch" = "epoch" + 1, "attempts" = "attempts" + 1, \
        "startedAt" = ?4, "progress" = NULL, "_version" = ?5 WHERE \(ids) AND +"status" = 0
        """
    }
    static let selectTaken = """
        SELECT "id" FROM \(operations) WHERE \(range) AND +"status" = 3 AND "worker" = ?3 AND "_version" = ?5
        """

    // Reasons for which an operation may have to wait.

    /// A failed prerequisite with which the operation must fail.
    static let selectFailedPrerequisite = """
        SELECT d."prerequisite" FROM \(dependencies) d JOIN \(operations) o ON o."id" = d."prerequisite" \
        WHERE d."dependant" = ? AND o."status" = 4 AND d."whenFailed" = 'fail' LIMIT 1
        """
    /// The first operation of a lane. Failed operations do not count if the pipeline sets them aside.
    static func selectFirst(_ ordering: PipelineOrdering, countingFailed: Bool) -> String {
        let order =
            ordering == .lifo
            ? "\"sortKey\" DESC, \"commit\" DESC, \"id\" DESC" : "\"sortKey\", \"commit\", \"id\""
        return """
            SELECT "id", "status", "commit", "sortKey" FROM \(operations) WHERE "pipeline" = ? AND "lane" = ?\
            \(countingFailed ? "" : " AND \"status\" <> 4") ORDER BY \(order) LIMIT 1
            """
    }
    /// The operations of a pipeline, lane by lane, each lane in its order.
    static func selectLanes(_ ordering: PipelineOrdering, countingFailed: Bool) -> String {
        let direction = ordering == .lifo ? "DESC" : "ASC"
        let order = ["lane", "sortKey", "commit", "id"].map { "\"\($0)\" \(direction)" }.joined(separator: ", ")
        return """
            SELECT "id", "lane", "sortKey", "commit" FROM \(operations) WHERE "pipeline" = ?\
            \(countingFailed ? "" : " AND +\"status\" <> 4") ORDER BY \(order)
            """
    }
    /// Few operations are active, and many may be in a lane. The plus makes SQLite use the index of active operations.
    static let selectActiveOfLane = """
        SELECT "id" FROM \(operations) WHERE "status" = 3 AND "pipeline" = ? AND +"lane" = ? LIMIT 1
        """

    static let setStatusIfPending = """
        UPDATE \(operations) SET "status" = ?, "awaitsPlace" = ?, "_version" = ? WHERE "id" = ? AND "status" = 0
        """
    /// Only a waiting operation waits for a place in its lane, so every other change of the status clears the flag.
    private static let awaitsNothing = "\"awaitsPlace\" = NULL"
    static let setStatus =
        "UPDATE \(operations) SET \"status\" = ?, \(awaitsNothing), \"_version\" = ? WHERE \"id\" = ?"
    /// The operations of a lane that wait for a place in it, best first.
    static let selectAwaiting = """
        SELECT "id" FROM \(operations) WHERE "pipeline" = ? AND "lane" = ? AND "awaitsPlace" IS NOT NULL \
        ORDER BY "rank", "commit", "id" LIMIT ?
        """
    static let selectActiveLanes =
        "SELECT \"id\", \"lane\" FROM \(operations) WHERE \"status\" = 3 AND \"pipeline\" = ?"

    // The end of an operation in the queue.

    /// Whether an operation has dependants, dependencies, holds and an item.
    static let selectTies = """
        SELECT \
        EXISTS (SELECT 1 FROM \(dependencies) WHERE "prerequisite" = ?1), \
        EXISTS (SELECT 1 FROM \(dependencies) WHERE "dependant" = ?1), \
        EXISTS (SELECT 1 FROM \(holds) WHERE "operation" = ?1), EXISTS (SELECT 1 FROM \(items) WHERE "id" = ?1)
        """
    static let selectWaitingDependants = """
        SELECT o."id" FROM \(dependencies) d JOIN \(operations) o ON o."id" = d."dependant" \
        WHERE d."prerequisite" = ? AND o."status" = 1
        """
    /// The dependants of a failed operation whose policy is not `wait`.
    static let selectDependantsOfFailed = """
        SELECT o."id", d."whenFailed" FROM \(dependencies) d JOIN \(operations) o ON o."id" = d."dependant" \
        WHERE d."prerequisite" = ? AND d."whenFailed" <> 'wait' AND o."status" < 3
        """
    static let selectDependencies = """
        SELECT "id" FROM \(dependencies) WHERE "dependant" = ?1 OR "prerequisite" = ?1
        """
    static let deleteDependencies = "DELETE FROM \(dependencies) WHERE \"dependant\" = ?1 OR \"prerequisite\" = ?1"
    static let selectHolds = "SELECT \"id\" FROM \(holds) WHERE \"operation\" = ?"
    static let deleteHolds = "DELETE FROM \(holds) WHERE \"operation\" = ?"
    static let selectWaitingOfCommit = """
        SELECT "id" FROM \(operations) WHERE "pipeline" = ? AND "lane" = ? AND "sortKey" = ? AND "commit" = ? AND "status" = 1
        """
    static let selectLane =
        "SELECT \"pipeline\", \"lane\", \"status\", \"request\", \"constraint\", \"attempts\" FROM \(operations) WHERE \"id\" = ?"
    static let archive = archive(one)
    /// As `archive`, for operations that are still as they were claimed, by the same worker, and without a request.
    /// Also for a range of ids.
    static let archiveClaimed = archive("\(one) AND \(isClaimed)")
    static let archiveClaimedRange = archive("\(range) AND \(isClaimed)")
    static let selectClaimed = "SELECT \"id\" FROM \(operations) WHERE \(range) AND \(isClaimed)"
    private static let isClaimed = """
        +"status" = 3 AND "worker" = ?6 AND "epoch" = ?7 AND +"pipeline" = ?8 AND +"lane" = ?9 AND "request" IS NULL
        """
    private static func archive(_ condition: String) -> String {
        """
        INSERT OR REPLACE INTO "FinishedOperation" ("id", "pipeline", "type", "payload", "payloadVersion", "lane", "key", "commit", \
        "enqueuedAt", "result", "finishedAt", "attempts", "failures", "_version") \
        SELECT "id", "pipeline", "type", "payload", "payloadVersion", "lane", "key", "commit", \
        "enqueuedAt", ?3, ?4, "attempts", "failures", ?5 FROM \(operations) WHERE \(condition)
        """
    }
    static let selectAnyTies = """
        SELECT EXISTS (SELECT 1 FROM \(dependencies)) OR EXISTS (SELECT 1 FROM \(holds)), EXISTS (SELECT 1 FROM \(items)), \
        EXISTS (SELECT 1 FROM \(operations) WHERE "awaitsPlace" IS NOT NULL), \
        EXISTS (SELECT 1 FROM \(operations) WHERE "suspicion" IS NOT NULL)
        """
    static let selectOfItems = "SELECT \"id\" FROM \(items) WHERE \"item\" BETWEEN ? AND ?"
    static let selectItemPayload = """
        SELECT o."payload" FROM \(items) i JOIN \(operations) o ON o."id" = i."id" WHERE i."id" = ? AND i."item" <> 0
        """
    static let deleteItem = "DELETE FROM \(items) WHERE \"id\" = ?"
    // Rows that belong to operations which do not exist, in a range of ids.
    static let selectStrayItems = selectStrays(items, of: "id")
    static let selectStrayHolds = selectStrays(holds, of: "operation")
    static let selectStrayDependencies = selectStrays(dependencies, of: "dependant")
    private static func selectStrays(_ table: String, of operation: String) -> String {
        """
        SELECT "id" FROM \(table) WHERE "id" BETWEEN ? AND ? AND "\(operation)" NOT IN (SELECT "id" FROM \(operations))
        """
    }
    static let deleteDependency = "DELETE FROM \(dependencies) WHERE \"id\" = ?"
    static let delete = "DELETE FROM \(operations) WHERE \(one)"
    static let deleteRange = "DELETE FROM \(operations) WHERE \(range)"

    // The end of an attempt.

    static let selectHolder = """
        SELECT "pipeline", "lane", "attempts", "request", "crashes" FROM \(operations) \
        WHERE "id" = ?1 AND "status" = 3 AND "worker" = ?2 AND "epoch" = ?3
        """
    static let selectFailures = "SELECT \"failures\" FROM \(operations) WHERE \"id\" = ?"
    static let setFailures = "UPDATE \(operations) SET \"failures\" = ?, \"_version\" = ? WHERE \"id\" = ?"
    /// Returns an operation to the queue, with fewer attempts if this attempt does not count.
    static let requeue = """
        UPDATE \(operations) SET "status" = ?, "worker" = NULL, "attempts" = "attempts" - ?, "constraint" = ?, \
        "request" = NULL, \(awaitsNothing), \(isFree), "_version" = ? WHERE "id" = ?
        """
    static let requeueColumns = ["status", "worker", "attempts", "constraint", "request", "awaitsPlace", "suspicion"]
    /// The end of an attempt, or a person's decision, ends the suspicion.
    private static let isFree = "\"suspicion\" = NULL"
    static let request = """
        UPDATE \(operations) SET "request" = ?, "_version" = ? WHERE "id" = ? AND "request" IS NULL
        """
    static let retry = """
        UPDATE \(operations) SET "status" = 0, "worker" = NULL, "attempts" = 0, "crashes" = 0, "constraint" = NULL, "request" = NULL, \
        \(awaitsNothing), \(isFree), "_version" = ? WHERE "id" = ?
        """
    static let retryColumns = requeueColumns + ["crashes"]
    static let setProgress = """
        UPDATE \(operations) SET "progress" = ?, "_version" = ? WHERE "id" = ? AND "status" = 3 AND "worker" = ? AND "epoch" = ?
        """
    static let upsertHold = """
        INSERT INTO \(holds) ("id", "operation", "name", "until", "since", "_version") VALUES (?, ?, ?, ?, ?, ?) \
        ON CONFLICT ("operation", "name") DO UPDATE SET "until" = excluded."until", "since" = excluded."since", \
        "_version" = excluded."_version"
        """
    static let selectHoldNamed = "SELECT \"id\" FROM \(holds) WHERE \"operation\" = ? AND \"name\" = ?"
    static let deleteHold = "DELETE FROM \(holds) WHERE \"id\" = ?"

    // Time.

    static let selectDueHolds = "SELECT \"id\", \"operation\" FROM \(holds) WHERE \"until\" <= ? LIMIT 1000"
    static let selectNextDue = """
        SELECT min("at") FROM (SELECT min("until") AS "at" FROM \(holds) UNION ALL SELECT min("nextAt") FROM \(schedules) WHERE "nextAt" > ?)
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
    static let plan = "UPDATE \(schedules) SET \"planned\" = ?, \"nextAt\" = ?, \"_version\" = ? WHERE \"id\" = ?"
    static let selectDueSchedules = """
        SELECT "id", "name", "pipeline", "lane", "priority", "type", "payload", "payloadVersion", "schedule", "overlap", "nextAt" \
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
    static let insertOperation = """
        INSERT INTO \(operations) ("id", "pipeline", "lane", "priority", "rank", "type", "payload", "payloadVersion", "schedule", \
        "enqueuedAt", "commit", "failures", "_version", "sortKey", "edits", "status", "attempts", "crashes", "epoch") \
        VALUES (?1, ?2, ?3, ?4, ~?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?10, 0, 0, 0, 0, 0, 0)
        """

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

    // Declarations.

    static let selectRecord = """
        SELECT "id", "ordering", "whenFailed", "crashLimit", "isTransient", "isJournalled", "laneLimit" FROM "PipelineRecord" WHERE "name" = ?
        """
    static let insertRecord = """
        INSERT INTO "PipelineRecord" ("id", "name", "ordering", "whenFailed", "crashLimit", "isTransient", "isJournalled", "laneLimit", \
        "_version") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
    static let updateRecord = """
        UPDATE "PipelineRecord" SET "ordering" = ?, "whenFailed" = ?, "crashLimit" = ?, "isTransient" = ?, "isJournalled" = ?, \
        "laneLimit" = ?, "_version" = ? WHERE "id" = ?
        """
    static let selectEmptyRecords = """
        SELECT r."id" FROM "PipelineRecord" r WHERE r."isTransient" = 1 \
        AND NOT EXISTS (SELECT 1 FROM \(operations) o WHERE o."pipeline" = r."name") AND (r."isJournalled" = 0 \
        OR NOT EXISTS (SELECT 1 FROM "OperationTransition" t WHERE t."pipeline" = r."name")) LIMIT 1000
        """
    static let deleteRecord = "DELETE FROM \"PipelineRecord\" WHERE \"id\" = ?"
    static let selectWaiting = "SELECT \"id\" FROM \(operations) WHERE \"status\" = 1 AND \"pipeline\" = ?"
    /// One index lookup for each name, however many operations are queued under it.
    static let selectNames = """
        WITH RECURSIVE names("name") AS (SELECT min("pipeline") FROM \(operations) UNION ALL \
        SELECT (SELECT min("pipeline") FROM \(operations) WHERE "pipeline" > "name") FROM names WHERE "name" IS NOT NULL) \
        SELECT "name" FROM names WHERE "name" IS NOT NULL UNION SELECT "pipeline" FROM \(schedules)
        """
    static let selectOfPipeline = "SELECT \"id\" FROM \(operations) WHERE \"pipeline\" = ?"
    static let move = """
        UPDATE \(operations) SET "pipeline" = ?, "status" = CASE "status" WHEN 1 THEN 0 ELSE "status" END, \(awaitsNothing), \
        "_version" = ? WHERE "id" = ?
        """

    static let selectAllHeld = "SELECT \"id\" FROM \(operations) WHERE \"status\" = 2 AND \"constraint\" IS NULL"
    static let selectAllWaiting = "SELECT \"id\" FROM \(operations) WHERE \"status\" = 1 AND \"pipeline\" = ?"
    static let selectNextLane = """
        SELECT "lane" FROM \(operations) WHERE "pipeline" = ? AND "lane" > ? ORDER BY "lane" LIMIT 1
        """
    /// The exceptional ids in a range: finished operations (1), queued operations whose state is not that of a new one
    /// (2), prerequisites of existing dependencies (3), and operations whose columns contradict each other (4).
    ///
    /// The plus makes SQLite search by the range of ids, which is short, and not by the index of all waiting
    /// operations. The groups come in the order of the index, whereas DISTINCT would create a temporary table at each
    /// commit.
    static let selectUnfit = """
        SELECT "id", 1 FROM "FinishedOperation" WHERE "id" BETWEEN ?1 AND ?2 UNION ALL \
        SELECT "id", CASE WHEN \(StatusRules.isTorn("+")) THEN 4 ELSE 2 END FROM \(operations) \
        WHERE "id" BETWEEN ?1 AND ?2 AND (+"status" BETWEEN 1 AND 3 OR \(StatusRules.isTorn("+"))) UNION ALL \
        SELECT "prerequisite", 3 FROM \(dependencies) WHERE "prerequisite" BETWEEN ?1 AND ?2 GROUP BY "prerequisite"
        """
    static let reset = """
        UPDATE \(operations) SET "status" = 0, "worker" = NULL, "constraint" = NULL, "request" = NULL, \(awaitsNothing), \
        \(isFree), "_version" = ? WHERE "id" = ?
        """

    // Transitions.

    static let selectAnyRecordingTransitions = "SELECT 1 FROM \"PipelineRecord\" WHERE \"isJournalled\" = 1 LIMIT 1"
    /// The status of an operation, or its result if it is finished.
    static let selectTransition = """
        SELECT "pipeline", "status", NULL, "attempts", "constraint", "failures" FROM \(operations) WHERE "id" = ?1 UNION ALL \
        SELECT "pipeline", NULL, "result", "attempts", NULL, "failures" FROM "FinishedOperation" WHERE "id" = ?1 LIMIT 1
        """
    static let insertTransition = """
        INSERT INTO "OperationTransition" ("id", "operation", "pipeline", "status", "attempts", "reason", "commit", "at", "_version") \
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?7)
        """
    static let selectOldTransitions =
        "SELECT \"id\" FROM \"OperationTransition\" WHERE \"at\" <= ? ORDER BY \"at\" LIMIT ?"
    static let deleteTransition = "DELETE FROM \"OperationTransition\" WHERE \"id\" = ?"

    // Cycles of dependencies.

    static let selectDependency =
        "SELECT 1 FROM \(dependencies) WHERE \"dependant\" = ? AND \"prerequisite\" = ? AND \"isImplied\" = 1 LIMIT 1"
    static let insertDependency = """
        INSERT INTO \(dependencies) ("id", "dependant", "prerequisite", "whenFailed", "isImplied", "_version") VALUES (?, ?, ?, ?, 1, ?)
        """
    static let selectDependants = "SELECT \"dependant\" FROM \(dependencies) WHERE \"prerequisite\" = ?"
    static let selectImpliedDependants =
        "SELECT \"dependant\" FROM \(dependencies) WHERE \"prerequisite\" = ? AND \"isImplied\" = 1"
    static let selectImpliedPrerequisites = """
        SELECT d."prerequisite", d."whenFailed" FROM \(dependencies) d JOIN \(operations) o ON o."id" = d."prerequisite" \
        WHERE d."dependant" = ? AND d."isImplied" = 1
        """
    static let selectDependant = "SELECT \"dependant\" FROM \(dependencies) WHERE \"id\" = ?"
    static let selectAnyDependant = "SELECT 1 FROM \(dependencies) WHERE \"prerequisite\" = ? LIMIT 1"
    static let selectPosition =
        "SELECT \"pipeline\", \"lane\", \"sortKey\", \"commit\" FROM \(operations) WHERE \"id\" = ?"
    private static let isDependant = "EXISTS (SELECT 1 FROM \(dependencies) WHERE \"dependant\" = \(operations).\"id\")"
    /// The nearest earlier operation of the same commit and lane that has dependencies.
    static func selectDependantBeside(_ ordering: PipelineOrdering) -> String {
        let (sign, direction) = ordering == .lifo ? (">", "ASC") : ("<", "DESC")
        return "\(selectBeside(sign)) AND \(isDependant) ORDER BY \"id\" \(direction) LIMIT 1"
    }
    static func selectBesideBehind(_ ordering: PipelineOrdering) -> String {
        "\(selectBeside(ordering == .lifo ? "<" : ">")) LIMIT 1"
    }
    /// The nearest operation with dependencies before those of a commit in a lane.
    static func selectDependantBefore(_ ordering: PipelineOrdering) -> String {
        let (sign, direction) = ordering == .lifo ? (">", "ASC") : ("<", "DESC")
        return """
            \(selectApart(sign)) AND \(isDependant) \
            ORDER BY "sortKey" \(direction), "commit" \(direction), "id" \(direction) LIMIT 1
            """
    }
    static func selectBehind(_ ordering: PipelineOrdering) -> String {
        "\(selectApart(ordering == .lifo ? "<" : ">")) LIMIT 1"
    }
    private static func selectBeside(_ sign: String) -> String {
        """
        SELECT "id" FROM \(operations) WHERE "pipeline" = ?1 AND "lane" = ?2 AND "sortKey" = ?3 AND "commit" = ?4 AND "id" \(sign) ?5
        """
    }
    private static func selectApart(_ sign: String) -> String {
        """
        SELECT "id", "sortKey", "commit" FROM \(operations) WHERE "pipeline" = ?1 AND "lane" = ?2 \
        AND ("sortKey", "commit") \(sign) (?3, ?4)
        """
    }
    static let selectDependantsOfGroup = """
        SELECT "id" FROM \(operations) WHERE "pipeline" = ? AND "lane" = ? AND "sortKey" = ? AND "commit" = ? \
        AND EXISTS (SELECT 1 FROM \(dependencies) WHERE "dependant" = \(operations)."id")
        """
    static let selectDependantsIn = """
        SELECT DISTINCT d."dependant" FROM \(dependencies) d JOIN \(operations) o ON o."id" = d."dependant" WHERE o."pipeline" = ?
        """
    static let selectNextDependant = "SELECT min(\"dependant\") FROM \(dependencies) WHERE \"dependant\" > ?"
    /// The prerequisites of an operation that have neither failed nor run now.
    static let selectQueuedPrerequisites = """
        SELECT d."prerequisite" FROM \(dependencies) d JOIN \(operations) o ON o."id" = d."prerequisite" \
        WHERE d."dependant" = ? AND o."status" IN (0, 1, 2) LIMIT ?
        """
    static let selectPrerequisites = """
        SELECT d."prerequisite" FROM \(dependencies) d JOIN \(operations) o ON o."id" = d."prerequisite" WHERE d."dependant" = ?
        """
}
