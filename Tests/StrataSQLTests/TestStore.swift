import CStrataSQLite
import Foundation

@testable import Strata

/// A database in memory with the tables of the test models, which tests fill and query with SQL.
final class TestStore {
    let connection: OpaquePointer
    private var nextNumber: Int64 = 1

    init(models: [any Model.Type] = [Author.self, Article.self, Comment.self, Cover.self, Writer.self, Spouse.self])
        throws
    {
        var pointer: OpaquePointer?
        guard sqlite3_open(":memory:", &pointer) == SQLITE_OK, let pointer else {
            throw StrataError(.cannotOpen, "no database in memory")
        }
        connection = pointer
        try SQLFunctions.register(on: connection)
        for model in models {
            let schema = model._$schema
            let columns = schema.columns.map { column in
                "\"\(column.name)\" \(column.type.rawValue)" + (column.isOptional ? "" : " NOT NULL")
            }
            try run("CREATE TABLE \"\(schema.table)\" (id INTEGER PRIMARY KEY, \(columns.joined(separator: ", ")))")
        }
        try run("CREATE TABLE marriage (writer INTEGER, spouse INTEGER, place REAL, PRIMARY KEY (writer, spouse))")
        try run("CREATE INDEX IF NOT EXISTS article_title ON Article (title)", ignoringErrors: true)
    }

    deinit { sqlite3_close_v2(connection) }

    var sources: SQLSources {
        .tables(
            resolver: RelationshipResolver { model, name in
                switch (model.name, name) {
                case ("Author", "articles"): .foreignKey(column: "author")
                case ("Article", "comments"), ("Article", "cover"): .foreignKey(column: "article")
                case ("Sample", "children"): .foreignKey(column: "parent")
                case ("Writer", "spouses"):
                    .joinTable("marriage", ownColumn: "writer", otherColumn: "spouse", orderColumn: "place")
                case ("Spouse", "writers"): .joinTable("marriage", ownColumn: "spouse", otherColumn: "writer")
                default: throw StrataError(.invalidSchema, "\(model.name).\(name) has no inverse")
                }
            },
            identity: StoreIdentity(fingerprint: 7)
        )
    }

    func run(_ sql: String, ignoringErrors: Bool = false) throws {
        guard sqlite3_exec(connection, sql, nil, nil, nil) == SQLITE_OK || ignoringErrors else {
            throw StrataError(.database, String(cString: sqlite3_errmsg(connection)) + " in " + sql)
        }
    }

    /// Inserts a row; columns that are not named are NULL. `number` sets an id out of order.
    @discardableResult
    func insert<Object: Model>(
        _ type: Object.Type,
        _ values: [String: (any AttributeValue)?] = [:],
        number: Int64? = nil
    ) throws -> ObjectID<Object> {
        let number = number ?? nextNumber
        nextNumber = max(nextNumber, number) + 1
        let names = Array(values.keys)
        let places = (0...names.count).map { "?\($0 + 1)" }.joined(separator: ", ")
        let columns = (["id"] + names).map { "\"\($0)\"" }.joined(separator: ", ")
        let stored = try names.map { name in try (values[name] ?? nil).map { try $0.storedValue } ?? .null }
        _ = try rows(
            "INSERT INTO \"\(Object._$schema.table)\" (\(columns)) VALUES (\(places))",
            [.integer(number)] + stored
        ) { _ in }
        return ObjectID(rawValue: number, fingerprint: 7)
    }

    func rows<Result>(
        _ sql: String,
        _ bindings: [StoredValue],
        _ read: (RowReader) throws -> Result
    ) throws -> [Result] {
        var pointer: OpaquePointer?
        guard sqlite3_prepare_v2(connection, sql, -1, &pointer, nil) == SQLITE_OK, let statement = pointer else {
            throw StrataError(.database, String(cString: sqlite3_errmsg(connection)) + " in " + sql)
        }
        defer { sqlite3_finalize(statement) }
        guard sqlite3_bind_parameter_count(statement) == Int32(bindings.count) else {
            throw StrataError(.database, "\(bindings.count) values for \(sql)")
        }
        let binder = RowBinder(statement: statement, buffer: BindBuffer())
        for (index, value) in bindings.enumerated() { try binder.bind(stored: value, at: Int32(index + 1)) }
        var results: [Result] = []
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: results.append(try read(RowReader(statement: statement, fingerprint: 7)))
            case SQLITE_DONE: return results
            default: throw StrataError(.database, String(cString: sqlite3_errmsg(connection)) + " in " + sql)
            }
        }
    }

    func rows<Object: Model>(_ query: Query<Object>, _ shape: ResultShape = .objects) throws -> [Object.Row] {
        let compiled = try query.compile(shape, using: sources)
        let rows = try rows(compiled.sql, compiled.bindings) { try Object.Row(_$from: $0) }
        return compiled.isReversed ? rows.reversed() : rows
    }

    func numbers<Object: Model>(_ query: Query<Object>) throws -> [Int64] {
        let compiled = try query.compile(.ids, using: sources)
        return try rows(compiled.sql, compiled.bindings) { $0.read(ObjectID<Object>.self, at: 0).rawValue }
    }

    /// One column of the rows, as SQLite returns it.
    func values<Object: Model, Value: ColumnValue>(
        _ query: Query<Object>,
        _ column: (Object.Columns) -> Column<Object, Value>,
        _ shape: ResultShape? = nil
    ) throws -> [StoredValue] {
        let compiled = try query.compile(shape ?? .values(column(Object.columns).node), using: sources)
        return try rows(compiled.sql, compiled.bindings) { $0.value(at: 0) }
    }

    func texts<Object: Model, Value: TextColumnValue>(
        _ query: Query<Object>,
        _ column: (Object.Columns) -> Column<Object, Value>
    ) throws -> [String?] {
        try values(query, column).map { if case .text(let text) = $0 { text } else { nil } }
    }

    func aggregate<Object: Model, Value: ColumnValue>(
        _ aggregate: ResultShape.Aggregate,
        _ query: Query<Object>,
        _ column: (Object.Columns) -> Column<Object, Value>
    ) throws -> StoredValue {
        try values(query, column, .aggregate(aggregate, column(Object.columns).node))[0]
    }

    func integer<Object: Model>(_ query: Query<Object>, _ shape: ResultShape) throws -> Int64 {
        let compiled = try query.compile(shape, using: sources)
        return try rows(compiled.sql, compiled.bindings) { try $0.read(Int64.self, at: 0) }[0]
    }

    func count<Object: Model>(_ query: Query<Object>) throws -> Int64 { try integer(query, .count) }

    /// The SQL of a query and its rows, one row per line.
    func show<Object: Model>(_ query: Query<Object>) throws -> String where Object.Row: TestRow {
        let compiled = try query.compile(.objects, using: sources)
        let rows = try rows(query).map { row in
            ([.integer(row.id.rawValue)] + row.values).map(\.description).joined(separator: " | ")
        }
        return ([compiled.sql] + rows).joined(separator: "\n")
    }

    func plan<Object: Model>(_ query: Query<Object>) throws -> String {
        let compiled = try query.compile(.objects, using: sources)
        return try rows("EXPLAIN QUERY PLAN " + compiled.sql, compiled.bindings) { try $0.read(String.self, at: 3) }
            .joined(separator: "; ")
    }
}
