/// Statements for any number of operations at once. Their first parameter is a JSON array of ids, so the text of a
/// statement does not depend on the number of operations.
///
/// The plus signs and cross joins make SQLite search by these ids, and not by an index of all operations with a status
/// or of a pipeline.
extension QueueSQL {
    /// The ids of the array.
    static let ids = "SELECT value FROM json_each(?1)"
    static let listed = "\"id\" IN (\(ids))"

    // Retries.

    static let selectListedFailed =
        "SELECT \"id\" FROM \(operations) WHERE \(listed) AND +\"status\" = 4 ORDER BY \"id\""
    static let retryListed = """
        UPDATE \(operations) SET "status" = 0, "worker" = NULL, "attempts" = 0, "crashes" = 0, "constraint" = NULL, \
        "request" = NULL, \(awaitsNothing), \(isFree), "_version" = ?2 WHERE \(listed)
        """

    // Skips.

    static let selectListedInactive =
        "SELECT \"id\" FROM \(operations) WHERE \(listed) AND +\"status\" <> 3 ORDER BY \"id\""
    /// Running operations that no request ends yet. A request to retry is replaced.
    static let selectListedUnasked = """
        SELECT "id" FROM \(operations) WHERE \(listed) AND +"status" = 3 AND ("request" IS NULL OR "request" = 2) ORDER BY "id"
        """
    static let skipListed = "UPDATE \(operations) SET \"request\" = 0, \"_version\" = ?2 WHERE \(listed)"
    static let archiveListed = archive(listed)
    static let deleteListed = "DELETE FROM \(operations) WHERE \(listed)"
    static let selectDependantsOfListed = """
        SELECT DISTINCT o."id" FROM \(dependencies) d JOIN \(operations) o ON o."id" = d."dependant" \
        WHERE d."prerequisite" IN (\(ids)) AND +o."status" = 1 AND o."id" NOT IN (\(ids)) ORDER BY o."id"
        """
    static let selectDependenciesOfListed = """
        SELECT "id" FROM \(dependencies) WHERE "dependant" IN (\(ids)) \
        UNION SELECT "id" FROM \(dependencies) WHERE "prerequisite" IN (\(ids))
        """
    static let deleteDependenciesOfListed = "DELETE FROM \(dependencies) WHERE \"id\" IN (\(ids))"
    static let selectHoldsOfListed = "SELECT \"id\" FROM \(holds) WHERE \"operation\" IN (\(ids)) ORDER BY \"id\""
    static let deleteListedHolds = "DELETE FROM \(holds) WHERE \(listed)"
    static let selectListedItems = "SELECT \"id\" FROM \(items) WHERE \(listed) ORDER BY \"id\""
    static let deleteListedItems = "DELETE FROM \(items) WHERE \(listed)"
    static let selectListedTraces = "SELECT \"id\" FROM \(traces) WHERE \(listed) ORDER BY \"id\""
    static let deleteListedTraces = "DELETE FROM \(traces) WHERE \(listed)"
    static let selectSettingsOfListed =
        "SELECT \"id\" FROM \(settings) WHERE \"operation\" IN (\(ids)) ORDER BY \"id\""
    static let deleteListedSettings = "DELETE FROM \(settings) WHERE \(listed)"

    /// The implied dependencies that remain when the operations between two others leave the queue: `path` leads from
    /// each remaining dependant through the leaving operations.
    ///
    /// The plus makes SQLite read the few prerequisites of an operation. Otherwise it would look up each of the listed
    /// ids among them, and the time would grow with the square of the list.
    private static let impliedPairs = """
        WITH RECURSIVE path("dependant", "via") AS (\
        SELECT d."dependant", d."prerequisite" FROM \(dependencies) d WHERE d."prerequisite" IN (\(ids)) \
        AND d."isImplied" = 1 AND d."dependant" NOT IN (\(ids)) UNION \
        SELECT p."dependant", d."prerequisite" FROM path p JOIN \(dependencies) d ON d."dependant" = p."via" \
        WHERE d."isImplied" = 1 AND +d."prerequisite" IN (\(ids))), \
        pair("dependant", "prerequisite", "whenFailed") AS (\
        SELECT p."dependant", d."prerequisite", min(d."whenFailed") FROM path p \
        JOIN \(dependencies) d ON d."dependant" = p."via" JOIN \(operations) o ON o."id" = d."prerequisite" \
        WHERE d."isImplied" = 1 AND d."prerequisite" NOT IN (\(ids)) AND d."prerequisite" <> p."dependant" \
        AND NOT EXISTS (SELECT 1 FROM \(dependencies) e WHERE e."dependant" = p."dependant" \
        AND e."prerequisite" = d."prerequisite" AND e."isImplied" = 1) GROUP BY p."dependant", d."prerequisite")
        """
    static let countImpliedPairs = "\(impliedPairs) SELECT count(*) FROM pair"
    static let insertImpliedPairs = """
        \(impliedPairs) INSERT INTO \(dependencies) ("id", "dependant", "prerequisite", "whenFailed", "isImplied", "_version") \
        SELECT ?2 - 1 + row_number() OVER (ORDER BY "dependant", "prerequisite"), "dependant", "prerequisite", "whenFailed", \
        1, ?3 FROM pair
        """

    // Holds and priorities.

