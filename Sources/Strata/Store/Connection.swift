import CStrataSQLite

/// A connection to SQLite as the hot paths use it: by pointer, with a cache of prepared statements.
///
/// Isolation: used by one thread at a time. A reader belongs to the context that borrowed it, the writer to the
/// transaction that runs.
final class Connection {
    let pointer: OpaquePointer
    let fingerprint: UInt16
    /// How often the store had been migrated when it was opened. Where it was since, nothing is read or written.
    private(set) var migrations: Int64?
    /// What queries on this connection see on top of the store.
    let overlay = Overlay()
    private var statements: [String: Statement] = [:]
    /// Those that are known by a number of their own.
    private var frequent: [Statement?] = []

    /// How many statements are kept; beyond that all are let go.
    static let statementLimit = 500

    init(_ pointer: OpaquePointer, fingerprint: UInt16) {
        self.pointer = pointer
        self.fingerprint = fingerprint
    }

    convenience init(_ pointer: OpaquePointer, _ identity: StoreIdentity) {
        self.init(pointer, fingerprint: identity.fingerprint)
        migrations = identity.migrations
    }

    /// Lets go of all statements. Must come before the connection is closed.
    func finalize() {
        statements.removeAll()
        frequent.removeAll()
    }

    /// A prepared statement, from the cache where it has been used before and is not in use.
    func statement(_ sql: String) throws -> Statement {
        if let statement = statements[sql], !statement.isBusy { return statement }
        let statement = try Statement(sql, on: self)
        if statements.count >= Self.statementLimit { statements.removeAll() }
        statements[sql] = statement
        return statement
    }

    /// The same for a statement that runs too often to be looked up by its text.
    func statement(_ known: FrequentStatement) throws -> Statement {
        while frequent.count <= known.index { frequent.append(nil) }
        if let statement = frequent[known.index], !statement.isBusy { return statement }
        let statement = try Statement(known.sql, on: self)
        frequent[known.index] = statement
        return statement
    }

    /// Runs a statement that gives no rows.
    func execute(_ sql: String, _ values: [StoredValue] = []) throws {
        let statement = try self.statement(sql)
        try statement.run(values) { _ in }
    }

    /// The first column of the first row.
    func value(_ sql: String, _ values: [StoredValue] = []) throws -> StoredValue? {
        var result: StoredValue?
        try statement(sql).run(values) { row in
            if result == nil { result = row.value(at: 0) }
        }
        return result
    }

    func integer(_ sql: String, _ values: [StoredValue] = []) throws -> Int64? {
        guard case .integer(let number) = try value(sql, values) else { return nil }
        return number
    }

    /// The file; nil where there is none.
    var path: String? {
        sqlite3_db_filename(pointer, "main").map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    var changes: Int { Int(sqlite3_changes(pointer)) }

    /// The error that the last call left.
    func lastError(_ code: Int32) -> StrataError { StrataError(sqlite: code, connection: pointer) }
}

/// A statement that connections know by a number.
struct FrequentStatement {
    let index: Int
    let sql: String

    static let beginReading = FrequentStatement(index: 0, sql: "BEGIN DEFERRED")
    static let beginWriting = FrequentStatement(index: 1, sql: "BEGIN IMMEDIATE")
    static let commit = FrequentStatement(index: 2, sql: "COMMIT")
    static let readSequence = FrequentStatement(index: 3, sql: SchemaSQL.readSequence)
    static let setSequence = FrequentStatement(index: 4, sql: SchemaSQL.setSequence)

    static func selectByID(_ info: EntityInfo) -> FrequentStatement {
        FrequentStatement(index: 5 + 2 * info.index, sql: info.sql.selectByID)
    }

    static func insert(_ info: EntityInfo) -> FrequentStatement {
        FrequentStatement(index: 6 + 2 * info.index, sql: info.sql.insert)
    }
}

/// A prepared statement. Finalized when it is let go.
final class Statement {
    let pointer: OpaquePointer
    /// Holds the bound texts while the statement runs; statements may run within each other.
    let buffer = BindBuffer()
    /// The statement does not outlive its connection: the connection lets go of all of its statements first. Not checked,
    /// since this is asked for every row.
    private unowned(unsafe) let connection: Connection

    init(_ sql: String, on connection: Connection) throws {
        var pointer: OpaquePointer?
        let code = sqlite3_prepare_v3(
            connection.pointer,
            sql,
            -1,
            UInt32(SQLITE_PREPARE_PERSISTENT),
            &pointer,
            nil
        )
        guard code == SQLITE_OK, let pointer else { throw connection.lastError(code) }
        self.pointer = pointer
        self.connection = connection
    }

    deinit { sqlite3_finalize(pointer) }

    var isBusy: Bool { sqlite3_stmt_busy(pointer) != 0 }

    var binder: RowBinder { RowBinder(statement: pointer, buffer: buffer) }
    var reader: RowReader { RowReader(statement: pointer, fingerprint: connection.fingerprint) }

    /// Binds values, and gives each row to `body`.
    func run(_ values: [StoredValue], _ body: (RowReader) throws -> Void) throws {
        let binder = self.binder
        for (index, value) in values.enumerated() { try binder.bind(stored: value, at: Int32(index + 1)) }
        defer { reset() }
        let reader = self.reader
        while try step() { try body(reader) }
    }

    /// Runs a statement that gives no rows, with the values that are bound to it. Gives the number of changed rows.
    @discardableResult
    func runBound() throws -> Int {
        defer { reset() }
        while try step() {}
        return connection.changes
    }

    /// Whether there is a row.
    func step() throws -> Bool {
        switch sqlite3_step(pointer) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw connection.lastError(code)
        }
    }

    func reset() {
        sqlite3_reset(pointer)
        buffer.reset()
    }
}
