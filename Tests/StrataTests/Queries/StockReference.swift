import CStrataSQLite

@testable import Strata

/// A plain database with the rows that a context must show, which are those that a flush would write.
final class StockReference {
    private let pointer: OpaquePointer
    private let connection: Connection
    private let sources: SQLSources

    init(_ view: StockStateModel.View, schema: Schema, fingerprint: UInt16) throws {
        var opened: OpaquePointer?
        guard sqlite3_open(":memory:", &opened) == SQLITE_OK, let opened else {
            throw StrataError(.cannotOpen, "no database in memory")
        }
        pointer = opened
        connection = Connection(opened, fingerprint: fingerprint)
        sources = .tables(resolver: schema.resolver, identity: connection.identity)
        try SQLFunctions.register(on: opened)
        try connection.execute("PRAGMA journal_mode = OFF")
        try connection.execute("BEGIN")
        for model in stockModels {
            let columns = model._$schema.columns.map { "\"\($0.name)\" \($0.type.rawValue)" }
            try connection.execute(
                "CREATE TABLE \(model._$schema.table) (id INTEGER PRIMARY KEY, \(columns.joined(separator: ", ")))"
            )
        }
        for join in StockStateModel.Join.allCases {
            try connection.execute(
                "CREATE TABLE \(join.table) (\"left\", \"right\", left_place REAL, right_place REAL)"
            )
        }
        for (number, row) in view.rows {
            let places = repeatElement("?", count: row.values.count + 1).joined(separator: ", ")
            try connection.execute(
                "INSERT INTO \(stockModels[row.entity]._$schema.table) VALUES (\(places))",
                [.integer(number)] + row.values
            )
        }
        for (pair, places) in view.pairs {
            try connection.execute(
                "INSERT INTO \(pair.join.table) VALUES (?, ?, ?, ?)",
                [.integer(pair.left), .integer(pair.right), .real(places.left), .real(places.right)]
            )
        }
        try connection.execute("COMMIT")
    }

    deinit {
        connection.finalize()
        sqlite3_close_v2(pointer)
    }

    /// All columns of the answer, in the query's order.
    func answer<Object: Model>(_ query: Query<Object>, _ shape: ResultShape) throws -> [[StoredValue]] {
        try answer(try query.compile(shape, using: sources))
    }

    /// The keys of groups, followed by their values.
    func answer<Object: Model, Key, KeyColumns>(
        _ query: GroupedQuery<Object, Key, KeyColumns>,
        _ values: [ExpressionNode]
    ) throws -> [[StoredValue]] {
        try answer(try query.parts.compile(values, model: Object._$schema, using: sources))
    }

    private func answer(_ compiled: CompiledQuery) throws -> [[StoredValue]] {
        var rows: [[StoredValue]] = []
        let statement = try connection.statement(compiled.sql)
        let width = sqlite3_column_count(statement.pointer)
        try statement.run(compiled.bindings) { reader in
            rows.append((0..<width).map { reader.value(at: $0) })
        }
        return compiled.isReversed ? rows.reversed() : rows
    }

    func value<Object: Model>(_ query: Query<Object>, _ shape: ResultShape) throws -> StoredValue {
        try answer(query, shape)[0][0]
    }

    /// The SQL statement of a query, for the report of a failure.
    func text<Object: Model>(_ query: Query<Object>, _ shape: ResultShape) -> String {
        guard let compiled = try? query.compile(shape, using: sources) else { return "no SQL" }
        return "\(compiled.sql)\n[\(compiled.bindings.map(\.shown).joined(separator: ", "))]"
    }
}