    static let selectHoldsNamed = """
        SELECT "id", "operation" FROM \(holds) WHERE "operation" IN (\(ids)) AND "name" = ?2 ORDER BY "id"
        """
    static let moveListedHolds = "UPDATE \(holds) SET \"until\" = ?2, \"_version\" = ?3 WHERE \(listed)"
    /// Holds for the listed operations that do not have one of this name.
    static let insertHolds = """
        INSERT INTO \(holds) ("id", "operation", "name", "until", "since", "_version") \
        SELECT ?2 - 1 + row_number() OVER (ORDER BY o."id"), o."id", ?3, ?4, NULL, ?5 FROM \(operations) o \
        WHERE o.\(listed) AND NOT EXISTS (SELECT 1 FROM \(holds) h WHERE h."operation" = o."id" AND h."name" = ?3)
        """
    static let raiseListedEdits =
        "UPDATE \(operations) SET \"edits\" = \"edits\" + 1, \"_version\" = ?2 WHERE \(listed)"
    static let selectListedOfOtherPriority =
        "SELECT \"id\" FROM \(operations) WHERE \(listed) AND \"priority\" <> ?2 ORDER BY \"id\""
    static let prioritiseListed =
        "UPDATE \(operations) SET \"priority\" = ?2, \"rank\" = ~?2, \"_version\" = ?3 WHERE \(listed)"

    // Ends of waits.

    static let selectListedWaiting = """
        SELECT "id" FROM \(operations) WHERE \(listed) AND +"status" IN (1, 2) AND "constraint" IS NULL ORDER BY "id"
        """
    static let setListedPending =
        "UPDATE \(operations) SET \"status\" = 0, \(awaitsNothing), \"_version\" = ?2 WHERE \(listed)"

    /// The waiting operations whose turn it is in the lanes of finished operations, for one serial ordering.
    static func selectNextInLanes(_ ordering: PipelineOrdering) -> String {
        let direction = ordering == .lifo ? "DESC" : "ASC"
        let first = """
            SELECT (SELECT n."id" FROM \(operations) n WHERE n."pipeline" = l."pipeline" AND n."lane" = l."lane" \
            AND (l."isBlocking" OR n."status" <> 4) \
            ORDER BY n."sortKey" \(direction), n."commit" \(direction), n."id" \(direction) LIMIT 1) FROM (\
            SELECT DISTINCT f."pipeline", f."lane", r."whenFailed" = '\(FailurePolicy.blockLane.rawValue)' AS "isBlocking" \
            FROM "FinishedOperation" f JOIN "PipelineRecord" r ON r."name" = f."pipeline" \
            WHERE f.\(listed) AND r."ordering" = '\(ordering.rawValue)') l
            """
        if ordering != .commits {
            return "SELECT \"id\" FROM \(operations) WHERE \"id\" IN (\(first)) AND +\"status\" = 1 ORDER BY \"id\""
        }
        // All operations of the first commit may start together.
        return """
            SELECT o."id" FROM \(operations) g JOIN \(operations) o ON o."pipeline" = g."pipeline" AND o."lane" = g."lane" \
            AND o."sortKey" = g."sortKey" AND o."commit" = g."commit" \
            WHERE g."id" IN (\(first)) AND +o."status" = 1 ORDER BY o."id"
            """
    }

    /// The best operations that wait for a place in the lanes of finished operations: as many in each lane as have
    /// finished there.
    static let selectAwaitingInLanes = selectAwaiting(inLanesOf: "\"FinishedOperation\"")
    /// As `selectAwaitingInLanes`, for the lanes of queued operations.
    static let selectAwaitingBesideListed = selectAwaiting(inLanesOf: operations)
    private static func selectAwaiting(inLanesOf table: String) -> String {
        """
        SELECT "id" FROM (SELECT o."id" AS "id", l."places" AS "places", row_number() OVER \
        (PARTITION BY o."pipeline", o."lane" ORDER BY o."rank", o."commit", o."id") AS "place" FROM (\
        SELECT "pipeline", "lane", count(*) AS "places" FROM \(table) WHERE \(listed) GROUP BY "pipeline", "lane") l \
        JOIN \(operations) o ON o."pipeline" = l."pipeline" AND o."lane" = l."lane" WHERE o."awaitsPlace" IS NOT NULL) \
        WHERE "place" <= "places" ORDER BY "id"
        """
    }

    // Transitions.

    /// The listed operations whose pipelines record transitions, with their present status or result.
    private static func recorded(_ table: String, status: String) -> String {
        """
        FROM (SELECT x."id" AS "id", x."pipeline" AS "pipeline", \(status) AS "status", x."attempts" AS "attempts" \
        FROM \(table) x CROSS JOIN "PipelineRecord" r ON r."name" = x."pipeline" WHERE x.\(listed) AND r."isJournalled" = 1)
        """
    }
    private static let recordedQueued: String = {
        let names = OperationStatus.allCases.map { "WHEN \($0.rawValue) THEN '\($0)'" }.joined(separator: " ")
        return recorded(operations, status: "CASE x.\"status\" \(names) END")
    }()
    private static let recordedFinished = recorded("\"FinishedOperation\"", status: "x.\"result\"")
    static let countRecordedQueued = "SELECT count(*) \(recordedQueued)"
    static let countRecordedFinished = "SELECT count(*) \(recordedFinished)"
    static let recordQueued = record(recordedQueued)
    static let recordFinished = record(recordedFinished)
    private static func record(_ rows: String) -> String {
        """
        INSERT INTO "OperationTransition" ("id", "operation", "pipeline", "status", "attempts", "reason", "commit", "at", "_version") \
        SELECT ?2 - 1 + row_number() OVER (ORDER BY "id"), "id", "pipeline", "status", "attempts", NULL, ?3, ?4, ?3 \(rows)
        """
    }
}
