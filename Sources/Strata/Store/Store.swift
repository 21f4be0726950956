import Foundation
import GRDB
import Synchronization

/// The SQLite file behind a stack: one writer, readers for those who ask, ids, and the layers that lie above.
///
/// Isolation: any.
final class Store: Sendable {
    let schema: Schema
    let configuration: StoreConfiguration
    let identity: StoreIdentity
    let layers: LayerStore
    let ids: IDSource
    private let pool: DatabasePool
    private let ownsPool: Bool
    private let readers: ReaderPool
    private let foreignCommits: ForeignCommits
    /// Used inside the pool's writer only, which runs one access at a time.
    private let writer: Exclusive<Connection>
    private let temporaryFolder: URL?
    private let isClosed = Mutex(false)

    init(_ location: StoreLocation, schema: Schema, configuration: StoreConfiguration) throws {
        self.schema = schema
        self.configuration = configuration
        var folder: URL?
        let url: URL?
        switch location.kind {
        case .pool: url = nil
        case .file(let file): url = file
        case .userData: url = try StoreFile.userDataURL()
        case .inMemory:
            folder = try StoreFile.temporaryFolder()
            url = folder?.appendingPathComponent("store.sqlite")
        }
        temporaryFolder = folder
        do {
            if case .pool(let handed) = location.kind {
                pool = handed
                ownsPool = false
            } else {
                // Set for all other kinds.
                pool = try Self.openPool(url!, configuration, schema, isTemporary: folder != nil)
                ownsPool = true
            }
            let prepared = try pool.writeWithoutTransaction { db in
                try Self.prepare(db, schema: schema)
            }
            identity = prepared.identity
            writer = prepared.writer
            layers = LayerStore(sequence: prepared.sequence)
            readers = ReaderPool(
                path: pool.path,
                configuration: pool.configuration,
                identity: identity,
                entities: schema.entities
            )
            foreignCommits = ForeignCommits(readers: readers)
            ids = IDSource(fingerprint: identity.fingerprint)
        } catch {
            if let folder { try? FileManager.default.removeItem(at: folder) }
            throw StrataError(grdb: error)
        }
        try ids.start { [unowned self] count in try self.reserveIDs(count) }
    }

    deinit { try? close() }

    private static func openPool(
        _ url: URL,
        _ configuration: StoreConfiguration,
        _ schema: Schema,
        isTemporary: Bool
    ) throws -> DatabasePool {
        try StoreFile.inspect(url)
        var settings = Configuration()
        settings.label = "strata"
        settings.foreignKeysEnabled = false
        settings.busyMode = .timeout(configuration.busyTimeout)
        settings.allowsUnsafeTransactions = true
        settings.prepareDatabase { db in
            try db.execute(sql: "PRAGMA cache_size = -64000")
        }
        let pool = try whileBusy(for: configuration.busyTimeout) {
            try prepareFile(url, settings, schema)
            return try DatabasePool(path: url.path, configuration: settings)
        }
        let synchronous = isTemporary ? "OFF" : configuration.synchronous.rawValue
        try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = \(synchronous)") }
        return pool
    }

    /// Tries again while others open the file too: the change of a new file's journal does not wait by itself.
    private static func whileBusy<Value>(for seconds: TimeInterval, _ body: () throws -> Value) throws -> Value {
        let end = ContinuousClock.now + .seconds(seconds)
        while true {
            do {
                return try body()
            } catch {
                guard StrataError(grdb: error).code == .busy, ContinuousClock.now < end else { throw error }
                usleep(2000)
            }
        }
    }

    /// Makes the tables of a new file, and refuses one that is not as it should be. A pool would write into the file as
    /// soon as it is opened, so that happens on another connection, which leaves what it refuses as it was.
    private static func prepareFile(_ url: URL, _ settings: Configuration, _ schema: Schema) throws {
        let isNew = (try? FileManager.default.attributesOfItem(atPath: url.path)[.size] as? Int) ?? 0 == 0
        let queue = try DatabaseQueue(path: url.path, configuration: settings)
        try queue.inDatabase { db in
            if isNew {
                // The mark is written before the journal is WAL, so that it is in the file itself from the start.
                try db.execute(sql: "PRAGMA application_id = \(StoreFile.applicationID)")
                try db.execute(sql: "PRAGMA user_version = \(StoreFile.formatVersion)")
            }
            _ = try prepareTables(db, schema: schema)
        }
        try queue.close()
    }

    private static func prepareTables(
        _ db: Database,
        schema: Schema
    ) throws -> (identity: StoreIdentity, sequence: Int64) {
        guard let pointer = db.sqliteConnection else {
            throw StrataError(.closed, "The pool that was handed in is closed.")
        }
        let connection = Connection(pointer, fingerprint: 0)
        defer { connection.finalize() }
        var identity = StoreIdentity(fingerprint: 0)
        var sequence: Int64 = 0
        try db.inTransaction(.immediate) {
            try StoreSchema.prepare(schema.entities, on: connection)
            identity = try StoreIdentity.read(on: connection)
            sequence = try connection.sequence()
            return .commit
        }
        return (identity, sequence)
    }

