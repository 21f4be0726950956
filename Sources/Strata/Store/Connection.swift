import CStrataSQLite

/// A connection to SQLite for the hot paths: a pointer, with a cache of prepared statements.
///
/// Isolation: used by one thread at a time. A reader belongs to the context that borrowed it, the writer to the
/// transaction that runs.
final class Connection {
    let pointer: OpaquePointer
    /// The identity that the store records about itself.
    let identity: StoreIdentity
    /// The fingerprint of the identity, stored here because every row asks for it.
    let fingerprint: UInt16
    /// The number of migrations of the store when it was opened. If the store was migrated since, nothing is read or
    /// written.
    private(set) var migrations: Int64?
    /// The uncommitted changes that queries on this connection see on top of the store.
    let overlay = Overlay()
    /// The state that full-text searches need.
    let search = ConnectionSearch()
    private var statements: [UTF8Text: Statement] = [:]
    /// The statements that are known by an index instead of their text.
    private var frequent: [Statement?] = []
    private var hasFunctions = false
    /// Which entities statements read; nil if reads are not tracked.
    private(set) var readTables: ReadTables?
    /// Records the reads from now on; nil if reads are not recorded.
    var readRecord: ReadRecord?
    /// Gives ids that no working copy of the store has used. Nil if the store is one file.
    var homeIDs: HomeIDs?
    /// The trace that follows the statements; nil without tracing.
    private(set) var trace: StatementTrace?

    /// The number of statements that were requested. Each requested statement runs once.
    private(set) var statementCount = 0

    /// The number of bytes in the texts and blobs that were bound to statements. The reset of a statement adds them.
    ///
    /// Unchecked exclusivity is safe: one thread at a time uses the connection, and no access calls other code.
    @exclusivity(unchecked) fileprivate(set) var boundBytes = 0

    /// The maximum number of cached statements. At the limit, the cache releases all of them.
    static let statementLimit = 500

    init(_ pointer: OpaquePointer, _ identity: StoreIdentity) {
        self.pointer = pointer
        self.identity = identity
        fingerprint = identity.fingerprint
        migrations = identity.migrations
    }

    /// A connection to a database that is not a store yet, or not known to be one.
    init(_ pointer: OpaquePointer, fingerprint: UInt16) {
        self.pointer = pointer
        self.fingerprint = fingerprint
        identity = StoreIdentity(fingerprint: fingerprint)
    }

    /// Releases all statements. Must be called before the connection is closed.
    func finalize() {
        statements.removeAll()
        frequent.removeAll()
        search.removeAll()
        stopTracing()
    }

    /// Makes statements record which entities they read. Must be called before the first statement is prepared.
    func followReads(of entities: [any AnyEntity]) {
        let tables = ReadTables(entities)
        tables.register(on: pointer)
        readTables = tables
    }

    /// Traces every statement from now on.
    func startTracing(_ trace: StatementTrace) {
        stopTracing()
        trace.register(on: pointer)
        self.trace = trace
    }

    func stopTracing() {
        trace?.unregister(from: pointer)
        trace = nil
    }

    /// A prepared statement. It comes from the cache if it was used before and is not in use.
    func statement(_ sql: String) throws -> Statement { try statement(sql) { try Statement(sql, on: self) } }

    /// A prepared statement, from the cache if possible.
    ///
    /// - Parameter make: prepares the statement if the cache does not have one that is free.
    func statement(_ sql: String, _ make: () throws -> Statement) throws -> Statement {
        statementCount &+= 1
        let key = UTF8Text(sql)
        if let statement = statements[key], !statement.isBusy {
            readRecord?.note(statement)
            return statement
        }
        let statement = try make()
        if statements.count >= Self.statementLimit { statements.removeAll() }
        statements[key] = statement
        readRecord?.note(statement)
        return statement
    }

    /// The statement of a query.
    func statement(_ query: CompiledQuery) throws -> Statement {
        try query.isRaw ? rawStatement(query) : statement(query.sql)
    }

    /// A prepared statement that runs too often to be looked up by its text.
    func statement(_ known: FrequentStatement) throws -> Statement {
        guard let index = known.index else { return try statement(known.sql) }
        statementCount &+= 1
        while frequent.count <= index { frequent.append(nil) }
        if let statement = frequent[index], !statement.isBusy {
            readRecord?.note(statement)
            return statement
        }
        let statement = try Statement(known.sql, on: self)
        frequent[index] = statement
        readRecord?.note(statement)
        return statement
    }

    /// Runs a statement that returns no rows.
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

    /// The first row; empty if the query has no rows.
    func row(_ sql: String, _ values: [StoredValue] = []) throws -> [StoredValue] {
        let statement = try self.statement(sql)
        var result: [StoredValue] = []
        try statement.run(values) { row in
            if result.isEmpty { result = (0..<sqlite3_column_count(statement.pointer)).map(row.value) }
        }
        return result
    }

    /// The first column of all rows, as integers.
    func numbers(_ sql: String, _ values: [StoredValue] = []) throws -> [Int64] {
        var result: [Int64] = []
        try statement(sql).run(values) { result.append(try $0.read(Int64.self, at: 0)) }
        return result
    }

    /// Registers Strata's functions and collations on this connection, as on the connections of readers.
    func registerFunctions() throws {
        if hasFunctions { return }
        try SQLFunctions.register(on: pointer)
        hasFunctions = true
    }

