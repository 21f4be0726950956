import CStrataSQLite

/// A connection to SQLite as the hot paths use it: by pointer, with a cache of prepared statements.
///
/// Isolation: used by one thread at a time. A reader belongs to the context that borrowed it, the writer to the
/// transaction that runs.
final class Connection {
    let pointer: OpaquePointer
    /// What the store says of itself.
    let identity: StoreIdentity
    /// That of the identity, which is asked for at every row.
    let fingerprint: UInt16
    /// How often the store had been migrated when it was opened. Where it was since, nothing is read or written.
    private(set) var migrations: Int64?
    /// What queries on this connection see on top of the store.
    let overlay = Overlay()
    /// What searches need.
    let search = ConnectionSearch()
    private var statements: [UTF8Text: Statement] = [:]
    /// Those that are known by a number of their own.
    private var frequent: [Statement?] = []
    private var hasFunctions = false
    /// Which entities statements read; nil where nobody asks.
    private(set) var readTables: ReadTables?
    /// What is read from now on; nil where nobody asks.
    var readRecord: ReadRecord?
    /// Who follows the statements; nil for nobody.
    private(set) var trace: StatementTrace?

    /// Counts the statements that were asked for, each of which is run once.
    private(set) var statementCount = 0

    /// How many statements are kept; beyond that all are let go.
    static let statementLimit = 500

    init(_ pointer: OpaquePointer, _ identity: StoreIdentity) {
        self.pointer = pointer
        self.identity = identity
        fingerprint = identity.fingerprint
        migrations = identity.migrations
    }

    /// A connection to what is no store yet, or not known to be one.
    init(_ pointer: OpaquePointer, fingerprint: UInt16) {
        self.pointer = pointer
        self.fingerprint = fingerprint
        identity = StoreIdentity(fingerprint: fingerprint)
    }

    /// Lets go of all statements. Must come before the connection is closed.
    func finalize() {
        statements.removeAll()
        frequent.removeAll()
        search.removeAll()
        stopTracing()
    }

    /// Has statements know which entities they read. Comes before the first of them.
    func followReads(of entities: [any AnyEntity]) {
        let tables = ReadTables(entities)
        tables.register(on: pointer)
        readTables = tables
    }

    /// Has every statement followed from now on.
    func startTracing(_ trace: StatementTrace) {
        stopTracing()
        trace.register(on: pointer)
        self.trace = trace
    }

    func stopTracing() {
        trace?.unregister(from: pointer)
        trace = nil
    }

    /// A prepared statement, from the cache where it has been used before and is not in use.
    func statement(_ sql: String) throws -> Statement { try statement(sql) { try Statement(sql, on: self) } }

    /// - Parameter make: prepares the statement where there is none at hand.
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

    /// The same for a statement that runs too often to be looked up by its text.
    func statement(_ known: FrequentStatement) throws -> Statement {
        statementCount &+= 1
        while frequent.count <= known.index { frequent.append(nil) }
        if let statement = frequent[known.index], !statement.isBusy {
            readRecord?.note(statement)
            return statement
        }
        let statement = try Statement(known.sql, on: self)
        frequent[known.index] = statement
        readRecord?.note(statement)
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

    /// The first row; empty where there is none.
    func row(_ sql: String, _ values: [StoredValue] = []) throws -> [StoredValue] {
        let statement = try self.statement(sql)
        var result: [StoredValue] = []
        try statement.run(values) { row in
            if result.isEmpty { result = (0..<sqlite3_column_count(statement.pointer)).map(row.value) }
        }
        return result
    }

    /// The first column of all rows, as numbers.
    func numbers(_ sql: String, _ values: [StoredValue] = []) throws -> [Int64] {
        var result: [Int64] = []
        try statement(sql).run(values) { result.append(try $0.read(Int64.self, at: 0)) }
        return result
    }

    /// Lets statements use Strata's functions and collations, as those of readers do.
    func registerFunctions() throws {
        if hasFunctions { return }
        try SQLFunctions.register(on: pointer)
        hasFunctions = true
    }

    /// The file; nil where there is none.
    var path: String? {
        sqlite3_db_filename(pointer, "main").map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Whether a transaction is open. A full disk ends one.
    var isInTransaction: Bool { sqlite3_get_autocommit(pointer) == 0 }

    var changes: Int { Int(sqlite3_changes(pointer)) }

    /// The error that the last call left.
    func lastError(_ code: Int32) -> StrataError {
        // The only error of its kind that a query without mistakes may end in.
        if code == SQLITE_ERROR, String(cString: sqlite3_errmsg(pointer)) == "integer overflow" {
            return StrataError(.invalidQuery, "The sum does not fit into 64 bits. Ask for fewer objects.")
        }
        return StrataError(sqlite: code, connection: pointer)
    }
}

/// A statement that connections know by a number.
struct FrequentStatement {
    let index: Int
    let sql: String

    static let beginReading = FrequentStatement(index: 0, sql: "BEGIN DEFERRED")
    static let beginWriting = FrequentStatement(index: 1, sql: "BEGIN IMMEDIATE")
    static let commit = FrequentStatement(index: 2, sql: "COMMIT")
    static let readSequence = FrequentStatement(index: 3, sql: HistorySQL.readSequence)
    static let insertHistory = FrequentStatement(index: 4, sql: HistorySQL.insert)
    static let moveHistory = FrequentStatement(index: 5, sql: HistorySQL.move)

    static func selectByID(_ info: EntityInfo) -> FrequentStatement {
        FrequentStatement(index: 6 + 2 * info.index, sql: info.sql.selectByID)
    }

    static func insert(_ info: EntityInfo) -> FrequentStatement {
        FrequentStatement(index: 7 + 2 * info.index, sql: info.sql.insert)
    }
}

/// A prepared statement. Finalized when it is let go.
final class Statement {
    let pointer: OpaquePointer
    /// The entities that it reads, where its connection follows that.
    let entities: Set<Int>
    /// Holds the bound texts while the statement runs; statements may run within each other.
    let buffer = BindBuffer()
    /// The statement does not outlive its connection: the connection lets go of all of its statements first. Not checked,
    /// since this is asked for every row.
    private unowned(unsafe) let connection: Connection

    /// Whether a person wrote it, so that SQLite may have something to say about it.
    private let isRaw: Bool

    init(_ sql: String, on connection: Connection, isRaw: Bool = false) throws {
        var pointer: OpaquePointer?
        // What tables of SQLite's own modules have prepared meanwhile is none of this one's.
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

    /// Binds values from the first parameter on.
    func bind(_ values: [StoredValue]) throws {
        let binder = self.binder
        for (index, value) in values.enumerated() { try binder.bind(stored: value, at: Int32(index + 1)) }
    }

    /// Binds values, and gives each row to `body`.
    func run(_ values: [StoredValue], _ body: (RowReader) throws -> Void) throws {
        defer { reset() }
        try bind(values)
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
        case let code: throw isRaw ? connection.lastErrorOfRawSQL(code) : connection.lastError(code)
        }
    }

    func reset() {
        sqlite3_reset(pointer)
        buffer.reset()
    }
}