    private static func prepare(
        _ db: Database,
        schema: Schema
    ) throws -> (identity: StoreIdentity, writer: Exclusive<Connection>, sequence: Int64) {
        let (identity, sequence) = try prepareTables(db, schema: schema)
        guard let pointer = db.sqliteConnection else { throw closedError }
        let writer = Connection(pointer, fingerprint: identity.fingerprint)
        try writer.overlay.register(schema.entities, on: pointer)
        try SQLFunctions.register(on: pointer)
        return (identity, Exclusive(writer), sequence)
    }

    /// The file.
    var url: URL { URL(fileURLWithPath: pool.path) }

    // MARK: Reading

    /// A reader of one's own, until it is given back.
    func borrowReader() throws -> Reader {
        try checkOpen()
        do { return try readers.borrow() } catch { throw StrataError(grdb: error) }
    }

    /// Whether others have committed what the layers do not know of yet. Of a temporary store nobody else knows.
    func hasForeignCommits() throws -> Bool {
        guard temporaryFolder == nil else { return false }
        try checkOpen()
        do {
            let newest = try foreignCommits.newestSequence()
            return layers.state.withLock { newest > $0.sequence }
        } catch {
            throw StrataError(grdb: error)
        }
    }

    func giveBack(_ reader: Reader) { readers.giveBack(reader) }

    // MARK: Writing

    /// Runs one transaction. The writer waits for the one before it, in the order of calls.
    ///
    /// - Parameters:
    ///   - body: what to write. It gives the tables that it has touched.
    ///   - beforeCommit: the last thing before COMMIT.
    ///   - afterCommit: told whether it is in the store, before the next transaction begins.
    func write(
        _ body: (Connection) throws -> [String],
        beforeCommit: () -> Void = {},
        afterCommit: (_ isCommitted: Bool) -> Void = { _ in }
    ) throws {
        try checkOpen()
        do {
            try pool.writeWithoutTransaction { db in
                var isCommitted = false
                defer { afterCommit(isCommitted) }
                try writer.use { connection in
                    if ownsPool {
                        try Self.transact(connection, body, beforeCommit)
                    } else {
                        try db.inTransaction(.immediate) {
                            for table in try body(connection) { try db.notifyChanges(in: Table(table)) }
                            beforeCommit()
                            return .commit
                        }
                    }
                    isCommitted = true
                }
            }
        } catch {
            throw StrataError(grdb: error)
        }
    }

    /// A transaction by statements of our own. Nobody else has this pool, so no observer misses it; it costs a third of
    /// a commit of one row less than GRDB's.
    private static func transact(
        _ connection: Connection,
        _ body: (Connection) throws -> [String],
        _ beforeCommit: () -> Void
    ) throws {
        try connection.execute("BEGIN IMMEDIATE")
        do {
            _ = try body(connection)
            beforeCommit()
            try connection.execute("COMMIT")
        } catch {
            // Some errors, a full disk for one, have rolled back already; then this one fails, and that is no matter.
            try? connection.execute("ROLLBACK")
            throw error
        }
    }

    private func reserveIDs(_ count: Int64) throws -> Int64 {
        var first: Int64 = 0
        try write { connection in
            first = try connection.integer(SchemaSQL.readNextID) ?? 0
            guard IDSource.isRange(from: first) else { throw StoreIdentity.damaged }
            try connection.execute(SchemaSQL.reserveIDs, [.integer(count)])
            return []
        }
        return first
    }

    // MARK: Closing

    func checkOpen() throws {
        if isClosed.withLock({ $0 }) { throw Self.closedError }
    }

    static var closedError: StrataError { StrataError(.closed, "The stack is closed. Open another one.") }

    /// Closes all connections. Safe to call twice.
    func close() throws {
        let wasClosed = isClosed.withLock { closed in
            defer { closed = true }
            return closed
        }
        guard !wasClosed else { return }
        ids.stop()
        foreignCommits.close()
        readers.close()
        do {
            pool.writeWithoutTransaction { _ in writer.use { $0.finalize() } }
            if ownsPool { try pool.close() }
        } catch {
            throw StrataError(grdb: error)
        }
        if let temporaryFolder { try? FileManager.default.removeItem(at: temporaryFolder) }
    }
}

/// A value that is reachable from everywhere and used by one at a time, as something else ensures.
struct Exclusive<Value>: @unchecked Sendable {
    // The owner states what ensures it: `Store.writer` is used inside of the pool's writer, which is a serial queue.
    private let value: Value

    init(_ value: Value) { self.value = value }

    func use<Result>(_ body: (Value) throws -> Result) rethrows -> Result { try body(value) }
}
