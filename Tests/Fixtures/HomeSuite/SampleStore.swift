import CStrataSQLite
import Foundation
public import Strata

/// A small SQLite database in memory, whose changes become changesets.
public final class SampleStore {
    /// One column for each type, a table with unusual names, and one with a column of unsigned integers.
    public static let description = HomeDescription(
        format: 1,
        version: 1,
        schema: "the schema of the sample",
        steps: ["first", "second"],
        tables: [
            HomeTable(
                name: "Item",
                columns: [
                    HomeTable.Column(name: "id", type: .integer, isOptional: false), optional("number", .integer),
                    optional("size", .real), optional("name", .text), optional("content", .blob),
                ]
            ),
            HomeTable(
                name: unusualName,
                columns: [HomeTable.Column(name: "id", type: .integer, isOptional: false)]
                    + unusualColumns.map { optional($0, .text) }
            ),
            HomeTable(
                name: "Counter",
                columns: [
                    HomeTable.Column(name: "id", type: .integer, isOptional: false),
                    HomeTable.Column(name: "total", type: .integer, isOptional: true, isUnsigned: true),
                ]
            ),
        ]
    )

    static let unusualName = "Größe ‘\"a\"; --' \\ %s"
    /// Words of SQL, letters outside of ASCII, quotes, and long names with the same beginning.
    static let unusualColumns = [
        "group", "select", "Straße", "日本", "a \"quoted\" name", "it's", "\\n", "$1",
        String(repeating: "long", count: 30) + "1", String(repeating: "long", count: 30) + "2",
    ]

    private static func optional(_ name: String, _ type: ColumnType) -> HomeTable.Column {
        HomeTable.Column(name: name, type: type, isOptional: true)
    }

    private let connection: OpaquePointer
    private let tables: [HomeTable]

    /// Creates the tables, without rows.
    ///
    /// - Parameter tables: the tables; by default, those of ``description``.
    public init(_ tables: [HomeTable] = SampleStore.description.tables) throws {
        self.tables = tables
        var pointer: OpaquePointer?
        let code = sqlite3_open(":memory:", &pointer)
        guard code == SQLITE_OK, let pointer else { throw HomeFailure(description: "SQLite reports \(code).") }
        connection = pointer
        for table in tables {
            let columns = table.columns.enumerated().map { index, column in
                "\(Self.quoted(column.name)) \(column.type.rawValue)" + (index == 0 ? " PRIMARY KEY" : "")
            }
            try execute("CREATE TABLE \(Self.quoted(table.name)) (\(columns.joined(separator: ", ")))")
        }
    }

    deinit { sqlite3_close_v2(connection) }

    /// Runs a body in a transaction, and returns the changes that it has made.
    public func changes(_ body: () throws -> Void) throws -> HomeChanges {
        var session: OpaquePointer?
        try check(sqlite3session_create(connection, "main", &session))
        defer { sqlite3session_delete(session) }
        try check(sqlite3session_attach(session, nil))
        try execute("BEGIN")
        try body()
        var (count, bytes): (Int32, UnsafeMutableRawPointer?) = (0, nil)
        try check(sqlite3session_changeset(session, &count, &bytes))
        defer { sqlite3_free(bytes) }
        try execute("COMMIT")
        return HomeChanges(bytes: bytes.map { Data(bytes: $0, count: Int(count)) } ?? Data())
    }

    /// Inserts a row.
    public func insert(_ values: [StoredValue], into table: String = "Item") throws {
        let marks = values.map { _ in "?" }.joined(separator: ", ")
        try execute("INSERT INTO \(Self.quoted(table)) VALUES (\(marks))", values)
    }

    /// Changes columns of a row.
    public func update(_ id: Int64, _ values: [(column: String, value: StoredValue)], in table: String = "Item") throws
    {
        let list = values.map { "\(Self.quoted($0.column)) = ?" }.joined(separator: ", ")
        try execute("UPDATE \(Self.quoted(table)) SET \(list) WHERE id = ?", values.map(\.value) + [.integer(id)])
    }

    /// Deletes a row.
    public func delete(_ id: Int64, from table: String = "Item") throws {
        try execute("DELETE FROM \(Self.quoted(table)) WHERE id = ?", [.integer(id)])
    }

    /// All rows.
    func rows() throws -> SampleRows {
        var rows = SampleRows()
        for table in tables {
            try execute("SELECT * FROM \(Self.quoted(table.name))") { try rows.add($0, to: table.name) }
        }
        return rows
    }

    /// Changes that insert one row with this id.
    public static func insertion(_ id: Int64) throws -> HomeChanges {
        let store = try SampleStore()
        return try store.changes { try store.insert([.integer(id), .integer(-id), .null, .null, .null]) }
    }
}

extension SampleStore {
    private func execute(
        _ sql: String,
        _ values: [StoredValue] = [],
        _ receive: ([StoredValue]) throws -> Void = { _ in }
    ) throws {
        var statement: OpaquePointer?
        try check(sqlite3_prepare_v2(connection, sql, -1, &statement, nil))
        defer { sqlite3_finalize(statement) }
        for (index, value) in values.enumerated() { try bind(value, at: Int32(index + 1), of: statement) }
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW:
                try receive((0..<sqlite3_column_count(statement)).map { Self.value(at: $0, of: statement) })
            case SQLITE_DONE: return
            case let code: return try check(code)
            }
        }
    }

    private func bind(_ value: StoredValue, at index: Int32, of statement: OpaquePointer?) throws {
        // `SQLITE_TRANSIENT`, which is a macro with a cast that Swift does not import.
        let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        switch value {
        case .null: try check(sqlite3_bind_null(statement, index))
        case .integer(let value): try check(sqlite3_bind_int64(statement, index, value))
        case .real(let value): try check(sqlite3_bind_double(statement, index, value))
        case .text(let value): try check(sqlite3_bind_text(statement, index, value, -1, copied))
        case .blob(let value) where value.isEmpty: try check(sqlite3_bind_zeroblob(statement, index, 0))
        case .blob(let value):
            try value.withUnsafeBytes { bytes in
                try check(sqlite3_bind_blob(statement, index, bytes.baseAddress, Int32(bytes.count), copied))
            }
        }
    }

    private static func value(at column: Int32, of statement: OpaquePointer?) -> StoredValue {
        switch sqlite3_column_type(statement, column) {
        case SQLITE_INTEGER: return .integer(sqlite3_column_int64(statement, column))
        case SQLITE_FLOAT: return .real(sqlite3_column_double(statement, column))
        case SQLITE_TEXT: return .text(String(decoding: bytes(at: column, of: statement), as: UTF8.self))
        case SQLITE_BLOB: return .blob(bytes(at: column, of: statement))
        default: return .null
        }
    }

    /// The bytes of a text or blob.
    private static func bytes(at column: Int32, of statement: OpaquePointer?) -> Data {
        guard let start = sqlite3_column_blob(statement, column) else { return Data() }
        return Data(bytes: start, count: Int(sqlite3_column_bytes(statement, column)))
    }

    private func check(_ code: Int32) throws {
        if code != SQLITE_OK {
            throw HomeFailure(description: "SQLite reports \(String(cString: sqlite3_errmsg(connection)))")
        }
    }

    private static func quoted(_ name: String) -> String {
        "\"" + name.replacingOccurrences(of: "\"", with: "\"\"") + "\""
    }
}
