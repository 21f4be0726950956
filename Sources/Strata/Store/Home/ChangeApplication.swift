import CStrataSQLite
import Foundation

/// Applies the changes of another node to the rows of a working copy, in a running transaction.
///
/// The changes are a difference of two states, without the order in which rows were written. SQLite checks unique
/// indexes at each row, so that the rows need an order. Deletes come first. An update or insert that meets a value
/// which another row has not given up yet is held back, without its old row, until all others are applied.
///
/// Triggers run as they do for the node that has committed. They keep full-text indexes up to date.
///
/// The other node may have been opened before or after a migration that both nodes can continue with. Such a migration
/// adds tables, and columns at the end of tables. Tables and columns that this copy does not have are left out. Columns
/// that the other node does not have get their default values in new rows, and stay as they are in others.
struct ChangeApplication {
    private let connection: Connection
    private let tables: [UTF8Text: HomeTable]
    private var held: [HeldRow] = []

    /// A row that is in the table again when all others are applied.
    private struct HeldRow {
        let table: HomeTable
        let values: [StoredValue]
    }

    /// - Parameter tables: the tables of the copy by their names, with the columns in their order in the file.
    init(on connection: Connection, tables: [UTF8Text: HomeTable]) {
        self.connection = connection
        self.tables = tables
    }

    /// Applies all changes.
    ///
    /// - Throws: `damagedStore` if a row of the copy is not the one that the changes are based on.
    mutating func apply(_ changes: HomeChanges) throws {
        try changes.forEach { name, change in
            guard let table = tables[UTF8Text(name)] else { return }
            if case .delete(let values) = change { try delete(values, from: table) }
        }
        try changes.forEach { name, change in
            guard let table = tables[UTF8Text(name)] else { return }
            switch change {
            case .insert(let values): try insert(table.completing(values), into: table)
            case .update(let before, let after):
                try update(table.fitting(before), table.fitting(after), in: table)
            case .delete: break
            }
        }
        for row in held where try !insertIfFree(row.values, into: row.table) {
            throw differs(row.table.name, row.values[0])
        }
        held = []
    }

    private func delete(_ values: [StoredValue], from table: HomeTable) throws {
        let columns = table.columnNames.prefix(values.count)
        let sql = "DELETE FROM \(table.name.quotedIdentifier) WHERE \(Self.conditions(Array(columns), from: 1))"
        let statement = try connection.statement(sql)
        try statement.bind(Array(values.prefix(columns.count)))
        if try statement.runBound() == 1 { return }
        // A trigger of the row that the bytes belonged to has deleted them already.
        guard try table.name == ExternalSQL.table.name && !hasBytes(values[0]) else {
            throw differs(table.name, values[0])
        }
    }

    private mutating func insert(_ values: [StoredValue], into table: HomeTable) throws {
        if try !insertIfFree(values, into: table) { held.append(HeldRow(table: table, values: values)) }
    }

    /// Inserts a row. Returns false if another row has one of its unique values.
    ///
    /// - Throws: `damagedStore` if there is a row with its id.
    private func insertIfFree(_ values: [StoredValue], into table: HomeTable) throws -> Bool {
        let columns = table.columnNames
        let names = columns.map(\.quotedIdentifier).joined(separator: ", ")
        let parameters = columns.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
        let sql = "INSERT INTO \(table.name.quotedIdentifier) (\(names)) VALUES (\(parameters))"
        return try runUnlessTaken(sql, values) { throw differs(table.name, values[0]) }
    }

    private mutating func update(_ before: [StoredValue?], _ after: [StoredValue?], in table: HomeTable) throws {
        let (columns, name) = (table.columnNames, table.name)
        guard let id = before.first ?? nil else { throw differs(name, .null) }
        let changed = columns.indices.dropFirst().filter { after[$0] != nil }
        guard !changed.isEmpty else { return }
        let assignments = changed.enumerated().map { "\(columns[$1].quotedIdentifier) = ?\($0 + 1)" }
        let conditions = Self.conditions([columns[0]] + changed.map { columns[$0] }, from: changed.count + 1)
        let sql = """
            UPDATE \(name.quotedIdentifier) SET \(assignments.joined(separator: ", ")) WHERE \(conditions)
            """
        let values = changed.map { after[$0] ?? .null } + [id] + changed.map { before[$0] ?? .null }
        if try runUnlessTaken(sql, values, { throw differs(name, id) }) {
            guard connection.changes == 1 else { throw differs(name, id) }
            return
        }
        // The old row gives its own values up, which other rows may wait for.
        let names = columns.map(\.quotedIdentifier).joined(separator: ", ")
        let select = "SELECT \(names) FROM \(name.quotedIdentifier) WHERE \(columns[0].quotedIdentifier) = ?"
        var row = try connection.row(select, [id])
        guard row.count == columns.count, changed.allSatisfy({ row[$0] == before[$0] ?? .null }) else {
            throw differs(name, id)
        }
        try remove(id, from: name, columns)
        for column in changed { row[column] = after[column] ?? .null }
        held.append(HeldRow(table: table, values: row))
    }

