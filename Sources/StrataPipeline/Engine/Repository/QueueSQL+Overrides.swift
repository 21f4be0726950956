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
    /// The resets of a pipeline whose settings another one overrides.
    static let selectResetsToReplace = """
        SELECT n."id" FROM \(overrides) n WHERE n."pipeline" = ?2 AND n."isSet" = 0 AND EXISTS \
        (SELECT 1 FROM \(overrides) o WHERE o."pipeline" = ?1 AND o."setting" = n."setting" AND o."isSet" = 1)
        """
    static let selectOverridesOf = "SELECT \"id\" FROM \(overrides) WHERE \"pipeline\" = ?"
    /// The overridden limits of a pipeline, and their resets.
    static let selectLimitsOf = """
        SELECT "id" FROM \(overrides) WHERE "pipeline" = ? AND "setting" IN \
        ('\(PipelineSettings.Name.maxConcurrent.rawValue)', '\(PipelineSettings.Name.rateLimit.rawValue)')
        """
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

    static let deleteDeclaration = "DELETE FROM \(declarations) WHERE \"id\" = ?"

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
    /// Runs whose operation was deleted before the commit that would have queued it.
    static let selectStrayRuns = """
        SELECT "id" FROM \(runs) WHERE \(range) AND +"isQueued" IS NOT NULL AND "id" NOT IN (SELECT "id" FROM \(operations))
        """
    static let selectSchedulesOfRuns = "SELECT DISTINCT \"schedule\" FROM \(runs) WHERE \(range)"
    static let selectRunsWithoutSchedule =
        "SELECT \"id\" FROM \(runs) WHERE \"schedule\" NOT IN (SELECT \"name\" FROM \(schedules))"
    static let deleteRun = "DELETE FROM \(runs) WHERE \"id\" = ?"
}
