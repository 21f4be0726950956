/// The table of external bytes, and the triggers that delete bytes that are no longer used.
///
/// External bytes are the bytes that attributes store outside the row. The table exists only if a model has such an
/// attribute. An object's row holds the number of its bytes. New bytes always get a new number, and no number is
/// reused, so a number identifies its bytes permanently.
enum ExternalSQL {
    static let table = (
        name: "strata_data",
        sql: """
        CREATE TABLE "strata_data" ("id" INTEGER PRIMARY KEY AUTOINCREMENT, "content" BLOB NOT NULL)
        """
    )

    static let insert = "INSERT INTO \"strata_data\" (\"id\", \"content\") VALUES (?, ?)"
    static let delete = "DELETE FROM \"strata_data\" WHERE \"id\" = ?"
    static let select = "SELECT \"content\" FROM \"strata_data\" WHERE \"id\" = ?"
    static let exists = "SELECT 1 FROM \"strata_data\" WHERE \"id\" = ?"

    /// The triggers that delete the bytes of a column when its row stops referring to them. They also run if other
    /// programs change the row.
    static func triggers(table: String, column: String) -> [(name: String, sql: String)] {
        let quoted = (table: table.quotedIdentifier, column: column.quotedIdentifier)
        return [
            (
                "update",
                "AFTER UPDATE OF \(quoted.column) ON \(quoted.table) WHEN OLD.\(quoted.column) IS NOT NEW.\(quoted.column)"
            ),
            ("delete", "AFTER DELETE ON \(quoted.table) WHEN OLD.\(quoted.column) IS NOT NULL"),
        ].map { event, text in
            let name = "\(table)_\(column)_data_\(event)"
            return (
                name,
                "CREATE TRIGGER \(name.quotedIdentifier) \(text) BEGIN "
                    + "DELETE FROM \"strata_data\" WHERE \"id\" = OLD.\(quoted.column); END"
            )
        }
    }
}
