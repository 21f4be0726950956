/// Statements about pipelines, new operations, transitions and cycles.
extension QueueSQL {
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
    /// One index lookup for each name, however many operations are queued under it; and a scan of the few schedules and
    /// debounced operations, which are queued under their names later.
    static let selectNames = """
        WITH RECURSIVE names("name") AS (SELECT min("pipeline") FROM \(operations) UNION ALL \
        SELECT (SELECT min("pipeline") FROM \(operations) WHERE "pipeline" > "name") FROM names WHERE "name" IS NOT NULL) \
        SELECT "name" FROM names WHERE "name" IS NOT NULL UNION SELECT "pipeline" FROM \(schedules) \
        UNION SELECT "pipeline" FROM \(debounced)
        """
    static let selectOfPipeline = "SELECT \"id\" FROM \(operations) WHERE \"pipeline\" = ?"
    static let move = """
        UPDATE \(operations) SET "pipeline" = ?, "status" = CASE "status" WHEN 1 THEN 0 ELSE "status" END, \(awaitsNothing), \
        "_version" = ? WHERE "id" = ?
        """

    static let selectAllHeld = "SELECT \"id\" FROM \(operations) WHERE \"status\" = 2 AND \"constraint\" IS NULL"
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
        AND \(isDependant)
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
