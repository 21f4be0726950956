/// The engine's SQL statements. No other type of this target contains SQL, except the guard of `StatusRules` and the
/// conditions of queries for tags.
///
/// This file has the names of the tables, and the statements that claim operations and make them wait.
enum QueueSQL {
    static let operations = "\"QueuedOperation\""
    static let dependencies = "\"OperationDependency\""
    static let holds = "\"OperationHold\""
    static let items = "\"OperationItem\""
    static let traces = "\"OperationTrace\""
    static let schedules = "\"PeriodicOperation\""
    /// The conditions of statements for one operation and for several. For one operation, the first condition costs
    /// half as much.
    static let one = "\"id\" = ?1"
    static let range = "\"id\" BETWEEN ?1 AND ?2"

    /// Claimable operations, best first, with the columns that a claim needs.
    static let selectCandidates = selectCandidates(OperationRepository.Selection())

    /// The claimable operations of a selection.
    ///
    /// - Parameter hasTies: whether to read holds and queued prerequisites as well.
    static func selectCandidates(_ selection: OperationRepository.Selection, hasTies: Bool) -> String {
        switch (selection.keys != nil || selection.types != nil, selection.isSuspected, hasTies) {
        case (false, false, false): selectCandidates
        case (false, false, true): selectTiedCandidates
        default: selectCandidates(selection, with: hasTies ? ties : "")
        }
    }
    private static let selectTiedCandidates = selectCandidates(OperationRepository.Selection(), with: ties)
    private static let ties = """
        , (SELECT max("until") FROM \(holds) WHERE "operation" = o."id"), \
        EXISTS (SELECT 1 FROM \(dependencies) d JOIN \(operations) p ON p."id" = d."prerequisite" \
        WHERE d."dependant" = o."id" AND NOT (p."status" = 4 AND d."whenFailed" = 'run')), \
        (SELECT "expiresAt" FROM \(settings) WHERE "operation" = o."id"), \
        (SELECT "attempts" FROM \(settings) WHERE "operation" = o."id")
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
            selection.types.map { isOfType($0.count, from: selection.keys == nil ? 3 : 5) },
        ]
        return """
            SELECT "id", "lane", "sortKey", "commit", "attempts", "epoch", "type", "payload", "payloadVersion", "enqueuedAt", \
            "key"\(ties) \
            FROM \(operations) o WHERE \(conditions.compactMap { $0 }.joined(separator: " AND ")) \
            ORDER BY \(selection.isSuspected ? "\"startedAt\" DESC, " : "")"rank", "commit", "id" LIMIT ?2
            """
    }

    /// Whether the payload is of one of several types. No index contains the type, so the statement passes over rows of
    /// other types.
    ///
    /// - Parameter first: the number of the first parameter.
    private static func isOfType(_ count: Int, from first: Int) -> String {
        "\"type\" IN (\((first..<first + count).map { "?\($0)" }.joined(separator: ", ")))"
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
        switch (ordering == .lifo, countingFailed) {
        case (false, true): selectOldest
        case (false, false): selectOldestUnfailed
        case (true, true): selectNewest
        case (true, false): selectNewestUnfailed
        }
    }
    // The texts are kept, because most passes over ordered lanes need one of them several times.
    private static let selectOldest = selectFirst(by: oldest)
    private static let selectOldestUnfailed = selectFirst(by: oldest, where: isUnfailed)
    private static let selectNewest = selectFirst(by: newest)
    private static let selectNewestUnfailed = selectFirst(by: newest, where: isUnfailed)
    private static let oldest = "\"sortKey\", \"commit\", \"id\""
    private static let newest = "\"sortKey\" DESC, \"commit\" DESC, \"id\" DESC"
    private static let isUnfailed = " AND \"status\" <> 4"
    private static func selectFirst(by order: String, where condition: String = "") -> String {
        """
        SELECT "id", "status", "commit", "sortKey" FROM \(operations) WHERE "pipeline" = ? AND "lane" = ?\(condition) \
        ORDER BY \(order) LIMIT 1
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
    static let awaitsNothing = "\"awaitsPlace\" = NULL"
    static let setStatus =
        "UPDATE \(operations) SET \"status\" = ?, \(awaitsNothing), \"_version\" = ? WHERE \"id\" = ?"
    /// The operations of a lane that wait for a place in it, best first.
    static let selectAwaiting = """
        SELECT "id" FROM \(operations) WHERE "pipeline" = ? AND "lane" = ? AND "awaitsPlace" IS NOT NULL \
        ORDER BY "rank", "commit", "id" LIMIT ?
        """
    /// The operations of a lane with some types of payloads that wait for a place in it, best first.
    static func selectAwaiting(types count: Int) -> String {
        """
        SELECT "id" FROM \(operations) WHERE "pipeline" = ?1 AND "lane" = ?2 AND "awaitsPlace" IS NOT NULL \
        AND \(isOfType(count, from: 4)) ORDER BY "rank", "commit", "id" LIMIT ?3
        """
    }
    /// The next lane of a pipeline in which operations wait for a place. The whole order makes SQLite choose the index of
    /// these operations, and not an index of all operations.
    static let selectNextAwaitedLane = """
        SELECT "lane" FROM \(operations) WHERE "pipeline" = ? AND "lane" > ? AND "awaitsPlace" IS NOT NULL \
        ORDER BY "lane", "rank", "commit" LIMIT 1
        """
    static let selectActiveLanes =
        "SELECT \"id\", \"lane\" FROM \(operations) WHERE \"status\" = 3 AND \"pipeline\" = ?"
}
