/// Statements about keys that stay taken for a time.
extension QueueSQL {
    static let uniqueness = "\"OperationUniqueness\""

    static let deleteUniqueness = "DELETE FROM \(uniqueness) WHERE \"id\" = ?"
    static let selectStrayUniqueness = selectStrays(uniqueness, of: "id")
    static let selectListedUniqueness = "SELECT \"id\" FROM \(uniqueness) WHERE \(listed) ORDER BY \"id\""
    static let deleteListedUniqueness = "DELETE FROM \(uniqueness) WHERE \(listed)"
    static let selectEndedUniqueness = """
        SELECT "id" FROM \(uniqueness) WHERE "until" <= ? ORDER BY "until" LIMIT ?
        """
    /// The other rows with the key of a row, and whether they took the key when the row was made.
    static let selectSameUniqueness = """
        SELECT o."id", o."until" > u."since", o."pipeline", o."key", o."until" FROM \(uniqueness) u \
        JOIN \(uniqueness) o ON o."pipeline" = u."pipeline" AND o."key" = u."key" AND o."id" <> u."id" WHERE u."id" = ?
        """
    static let moveUniqueness = "UPDATE \(uniqueness) SET \"pipeline\" = ?, \"_version\" = ? WHERE \"id\" = ?"
    static let selectUniquenessOf = "SELECT \"id\" FROM \(uniqueness) WHERE \"pipeline\" = ?"
}
