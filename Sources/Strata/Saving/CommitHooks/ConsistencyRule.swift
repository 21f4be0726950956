/// A rule of an engine that a check of the store verifies.
package struct ConsistencyRule: Sendable {
    /// The fault of a row that the statement finds, as a sentence.
    package let message: String
    /// A query for the ids of the rows that break the rule. It changes nothing, and has one column.
    package let sql: String

    /// A rule with the query for the rows that break it.
    package init(_ message: String, sql: String) {
        self.message = message
        self.sql = sql
    }
}
