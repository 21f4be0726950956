/// The SQL statements that find rows of models which the stack does not open, and which a delete would concern.
///
/// Each statement returns the id of the unopened object and the id of the deleted one, for at most 20 pairs.
enum UnopenedSQL {
    /// The ids in a JSON array, which is the only parameter of the statement.
    static let boundIDs = "SELECT value FROM json_each(?)"

    /// The ids that a batch has gathered.
    static func gatheredIDs(_ entity: Int) -> String { "SELECT \"id\" FROM \(BatchSQL.idTable(entity))" }

    /// The rows whose column refers to one of the ids.
    ///
    /// - Parameter object: the column with the id of the unopened object.
    static func selectReferring(_ table: String, object: String, column: String, among ids: String) -> String {
        let column = column.quotedIdentifier
        return """
            SELECT \(object.quotedIdentifier), \(column) FROM \(table.quotedIdentifier) \
            WHERE \(column) IN (\(ids)) LIMIT 20
            """
    }

    /// The rows to which a column of the rows with these ids refers.
    static func selectReferred(
        _ info: EntityInfo,
        _ column: Int,
        _ destination: EntityInfo,
        among ids: String
    ) -> String {
        """
        SELECT other."id", own."id" FROM \(info.sql.table) AS own JOIN \(destination.sql.table) AS other \
        ON other."id" = own.\(info.sql.columns[column]) WHERE own."id" IN (\(ids)) LIMIT 20
        """
    }
}