    /// Removes a row for a while. Its external bytes stay, although a trigger deletes them with the row.
    private func remove(_ id: StoredValue, from table: String, _ columns: [String]) throws {
        let mayHaveBytes = tables[UTF8Text(ExternalSQL.table.name)] != nil
        let numbers = mayHaveBytes ? try connection.numbers(Self.numbersOfBytes(table, columns), [id]) : []
        let contents = try numbers.map { ($0, try connection.value(ExternalSQL.select, [.integer($0)])) }
        try connection.execute("DELETE FROM \(table.quotedIdentifier) WHERE \(columns[0].quotedIdentifier) = ?", [id])
        for (number, content) in contents {
            guard let content, try !hasBytes(.integer(number)) else { continue }
            try connection.execute(ExternalSQL.insert, [.integer(number), content])
        }
    }

    /// Selects the numbers of stored bytes among the values of a row. A number of another column may be among them,
    /// which does no harm.
    private static func numbersOfBytes(_ table: String, _ columns: [String]) -> String {
        let values = columns.dropFirst().map { "row.\($0.quotedIdentifier)" }.joined(separator: ", ")
        return """
            SELECT data."id" FROM \(table.quotedIdentifier) AS row JOIN "strata_data" AS data ON data."id" IN (\(values)) \
            WHERE row.\(columns[0].quotedIdentifier) = ?
            """
    }

    /// Runs a statement. Returns false if a unique value of another row is in the way.
    ///
    /// - Parameter taken: called if a row with the same id is in the way.
    private func runUnlessTaken(_ sql: String, _ values: [StoredValue], _ taken: () throws -> Void) throws -> Bool {
        let statement = try connection.statement(sql)
        do {
            try statement.bind(values)
            try statement.runBound()
            return true
        } catch {
            switch connection.lastErrorCode {
            // SQLITE_CONSTRAINT_UNIQUE, _PRIMARYKEY and _ROWID are macros that Swift does not see.
            case SQLITE_CONSTRAINT | (8 << 8): return false
            case SQLITE_CONSTRAINT | (6 << 8), SQLITE_CONSTRAINT | (10 << 8):
                try taken()
                return false
            default: throw error
            }
        }
    }

    private func hasBytes(_ number: StoredValue) throws -> Bool {
        try connection.value(ExternalSQL.exists, [number]) != nil
    }

    private static func conditions(_ columns: [String], from first: Int) -> String {
        columns.enumerated().map { "\($1.quotedIdentifier) IS ?\($0 + first)" }.joined(separator: " AND ")
    }

    private func differs(_ table: String, _ id: StoredValue) -> StrataError {
        StrataError(
            .damagedStore,
            "The working copy differs from its home in the row \(id) of '\(table)'. Close the stack and open it again, which "
                + "makes the copy again."
        )
        .naming(connection.path)
    }
}

extension HomeTable {
    fileprivate var columnNames: [String] { columns.map(\.name) }

    /// The values of a new row in all columns. The values may be those of a node that has more or fewer columns.
    ///
    /// - Throws: `damagedStore` if a value is missing, and its column has no default value.
    fileprivate func completing(_ values: [StoredValue]) throws -> [StoredValue] {
        if values.count >= columns.count {
            return values.count == columns.count ? values : Array(values.prefix(columns.count))
        }
        return try values
            + columns[values.count...].map { column in
                guard let value = column.defaultValue ?? (column.isOptional ? .null : nil) else {
                    throw StrataError(
                        .damagedStore,
                        "A row of '\(name)' in the store's home lacks the column '\(column.name)', which has no default "
                            + "value."
                    )
                }
                return value
            }
    }

    /// The changed values of a row in all columns, with nil for the columns that the other node does not have.
    fileprivate func fitting(_ values: [StoredValue?]) -> [StoredValue?] {
        if values.count == columns.count { return values }
        if values.count > columns.count { return Array(values.prefix(columns.count)) }
        return values + Array(repeating: nil, count: columns.count - values.count)
    }
}