    /// The path of the file; nil if the database has no file.
    var path: String? {
        sqlite3_db_filename(pointer, "main").map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Whether a transaction is open. SQLite ends a transaction itself if the disk is full, for example.
    var isInTransaction: Bool { sqlite3_get_autocommit(pointer) == 0 }

    var changes: Int { Int(sqlite3_changes(pointer)) }

    /// The number of rows that statements and their triggers have changed since the connection was opened, including
    /// changes that were rolled back.
    var totalChanges: Int64 { sqlite3_total_changes64(pointer) }

    /// The extended code that the last call left.
    var lastErrorCode: Int32 { sqlite3_extended_errcode(pointer) }

    /// The error that the last call left.
    func lastError(_ code: Int32) -> StrataError {
        // An overflow is the only SQLITE_ERROR that a query without mistakes can end in.
        if code == SQLITE_ERROR, String(cString: sqlite3_errmsg(pointer)) == "integer overflow" {
            return StrataError(.invalidQuery, "The sum does not fit into 64 bits. Ask for fewer objects.")
        }
        return StrataError(sqlite: code, connection: pointer)
    }
}

/// A statement that connections know by an index.
struct FrequentStatement {
    /// Nil for a statement that is looked up by its text.
    let index: Int?
    let sql: String

    static let beginReading = FrequentStatement(index: 0, sql: "BEGIN DEFERRED")
    static let beginWriting = FrequentStatement(index: 1, sql: "BEGIN IMMEDIATE")
    static let commit = FrequentStatement(index: 2, sql: "COMMIT")
    static let readSequence = FrequentStatement(index: 3, sql: HistorySQL.readSequence)
    static let insertHistory = FrequentStatement(index: 4, sql: HistorySQL.insert)
    static let moveHistory = FrequentStatement(index: 5, sql: HistorySQL.move)
    static let savepoint = FrequentStatement(index: 6, sql: "SAVEPOINT write")
    static let releaseSavepoint = FrequentStatement(index: 7, sql: "RELEASE write")
    static let rollbackToSavepoint = FrequentStatement(index: 8, sql: "ROLLBACK TO write")

    static func selectByID(_ info: EntityInfo) -> FrequentStatement {
        FrequentStatement(index: place(of: info, offset: 0), sql: info.sql.selectByID)
    }

    static func insert(_ info: EntityInfo) -> FrequentStatement {
        FrequentStatement(index: place(of: info, offset: 1), sql: info.sql.insert)
    }

    static func selectParameters(_ info: EntityInfo) -> FrequentStatement {
        FrequentStatement(index: place(of: info, offset: 2), sql: info.sql.selectParameters)
    }

    /// Nil for an entity of a store's record: an entity of the stack's own schema may have the same index.
    private static func place(of info: EntityInfo, offset: Int) -> Int? {
        info.isRecorded ? nil : 9 + 3 * info.index + offset
    }
}

/// A prepared statement. It is finalized when the last reference to it ends.
final class Statement {
    let pointer: OpaquePointer
    /// The entities that the statement reads; empty if its connection does not track reads.
    let entities: Set<Int>
    /// Holds the bound texts while the statement runs. Each statement has one, because a statement can run inside
    /// another.
    let buffer = BindBuffer()
    /// The statement does not outlive its connection, because the connection releases all of its statements first. The
    /// reference is unchecked, since every row uses it.
    private unowned(unsafe) let connection: Connection

    /// Whether a developer wrote the SQL. Then it was checked, and SQLite's message describes the developer's mistake.
    let isRaw: Bool

    init(_ sql: String, on connection: Connection, isRaw: Bool = false) throws {
        var pointer: OpaquePointer?
        // SQLite's own modules may have prepared statements on their tables meanwhile. Their reads are not reads of
        // this statement.
        _ = connection.readTables?.take()
        let code = sqlite3_prepare_v3(
            connection.pointer,
            sql,
            -1,
            UInt32(SQLITE_PREPARE_PERSISTENT),
            &pointer,
            nil
        )
        guard code == SQLITE_OK, let pointer else {
            throw isRaw ? connection.lastErrorOfRawSQL(code) : connection.lastError(code)
        }
        entities = connection.readTables?.take() ?? []
        self.pointer = pointer
        self.connection = connection
        self.isRaw = isRaw
    }

    deinit { sqlite3_finalize(pointer) }

    var isBusy: Bool { sqlite3_stmt_busy(pointer) != 0 }

    var binder: RowBinder { RowBinder(statement: pointer, buffer: buffer) }
    var reader: RowReader { RowReader(statement: pointer, fingerprint: connection.fingerprint) }

    /// Binds values, beginning at the first parameter.
    func bind(_ values: [StoredValue]) throws {
        let binder = self.binder
        for (index, value) in values.enumerated() { try binder.bind(stored: value, at: Int32(index + 1)) }
    }

    /// Binds values, and passes each row to `body`.
    func run(_ values: [StoredValue], _ body: (RowReader) throws -> Void) throws {
        defer { reset() }
        try bind(values)
        let reader = self.reader
        while try step() { try body(reader) }
    }

    /// Runs a statement that returns no rows, with the values already bound to it. Returns the number of changed rows.
    @discardableResult
    func runBound() throws -> Int {
        defer { reset() }
        while try step() {}
        return connection.changes
    }

    /// Runs the statement to its next row. Returns false at the end.
    func step() throws -> Bool {
        switch sqlite3_step(pointer) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw isRaw ? connection.lastErrorOfRawSQL(code) : connection.lastError(code)
        }
    }

    func reset() {
        sqlite3_reset(pointer)
        connection.boundBytes &+= buffer.reset()
    }
}
