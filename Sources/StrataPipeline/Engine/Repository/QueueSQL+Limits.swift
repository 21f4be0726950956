/// Statements about rate limits of lanes, and about operations that run in all processes.
extension QueueSQL {
    static let laneBudgets = "\"LaneBudget\""

    // Rate limits of lanes.

    /// The comparisons with a number, here and below, make SQLite use the index of the lanes in which operations wait.
    static let isAwaited = "\"opensAt\" > -1e300"
    static let selectLaneBudget = """
        SELECT "id", "tokens", "countedAt", "opensAt" FROM \(laneBudgets) WHERE "pipeline" = ? AND "lane" = ?
        """
    static let insertLaneBudget = """
        INSERT INTO \(laneBudgets) ("tokens", "countedAt", "capacity", "rate", "opensAt", "fullAt", "_version", "id", \
        "pipeline", "lane") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
    static let updateLaneBudget = """
        UPDATE \(laneBudgets) SET "tokens" = ?, "countedAt" = ?, "capacity" = ?, "rate" = ?, "opensAt" = ?, "fullAt" = ?, \
        "_version" = ? WHERE "id" = ?
        """
    static let deleteLaneBudget = "DELETE FROM \(laneBudgets) WHERE \"id\" = ?"
    static let selectNextOpening = "SELECT min(\"opensAt\") FROM \(laneBudgets) WHERE \(isAwaited)"
    private static let laneColumns =
        "\"id\", \"pipeline\", \"lane\", \"tokens\", \"countedAt\", \"capacity\", \"rate\", \"opensAt\""
    static let selectOpeningLanes = """
        SELECT \(laneColumns) FROM \(laneBudgets) WHERE "opensAt" <= ? ORDER BY "opensAt" LIMIT ?
        """
    static let selectAwaitedLanes = "SELECT \(laneColumns) FROM \(laneBudgets) WHERE \(isAwaited)"
    static let selectLanesCountedAfter =
        "SELECT \(laneColumns) FROM \(laneBudgets) WHERE \"countedAt\" > ? LIMIT ?"
    static let selectAwaitedLane =
        "SELECT \(laneColumns) FROM \(laneBudgets) WHERE \"pipeline\" = ? AND \"lane\" = ? AND +\"opensAt\" IS NOT NULL"
    static let selectFullLanes = "SELECT \"id\" FROM \(laneBudgets) WHERE \"fullAt\" <= ? LIMIT ?"
    /// The operations of a commit that wait for a token of their lane, best first. Few operations of other commits
    /// wait for one. The plus signs make SQLite use the index of those that wait.
    static let selectAwaitingOfCommit = """
        SELECT "id" FROM \(operations) WHERE "pipeline" = ? AND "lane" = ? AND +"sortKey" = ? AND +"commit" = ? \
        AND "awaitsPlace" IS NOT NULL ORDER BY "rank", "commit", "id" LIMIT ?
        """

    // Running operations.

    static let selectActive = "SELECT \"id\" FROM \(operations) WHERE \"status\" = 3 AND \"pipeline\" = ?"
    static let selectAllActive = "SELECT \"id\", \"pipeline\" FROM \(operations) WHERE \"status\" = 3"
}
