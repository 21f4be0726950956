import Foundation
import GRDB
import Synchronization

/// The SQLite file behind a stack: one writer, readers for those who ask, ids, and the layers that lie above.
///
/// Isolation: any.
final class Store: Sendable {
    let schema: Schema
    let identity: StoreIdentity
    let layers: LayerStore
    let ids: IDSource
    let retention: HistoryRetention
    private let writer: StoreWriter
    private let readers: ReaderPool
    private let foreignCommits: ForeignCommits
    private let fileWatch = FileWatch()
    private let temporaryFolder: URL?
    private let isClosed = Mutex(false)

    init(_ location: StoreLocation, schema: Schema, configuration: StoreConfiguration) throws {
        self.schema = schema
        retention = configuration.history
        var folder: URL?
        if case .inMemory = location.kind { folder = try StoreFile.temporaryFolder() }
        temporaryFolder = folder
        do {
            let opened: Opened
            switch location.kind {
            case .pool(let pool):
                opened = try pool.writeWithoutTransaction { try Self.prepare($0, pool, isOwned: false, schema) }
            case .file(let file): opened = try Self.open(file, configuration, schema)
            case .userData: opened = try Self.open(try StoreFile.userDataURL(), configuration, schema)
            case .inMemory:
                // Set for this kind. Nothing of it outlives the process, so nothing has to reach a disk.
                opened = try Self.open(folder!.appendingPathComponent("store.sqlite"), configuration, schema, "OFF")
            }
            writer = opened.writer
            identity = opened.identity
            layers = LayerStore(sequence: opened.sequence)
            readers = ReaderPool(
                path: writer.path,
                configuration: writer.configuration,
                identity: identity,
                entities: schema.entities
            )
            foreignCommits = ForeignCommits(readers: readers)
            ids = IDSource(fingerprint: identity.fingerprint)
        } catch {
            if let folder { try? FileManager.default.removeItem(at: folder) }
            throw StrataError(grdb: error)
        }
        ids.start { [writer] count in try Self.reserveIDs(count, writer) }
    }

    deinit { try? close() }

    // MARK: Opening

    private struct Opened {
        let writer: StoreWriter
        let identity: StoreIdentity
        let sequence: Int64
    }

    /// Opens a file of our own, or makes it. What is refused stays as it was: nothing is written before it is known to
    /// be a store of these models.
    private static func open(
        _ url: URL,
        _ configuration: StoreConfiguration,
        _ schema: Schema,
        _ synchronous: String? = nil
    ) throws -> Opened {
        var settings = Configuration()
        settings.label = "strata"
        settings.foreignKeysEnabled = false
        settings.busyMode = busyMode(for: configuration.busyTimeout)
        settings.allowsUnsafeTransactions = true
        settings.prepareDatabase { db in
            try db.execute(sql: "PRAGMA cache_size = -64000")
        }
        return try whileBusy(for: configuration.busyTimeout) {
            let isNew = try StoreFile.inspect(url)
            let queue = try DatabaseQueue(path: url.path, configuration: settings)
            return try queue.inDatabase { db in
                if isNew {
                    // The mark is written before the journal is WAL, so that it is in the file itself from the start.
                    try db.execute(sql: "PRAGMA application_id = \(StoreFile.applicationID)")
                    try db.execute(sql: "PRAGMA user_version = \(StoreFile.formatVersion)")
                }
                return try prepare(db, queue, isOwned: true, schema) { connection in
                    guard try connection.value("PRAGMA journal_mode = WAL") == .text("wal") else {
                        throw StrataError(
                            .cannotOpen,
                            "'\(url.path)' lies where SQLite can keep no journal in WAL mode."
                        )
                    }
                    try connection.execute(
                        "PRAGMA synchronous = \(synchronous ?? configuration.synchronous.rawValue)"
                    )
                }
            }
        }
    }

