import Foundation
import Strata

/// The changes of one table in one transaction, as statements with arrays.
///
/// Rows with the same changed columns share a statement. Deletes come first, then updates, then inserts. The tables
/// have no unique columns except the primary key, and a changeset has each row once. So no order of rows can collide.
struct TableChanges {
    private let sql: TableSQL
    private var deletes: RowBatch
    /// The inserts by the number of their columns.
    private var inserts: [Int: RowBatch] = [:]
    /// The updates by the indices of the changed columns.
    private var updates: [[Int]: RowBatch] = [:]

    var table: HomeTable { sql.table }

    init(_ sql: TableSQL) {
        self.sql = sql
        deletes = RowBatch(sql.delete, sql.table, columns: [0])
    }

    /// - Throws: `validation` if PostgreSQL cannot have a value; `schemaMismatch` if the row has other columns, or if it
    ///   lacks a column that has neither a default value nor NULL.
    mutating func append(_ change: HomeChanges.Change) throws {
        switch change {
        case .delete(let row):
            try check(row.count)
            try deletes.append([row[0]])
        case .insert(let row):
            try check(row.count)
            if inserts[row.count] == nil {
                inserts[row.count] = RowBatch(
                    sql.insert(columnCount: row.count),
                    table,
                    columns: Array(row.indices)
                )
            }
            try inserts[row.count]?.append(row)
        case .update(let before, let after):
            try check(before.count)
            try check(after.count)
            guard let id = before[0] else { throw mismatch }
            let columns = after.indices.filter { after[$0] != nil }
            if columns.isEmpty { return }
            if updates[columns] == nil {
                updates[columns] = RowBatch(sql.update(columns), table, columns: [0] + columns)
            }
            try updates[columns]?.append([id] + after.compactMap { $0 })
        }
    }

    /// The statements, in the order in which they must run.
    var statements: [PostgresStatement] {
        let keys = updates.keys.sorted { $0.lexicographicallyPrecedes($1) }
        return deletes.statements + keys.flatMap { updates[$0]?.statements ?? [] }
            + inserts.keys.sorted().flatMap { inserts[$0]?.statements ?? [] }
    }

    private func check(_ count: Int) throws {
        guard (1...table.columns.count).contains(count),
            table.columns[count...].allSatisfy({ $0.isOptional || $0.defaultValue != nil })
        else { throw mismatch }
    }

    private var mismatch: StrataError {
        StrataError(
            .schemaMismatch,
            "The changes of the table \(table.name) have other columns than the store in PostgreSQL. All programs that "
                + "share a store open the same models."
        )
    }
}

/// Rows for one SQL statement, which runs as often as their number and size require.
private struct RowBatch {
    private let sql: String
    private let empty: [PostgresArray]
    private var arrays: [PostgresArray]
    private var count = 0
    private var full: [PostgresStatement] = []

    private static let maxRows = 10_000
    private static let maxBytes = 8 << 20

    /// - Parameter columns: the indices of the columns that the statement takes, with that of the id first.
    init(_ sql: String, _ table: HomeTable, columns: [Int]) {
        self.sql = sql
        empty = columns.map { PostgresArray(of: table.columns[$0], in: table.name) }
        arrays = empty
    }

    /// - Parameter values: a value for each column.
    mutating func append(_ values: [StoredValue]) throws {
        for index in arrays.indices { try arrays[index].append(values[index], id: values[0]) }
        count += 1
        guard count >= Self.maxRows || arrays.reduce(0, { $0 + $1.byteCount }) >= Self.maxBytes else { return }
        full.append(statement)
        arrays = empty
        count = 0
    }

    var statements: [PostgresStatement] { count == 0 ? full : full + [statement] }

    private var statement: PostgresStatement {
        var statement = PostgresStatement(sql: sql)
        for array in arrays { statement.parameters.append(array) }
        return statement
    }
}

extension HomeChanges {
    /// The statements that make the changes in the tables of a home.
    ///
    /// Complexity: linear in the number of bytes.
    ///
    /// - Parameter tables: the tables by their names.
    /// - Throws: `validation`, `schemaMismatch`, or `damagedStore` if the bytes are not a changeset.
    func statements(for tables: [UTF8Text: TableSQL]) throws -> [PostgresStatement] {
        var statements: [PostgresStatement] = []
        var current: TableChanges?
        try forEach { name, change in
            if current?.table.name.hasSameBytes(as: name) != true {
                statements += current?.statements ?? []
                guard let sql = tables[UTF8Text(name)] else {
                    throw StrataError(
                        .schemaMismatch,
                        "The store in PostgreSQL does not have the table \(name). All programs that share a store open "
                            + "the same models."
                    )
                }
                current = TableChanges(sql)
            }
            try current?.append(change)
        }
        return statements + (current?.statements ?? [])
    }
}
