/// Statements about operations that are queued when no further call has replaced them for a while.
extension QueueSQL {
    static let debounced = "\"DebouncedOperation\""

    static let deleteDebounced = "DELETE FROM \(debounced) WHERE \"id\" = ?"
    /// The other rows with the key of a row.
    static let selectSameDebounced = """
        SELECT o."id", o."firstAt", o."lastAt" FROM \(debounced) d \
        JOIN \(debounced) o ON o."pipeline" = d."pipeline" AND o."key" = d."key" AND o."id" <> d."id" WHERE d."id" = ?
        """
    /// Extends the time of a new row's calls. Before, its due time is the time of its call and the delay.
    static let mergeDebounced = """
        UPDATE \(debounced) SET "firstAt" = min("firstAt", ?1), "lastAt" = max("lastAt", ?2), \
        "dueAt" = min(max("lastAt", ?2) + ("dueAt" - "lastAt"), min("firstAt", ?1) + "maxWait"), "_version" = ?3 \
        WHERE "id" = ?4
        """
    /// Due rows, without those whose key a running operation has.
    static let selectDueDebounced = """
        SELECT "id", "key", "pipeline", "lane", "priority", "type", "payload", "payloadVersion" FROM \(debounced) d \
        WHERE "dueAt" <= ? AND NOT EXISTS (SELECT 1 FROM \(operations) o \
        WHERE o."pipeline" = d."pipeline" AND o."key" = d."key" AND +o."status" = 3) ORDER BY "dueAt" LIMIT ?
        """
    static let selectOfKey = "SELECT \"id\" FROM \(operations) WHERE \"pipeline\" = ? AND \"key\" = ?"
    static let insertKeyed = insertOperation(with: "key")
    static let replacePayload = """
        UPDATE \(operations) SET "type" = ?1, "payload" = ?2, "payloadVersion" = ?3, "priority" = ?4, "rank" = ~?4, \
        "_version" = ?5 WHERE "id" = ?6
        """
    static let replacePayloadColumns = ["type", "payload", "payloadVersion", "priority", "rank"]
    static let clearItem = "UPDATE \(items) SET \"item\" = 0, \"_version\" = ? WHERE \"id\" = ? AND \"item\" <> 0"

    /// Rows that were made later than a date. They are due later too, so the index by the due time finds them.
    static let selectDebouncedAfter = """
        SELECT "id" FROM \(debounced) WHERE "dueAt" > ?1 AND "firstAt" > ?1 LIMIT ?2
        """
    static let moveDebouncedTime = """
        UPDATE \(debounced) SET "dueAt" = ?1 + ("dueAt" - "firstAt"), "firstAt" = ?1, "lastAt" = ?1, "_version" = ?2 \
        WHERE "id" = ?3
        """
    static let selectDebouncedOf = "SELECT \"id\" FROM \(debounced) WHERE \"pipeline\" = ?"
    static let moveDebounced = "UPDATE \(debounced) SET \"pipeline\" = ?, \"_version\" = ? WHERE \"id\" = ?"
}
