/// The texts of SQL about single rows of one table. Made once per table.
struct EntitySQL: Sendable {
    let table: String
    let columns: [String]
    /// `"id", "slug", …`
    let columnList: String
    let insert: String
    let selectByID: String
    /// The row and behind it its version.
    let selectWithVersion: String
    let delete: String
    /// Deletes a row unless it is newer than the second parameter.
    let deleteUnchanged: String

    init(table: String, columns: [ColumnSchema]) {
        self.table = table.quotedIdentifier
        self.columns = columns.map { $0.name.quotedIdentifier }
        columnList = (["\"id\""] + self.columns).joined(separator: ", ")
        let parameters = repeatElement("?", count: columns.count + 2).joined(separator: ", ")
        insert = "INSERT INTO \(self.table) (\(columnList), \"_version\") VALUES (\(parameters))"
        selectByID = "SELECT \(columnList) FROM \(self.table) WHERE \"id\" = ?"
        selectWithVersion = "SELECT \(columnList), \"_version\" FROM \(self.table) WHERE \"id\" = ?"
        delete = "DELETE FROM \(self.table) WHERE \"id\" = ?"
        let list = columnList
        let name = self.table
        selectReferring = zip(columns, self.columns).map { column, quoted in
            column.destination == nil ? "" : "SELECT \(list) FROM \(name) WHERE \(quoted) = ? ORDER BY \"id\""
        }
        deleteUnchanged = "DELETE FROM \(self.table) WHERE \"id\" = ? AND \"_version\" <= ?"
    }

    /// Sets columns, the version and, given the id and the newest version that was seen, only where nobody was faster.
    func update(_ columns: ColumnSet) -> String {
        let assignments = columns.map { "\(self.columns[$0]) = ?, " }.joined()
        return "UPDATE \(table) SET \(assignments)\"_version\" = ? WHERE \"id\" = ? AND \"_version\" <= ?"
    }

    /// The rows whose column has a value, in the order of their ids. One text for each column that is a reference.
    let selectReferring: [String]

    /// The id of the row that holds these values.
    func selectHolder(_ columns: [Int]) -> String {
        let conditions = columns.map { "\(self.columns[$0]) = ?" }.joined(separator: " AND ")
        return "SELECT \"id\" FROM \(table) WHERE \(conditions) LIMIT 1"
    }
}

extension String {
    /// As an identifier of SQL's.
    var quotedIdentifier: String { SQLText.quoted(self, by: "\"") }
}
