/// The SQL statements about single rows of one table. They are created once per table.
struct EntitySQL: Sendable {
    let table: String
    let columns: [String]
    /// The id and all columns: `"id", "slug", …`
    let columnList: String
    let insert: String
    let selectByID: String
    /// Returns its parameters as a row of the table.
    let selectParameters: String
    /// Selects a row followed by its version.
    let selectWithVersion: String
    let delete: String
    /// Deletes a row unless its version is greater than the second parameter.
    let deleteUnchanged: String

    init(table: String, columns: [ColumnSchema]) {
        self.table = table.quotedIdentifier
        self.columns = columns.map { $0.name.quotedIdentifier }
        columnList = (["\"id\""] + self.columns).joined(separator: ", ")
        let parameters = "?" + String(repeating: ", ?", count: columns.count + 1)
        insert = "INSERT INTO \(self.table) (\(columnList), \"_version\") VALUES (\(parameters))"
        selectByID = "SELECT \(columnList) FROM \(self.table) WHERE \"id\" = ?"
        selectParameters = "SELECT " + (["\"id\""] + self.columns).map { "? AS \($0)" }.joined(separator: ", ")
        selectWithVersion = "SELECT \(columnList), \"_version\" FROM \(self.table) WHERE \"id\" = ?"
        delete = "DELETE FROM \(self.table) WHERE \"id\" = ?"
        let list = columnList
        let name = self.table
        selectReferring = zip(columns, self.columns).map { column, quoted in
            column.destination == nil ? "" : "SELECT \(list) FROM \(name) WHERE \(quoted) = ? ORDER BY \"id\""
        }
        deleteUnchanged = "DELETE FROM \(self.table) WHERE \"id\" = ? AND \"_version\" <= ?"
    }

    /// Sets columns and the version of a row, unless another commit has changed the row since.
    ///
    /// The last parameters are the id and the newest version that the caller has seen.
    func update(_ columns: ColumnSet) -> String {
        let assignments = columns.map { "\(self.columns[$0]) = ?, " }.joined()
        return "UPDATE \(table) SET \(assignments)\"_version\" = ? WHERE \"id\" = ? AND \"_version\" <= ?"
    }

    /// For each reference column, selects the rows with a given reference, in the order of their ids. The text is empty
    /// for other columns.
    let selectReferring: [String]

    /// Selects the id of a row that has the given values in these columns.
    func selectHolder(_ columns: [Int]) -> String {
        let conditions = columns.map { "\(self.columns[$0]) = ?" }.joined(separator: " AND ")
        return "SELECT \"id\" FROM \(table) WHERE \(conditions) LIMIT 1"
    }
}

extension String {
    /// The text as a quoted SQL identifier.
    package var quotedIdentifier: String { SQLText.quoted(self, by: "\"") }
}
