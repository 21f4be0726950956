import CStrataSQLite
import Foundation

/// The table of the bytes that attributes keep outside of their rows, and the triggers that let them go.
///
/// It is made only where a model has such an attribute. The row of an object has the number of the bytes; new bytes get
/// a new number, and no number is used twice, so that a number says which bytes are meant.
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

    /// What lets the bytes of a column go when nothing stands for them any more, whoever changes the row.
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

extension Connection {
    /// Puts bytes into the store that are kept outside of a row. Gives the number that the row is to hold.
    ///
    /// - Parameter number: the number that they had, where they are brought back.
    func insert(bytes content: Data, as number: Int64? = nil) throws -> Int64 {
        try execute(ExternalSQL.insert, [number.map { .integer($0) } ?? .null, .blob(content)])
        return sqlite3_last_insert_rowid(pointer)
    }

    /// The bytes, where they are in the store that this connection sees.
    func content(of external: ExternalData) throws -> Data? {
        guard let number = external.number,
            case .blob(let content) = try value(ExternalSQL.select, [.integer(number)])
        else { return nil }
        return content
    }
}
