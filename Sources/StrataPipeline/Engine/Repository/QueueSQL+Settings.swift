/// Statements about the options of single operations.
extension QueueSQL {
    static let settings = "\"OperationSettings\""

    static let selectSettings = "SELECT \"id\" FROM \(settings) WHERE \"operation\" = ?"
    static let deleteSettings = "DELETE FROM \(settings) WHERE \"id\" = ?"
    static let selectStraySettings = selectStrays(settings, of: "operation")

    // Expiry.

    /// Operations whose expiry has come, and whether they are still queued and were never started.
    static let selectDueExpiries = """
        SELECT s."id", s."operation", coalesce(o."status" < 3 AND o."epoch" = 0, 0) FROM \(settings) s \
        LEFT JOIN \(operations) o ON o."id" = s."operation" WHERE s."expiryDue" <= ? ORDER BY s."expiryDue" LIMIT ?
        """
    static let setExpiryHandled = "UPDATE \(settings) SET \"expiryDue\" = NULL, \"_version\" = ? WHERE \"id\" = ?"
    static let selectExpiring =
        "SELECT \"id\" FROM \(settings) WHERE \"operation\" = ? AND \"expiresAt\" IS NOT NULL"
    static let endExpiry = """
        UPDATE \(settings) SET "expiresAt" = NULL, "expiryDue" = NULL, "_version" = ? WHERE "id" = ?
        """
    /// The dependants that fail with an expired operation.
    static let selectFailingDependants = """
        SELECT o."id" FROM \(dependencies) d JOIN \(operations) o ON o."id" = d."dependant" \
        WHERE d."prerequisite" = ? AND d."whenFailed" = 'fail' AND o."status" < 3
        """
}
