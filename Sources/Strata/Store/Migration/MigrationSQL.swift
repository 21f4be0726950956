/// The SQL statements of migrations.
enum MigrationSQL {
    /// Whole rows after an id, up to a limit, in the order of their ids.
    static func selectRows(_ info: EntityInfo) -> String {
        "SELECT \(info.sql.columnList) FROM \(info.sql.table) WHERE \"id\" > ? ORDER BY \"id\" LIMIT ?"
    }

    /// Sets columns of one row.
    static func updateColumns(_ columns: ColumnSet, _ info: EntityInfo) -> String {
        let assignments = columns.map { "\(info.sql.columns[$0]) = ?" }.joined(separator: ", ")
        return "UPDATE \(info.sql.table) SET \(assignments) WHERE \"id\" = ?"
    }

    static let tableColumns = "SELECT name, type, \"notnull\" FROM pragma_table_info(?)"
    static let indexes = "SELECT name FROM pragma_index_list(?) WHERE origin = 'c' AND \"unique\" = ? ORDER BY name"
    static let indexColumns = "SELECT name FROM pragma_index_info(?) ORDER BY seqno"
    /// Tables outside Strata whose foreign keys refer to a table.
    static let referringTables = """
        SELECT DISTINCT s.name FROM sqlite_schema AS s JOIN pragma_foreign_key_list(s.name) AS k \
        WHERE s.type = 'table' AND k."table" = ? COLLATE NOCASE
        """
    static let foreignKeys = "PRAGMA foreign_keys"
    static let foreignKeyCheck = "PRAGMA foreign_key_check"
    /// The connection's temporary tables, views and triggers. Virtual tables come before the tables that implement
    /// them.
    static let temporary =
        "SELECT \"name\", \"type\" FROM sqlite_temp_schema WHERE \"type\" <> 'index' ORDER BY \"sql\" NOT LIKE 'CREATE VIRTUAL%'"
    static let lastExternal = "SELECT coalesce(max(\"id\"), 0) FROM \"strata_data\""
    static let lastExternalEver = "SELECT \"seq\" FROM sqlite_sequence WHERE \"name\" = 'strata_data'"

    static let recursiveTriggers = "PRAGMA recursive_triggers"
    static func setRecursiveTriggers(_ isOn: Bool) -> String { "PRAGMA recursive_triggers = \(isOn ? "ON" : "OFF")" }

    static func setForeignKeys(_ isOn: Bool) -> String { "PRAGMA foreign_keys = \(isOn ? "ON" : "OFF")" }
    static func setLegacyAlterTable(_ isOn: Bool) -> String { "PRAGMA legacy_alter_table = \(isOn ? "ON" : "OFF")" }
    static func setFormat(_ version: Int64) -> String { "PRAGMA user_version = \(version)" }

    static func count(_ table: String) -> String { "SELECT count(*) FROM \(table.quotedIdentifier)" }
    static func lastID(_ table: String) -> String { "SELECT max(\"id\") FROM \(table.quotedIdentifier)" }

    static func renameTable(_ old: String, to new: String) -> String {
        "ALTER TABLE \(old.quotedIdentifier) RENAME TO \(new.quotedIdentifier)"
    }

    static func renameColumn(_ old: String, to new: String, in table: String) -> String {
        "ALTER TABLE \(table.quotedIdentifier) RENAME COLUMN \(old.quotedIdentifier) TO \(new.quotedIdentifier)"
    }

    /// - Parameter value: the column's value in existing rows.
    static func addColumn(_ column: ColumnDescription, _ value: String, to table: String) -> String {
        "ALTER TABLE \(table.quotedIdentifier) ADD COLUMN \(SchemaSQL.column(column)) DEFAULT \(value)"
    }

    static func dropTable(_ table: String) -> String { "DROP TABLE \(table.quotedIdentifier)" }
    static func dropTrigger(_ name: String) -> String { "DROP TRIGGER \(name.quotedIdentifier)" }
    static func dropTemporary(_ type: String, _ name: String) -> String {
        "DROP \(type) IF EXISTS temp.\(name.quotedIdentifier)"
    }
    static func drop(_ entry: SchemaEntry) -> String {
        "DROP \(entry.type == "trigger" ? "TRIGGER" : "INDEX") \(entry.name.quotedIdentifier)"
    }

    /// Copies rows after an id, up to a limit, or all rows. The expressions refer to the old row.
    static func copy(
        _ columns: [(name: String, expression: String)],
        from old: String,
        to new: String,
        limit: Int?
    ) -> String {
        let names = columns.map(\.name.quotedIdentifier).joined(separator: ", ")
        let values = columns.map(\.expression).joined(separator: ", ")
        let table = old.quotedIdentifier
        let portion = limit.map { ("WHERE \(table).\"id\" > ?1 ", " LIMIT \($0)") } ?? ("", "")
        return """
            INSERT INTO \(new.quotedIdentifier) ("id", \(names)\(names.isEmpty ? "" : ", ")"_version") \
            SELECT \(table)."id", \(values)\(values.isEmpty ? "" : ", ")\(table)."_version" FROM \(table) \
            \(portion.0)ORDER BY \(table)."id"\(portion.1)
            """
    }

    /// An expression of the user, enclosed for use within another expression.
    static func enclosed(_ expression: String) -> String { "(\(expression)\n)" }

    static func copied(_ column: String, from table: String) -> String {
        "\(table.quotedIdentifier).\(column.quotedIdentifier)"
    }