    /// Asks again every other millisecond. SQLite's own pauses grow to a tenth of a second, so that whoever has waited long
    /// gets no turn among others that commit without a pause.
    private static func busyMode(for seconds: TimeInterval) -> Database.BusyMode {
        .callback { tries in
            guard Double(tries) * 0.002 < seconds else { return false }
            usleep(.random(in: 1000...3000))
            return true
        }
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

    /// Holds the tables against the models, and makes those of a new store. Runs inside the database's writer.
    ///
    /// - Parameter setUp: what is done on the connection once the store is known to be one of these models.
    private static func prepare(
        _ db: Database,
        _ database: any DatabaseWriter,
        isOwned: Bool,
        _ schema: Schema,
        _ setUp: (Connection) throws -> Void = { _ in }
    ) throws -> Opened {
        guard let pointer = db.sqliteConnection else {
            throw StrataError(.closed, "The pool that was handed in is closed.")
        }
        let connection = Connection(pointer, fingerprint: 0)
        defer { connection.finalize() }
        // A store that is as it should be is only read, and waits for nobody who writes.
        var found = try reading(connection) { try examine(schema, connection, mayWrite: false) }
        if found == nil {
            try db.inTransaction(.immediate) {
                found = try examine(schema, connection, mayWrite: true)
                return .commit
            }
        }
        guard let (identity, sequence) = found else { throw StoreIdentity.damaged }
        try setUp(connection)
        let writing = Exclusive(Connection(pointer, fingerprint: identity.fingerprint))
        let writer = StoreWriter(database, isOwned: isOwned, connection: writing)
        return Opened(writer: writer, identity: identity, sequence: sequence)
    }

    /// What is in the store; nil where something would have to be written first, and may not.
    private static func examine(
        _ schema: Schema,
        _ connection: Connection,
        mayWrite: Bool
    ) throws -> (identity: StoreIdentity, sequence: Int64)? {
        guard try StoreSchema.prepare(schema.entities, on: connection, mayWrite: mayWrite),
            let identity = try StoreIdentity.read(on: connection, mayWrite: mayWrite)
        else { return nil }
        return (identity, try connection.sequence())
    }

    /// One state of the store, by statements of our own: nobody observes what is only read.
    private static func reading<Value>(_ connection: Connection, _ body: () throws -> Value) throws -> Value {
        try connection.statement(.beginReading).runBound()
        do {
            let value = try body()
            try connection.statement(.commit).runBound()
            return value
        } catch {
            try? connection.execute("ROLLBACK")
            throw error
        }
    }

    /// The file.
    var url: URL { URL(fileURLWithPath: writer.path) }

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

    /// Takes in what others have committed, if they have.
    func takeInForeignCommits() throws {
        if try hasForeignCommits() { try takeInCommits() }
    }

    /// Takes in what is in the store and not known to the layers.
    func takeInCommits() throws {
        let reader = try borrowReader()
        defer { giveBack(reader) }
        do {
            try layers.absorbForeign(try reader.begin(), schema, reader.connection)
        } catch {
            throw StrataError(grdb: error)
        }
    }

    /// Has commits of others taken in as soon as they are in the file. Of a temporary store nobody else knows.
    ///
    /// Complexity: O(1) from the second call on.
    func watchFile() {
        guard temporaryFolder == nil else { return }
        fileWatch.start(writer.path + "-wal") { [weak self] in
            // Where the store cannot be read, whoever reads next is told.
            try? self?.takeInForeignCommits()
        }
    }

    func giveBack(_ reader: Reader) { readers.giveBack(reader) }

    // MARK: Writing

    /// Runs one transaction: see ``StoreWriter/write(_:beforeCommit:afterCommit:)``.
    func write(
        _ body: (Connection) throws -> [String],
        beforeCommit: () -> Void = {},
        afterCommit: (_ isCommitted: Bool) -> Void = { _ in }
    ) throws {
        try checkOpen()
        try writer.write(body, beforeCommit: beforeCommit, afterCommit: afterCommit)
    }

    private static func reserveIDs(_ count: Int64, _ writer: StoreWriter) throws -> Int64 {
        var first: Int64 = 0
        try writer.write { connection in
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
        fileWatch.stop()
        layers.finish()
        ids.stop()
        foreignCommits.close()
        readers.close()
        defer {
            if let temporaryFolder { try? FileManager.default.removeItem(at: temporaryFolder) }
        }
        try writer.close()
    }
}
