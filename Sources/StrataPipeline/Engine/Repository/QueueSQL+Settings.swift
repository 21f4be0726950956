/// Statements about the settings of operators, and about the runs of schedules.
extension QueueSQL {
    static let overrides = "\"PipelineOverride\""
    static let runs = "\"ScheduleRun\""
    private static let declarations = "\"PipelineDeclaration\""

    // Settings.

    /// The overridden options. Few pipelines have some.
    static let selectOverrides =
        "SELECT \"pipeline\", \"setting\", \"number\", \"interval\" FROM \(overrides) WHERE \"isSet\" = 1"
    /// The overrides of a pipeline whose settings another one does not override.
    static let selectOverridesToMove = """
        SELECT "id" FROM \(overrides) o WHERE o."pipeline" = ?1 AND NOT EXISTS \
        (SELECT 1 FROM \(overrides) n WHERE n."pipeline" = ?2 AND n."setting" = o."setting")
        """
    static let selectOverridesOf = "SELECT \"id\" FROM \(overrides) WHERE \"pipeline\" = ?"
    static let moveOverride = "UPDATE \(overrides) SET \"pipeline\" = ?, \"_version\" = ? WHERE \"id\" = ?"
    static let deleteOverride = "DELETE FROM \(overrides) WHERE \"id\" = ?"
    static let selectDeclaration = "SELECT \"id\" FROM \(declarations) WHERE \"name\" = ?"
    static let insertDeclaration = """
        INSERT INTO \(declarations) ("id", "name", "maxConcurrent", "rateCount", "rateInterval", "_version") \
        VALUES (?, ?, ?, ?, ?, ?)
        """
    static let updateDeclaration = """
        UPDATE \(declarations) SET "maxConcurrent" = ?1, "rateCount" = ?2, "rateInterval" = ?3, "_version" = ?4 \
        WHERE "id" = ?5 AND ("maxConcurrent" IS NOT ?1 OR "rateCount" IS NOT ?2 OR "rateInterval" IS NOT ?3)
        """

    // Runs of schedules.

    static let insertRun = """
        INSERT INTO \(runs) ("id", "schedule", "dueAt", "queuedAt", "isQueued", "_version") VALUES (?, ?, ?, ?, 1, ?)
        """
    /// The queued runs among a range of operations.
    static let selectQueuedRuns = "SELECT \"id\" FROM \(runs) WHERE \(range) AND +\"isQueued\" IS NOT NULL"
    static let selectFinishedFailures = "SELECT \"failures\" FROM \"FinishedOperation\" WHERE \"id\" = ?"
    /// Copies the end of an operation that has been archived, and not yet deleted from the queue.
    static let endRun = """
        UPDATE \(runs) SET "isQueued" = NULL, "startedAt" = (SELECT "startedAt" FROM \(operations) WHERE \(one)), \
        "finishedAt" = (SELECT "finishedAt" FROM "FinishedOperation" WHERE \(one)), \
        "result" = (SELECT "result" FROM "FinishedOperation" WHERE \(one)), "error" = ?2, "_version" = ?3 WHERE \(one)
        """
    /// The runs of a schedule beyond the newest ones.
    static let selectOldRuns = """
        SELECT "id" FROM \(runs) WHERE "schedule" = ? ORDER BY "queuedAt" DESC, "id" DESC LIMIT -1 OFFSET ?
        """
    static let deleteRun = "DELETE FROM \(runs) WHERE \"id\" = ?"
}
