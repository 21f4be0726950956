/// Statements that end operations and attempts.
extension QueueSQL {
    // The end of an operation in the queue.

    /// Whether an operation has dependants, dependencies, holds, an item and options.
    static let selectTies = """
        SELECT \
        EXISTS (SELECT 1 FROM \(dependencies) WHERE "prerequisite" = ?1), \
        EXISTS (SELECT 1 FROM \(dependencies) WHERE "dependant" = ?1), \
        EXISTS (SELECT 1 FROM \(holds) WHERE "operation" = ?1), EXISTS (SELECT 1 FROM \(items) WHERE "id" = ?1), \
        EXISTS (SELECT 1 FROM \(traces) WHERE "id" = ?1), EXISTS (SELECT 1 FROM \(settings) WHERE "operation" = ?1)
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
    static func archive(_ condition: String) -> String {
        """
        INSERT OR REPLACE INTO "FinishedOperation" ("id", "pipeline", "type", "payload", "payloadVersion", "lane", "key", "commit", \
        "enqueuedAt", "result", "finishedAt", "attempts", "failures", "_version") \
        SELECT "id", "pipeline", "type", "payload", "payloadVersion", "lane", "key", "commit", \
        "enqueuedAt", ?3, ?4, "attempts", "failures", ?5 FROM \(operations) WHERE \(condition)
        """
    }
    static let selectOfItems = "SELECT \"id\" FROM \(items) WHERE \"item\" BETWEEN ? AND ?"
    static let selectItemPayload = """
        SELECT o."payload" FROM \(items) i JOIN \(operations) o ON o."id" = i."id" WHERE i."id" = ? AND i."item" <> 0
        """
    static let deleteItem = "DELETE FROM \(items) WHERE \"id\" = ?"
    static let selectTrace = "SELECT \"carrier\" FROM \(traces) WHERE \"id\" = ?"
    static let deleteTrace = "DELETE FROM \(traces) WHERE \"id\" = ?"
    // Rows that belong to operations which do not exist, in a range of ids.
    static let selectStrayItems = selectStrays(items, of: "id")
    static let selectStrayTraces = selectStrays(traces, of: "id")
    static let selectStrayHolds = selectStrays(holds, of: "operation")
    static let selectStrayDependencies = selectStrays(dependencies, of: "dependant")
    static func selectStrays(_ table: String, of operation: String) -> String {
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
    static let isFree = "\"suspicion\" = NULL"
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
}