    static func cast(_ expression: String, to type: ColumnType) -> String { "CAST(\(expression) AS \(type.rawValue))" }
    static func filled(_ expression: String, or other: String) -> String { "coalesce(\(expression), \(other))" }
    static func content(of number: String) -> String {
        "(SELECT \"content\" FROM \"strata_data\" WHERE \"id\" = \(number))"
    }

    /// Whether a value is not an integer, or is an integer that a floating-point number cannot represent exactly.
    ///
    /// A number that is too large would convert back to the largest integer, which would hide the loss.
    static func isInexact(_ expression: String) -> String {
        "(\(expression) IS NOT NULL AND (typeof(\(expression)) <> 'integer' OR "
            + "CAST(CAST(\(expression) AS REAL) AS INTEGER) <> \(expression) OR CAST(\(expression) AS REAL) >= 9223372036854775808.0))"
    }
    /// Whether a value is not an integer, or is outside the range in which a `Float` represents every integer.
    static func isBeyondFloat(_ expression: String) -> String {
        "(\(expression) IS NOT NULL AND (typeof(\(expression)) <> 'integer' OR \(expression) NOT BETWEEN -16777216 AND 16777216))"
    }
    static func isOther(_ expression: String, than storage: String) -> String {
        "(\(expression) IS NOT NULL AND typeof(\(expression)) <> '\(storage)')"
    }
    static func isNull(_ expression: String) -> String { "(\(expression)) IS NULL" }

    /// Ids and values of the first five rows that meet a condition.
    static func rows(_ expression: String, of table: String, where condition: String) -> String {
        "SELECT \(table.quotedIdentifier).\"id\", \(expression) FROM \(table.quotedIdentifier) WHERE \(condition) LIMIT 5"
    }

    /// The same for an expression that may read all rows at once. The condition refers to its ``value``.
    static func rows(filling expression: String, of table: String, where condition: String) -> String {
        "SELECT \"id\", \(value) FROM (\(values(expression, of: table))) WHERE \(condition) LIMIT 5"
    }

    static let value = "\"strata_value\""

    private static func values(_ expression: String, of table: String) -> String {
        let name = table.quotedIdentifier
        return "SELECT \(name).\"id\" AS \"id\", \(enclosed(expression)) AS \(value) FROM \(name)"
    }

    /// Ids and values of all rows that have a value.
    static func values(of column: String, in table: String) -> String {
        let name = column.quotedIdentifier
        return "SELECT \"id\", \(name) FROM \(table.quotedIdentifier) WHERE \(name) IS NOT NULL"
    }

    /// Ids and values of the rows after an id, up to a limit, including rows without a value.
    static func selectValues(of column: String, in table: String) -> String {
        "SELECT \"id\", \(column.quotedIdentifier) FROM \(table.quotedIdentifier) WHERE \"id\" > ? ORDER BY \"id\" LIMIT ?"
    }

    static func updateValue(of column: String, in table: String) -> String {
        "UPDATE \(table.quotedIdentifier) SET \(column.quotedIdentifier) = ? WHERE \"id\" = ?"
    }

    /// The id of the row of another table that refers to a row by a column.
    static func referring(_ other: String, _ column: String, to table: String) -> String {
        "SELECT turned.\"id\" FROM \(other.quotedIdentifier) AS turned "
            + "WHERE turned.\(column.quotedIdentifier) = \(copied("id", from: table))"
    }

    /// The first five values that occur in more than one row, each with the ids of two rows.
    static func duplicates(of columns: [String], in table: String) -> String {
        let names = columns.map(\.quotedIdentifier)
        let list = names.joined(separator: ", ")
        return """
            SELECT min("id"), max("id"), \(list) FROM \(table.quotedIdentifier) \
            WHERE \(names.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")) \
            GROUP BY \(list) HAVING count(*) > 1 ORDER BY min("id") LIMIT 5
            """
    }

    /// Stores bytes of a table's rows externally. The number of a row's bytes is `base` plus the row's id.
    ///
    /// - Parameter kept: a column whose non-null values are existing external bytes. Rows with such a value are
    ///   skipped.
    static func keepOutside(_ content: String, of table: String, unless kept: String?, base: Int64) -> String {
        let others = kept.map { " AND \"id\" IN (SELECT \"id\" FROM \(table.quotedIdentifier) WHERE \(isNull($0)))" }
        return """
            INSERT INTO "strata_data" ("id", "content") SELECT \(base) + "id", \(value) \
            FROM (\(values(content, of: table))) WHERE \(value) IS NOT NULL\(others ?? "")
            """
    }

    /// The number under which ``keepOutside(_:of:unless:base:)`` has stored the bytes of a row; NULL if it has not
    /// stored any.
    static func outsideNumber(of table: String, base: Int64) -> String {
        "(SELECT \"id\" FROM \"strata_data\" WHERE \"id\" = \(base) + \(table.quotedIdentifier).\"id\")"
    }

    static func dropOutside(_ column: String, of table: String) -> String {
        let name = column.quotedIdentifier
        return """
            DELETE FROM "strata_data" WHERE "id" IN \
            (SELECT \(name) FROM \(table.quotedIdentifier) WHERE \(name) IS NOT NULL)
            """
    }

    /// Whether a literal can follow DEFAULT in ``addColumn(_:_:to:)``.
    static func isPlain(literal: String) -> Bool { !literal.hasBytePrefix("(") && !literal.hasBytePrefix("CAST") }
}
