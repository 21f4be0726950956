import CStrataSQLite
import GRDB
import Synchronization

/// A connection that reads, and its current snapshot.
///
/// Isolation: only the borrower uses the reader, one thread at a time. Between borrowers, the pool's lock orders the
/// memory accesses. This is the proof of `@unchecked Sendable`.
final class Reader: @unchecked Sendable {
    let connection: Connection
    /// Nil if the connection is the writer's.
    private let queue: DatabaseQueue?
    private(set) var isReading = false
    /// The size of the page cache outside of streaming; nil while the reader does not stream.
    private var usualCacheSize: Int64?
    /// The number of users: a pinned context, and the cursors that read the context's snapshot.
    private var userCount = 1
    /// Nil if the connection is the writer's.
    private let writer: StoreWriter?
    /// The number of the snapshot in ``OpenSnapshots``.
    private var snapshot: UInt64 = 0
    /// Whether a block with a place in the pool uses it.
    var isOfPlace = false

    init(
        _ writer: StoreWriter,
        cacheSize: Int,
        identity: StoreIdentity,
        entities: [any AnyEntity],
        telemetry: Telemetry
    ) throws {
        self.writer = writer
        var configuration = writer.configuration
        configuration.readonly = true
        // Readers of a caller's pool follow the pool's own configuration.
        if writer.isOwned { configuration.prepareDatabase { try $0.setCacheSize(cacheSize) } }
        configuration.allowsUnsafeTransactions = true
        let queue = try DatabaseQueue(path: writer.path, configuration: configuration)
        self.queue = queue
        // The queue's connection lives as long as the queue, and nothing else uses this queue.
        let pointer = queue.unsafeReentrantRead { Exclusive($0.sqliteConnection) }
        guard let pointer = pointer.use({ $0 }) else {
            throw StrataError(.closed, "The store is closed.")
        }
        connection = Connection(pointer, identity)
        // If another file has replaced the store, this connection would read the other file.
        guard StorePlace.current(of: connection) == identity.place else {
            throw StoreIdentity.replaced.naming(connection.path)
        }
        connection.followReads(of: entities)
        try connection.overlay.register(entities, on: pointer)
        try SQLFunctions.register(on: pointer)
        telemetry.trace(connection)
    }

    /// Reads inside the transactions of the writer's connection, with their uncommitted changes.
    ///
    /// The reader is shared: each borrower is one user more, and the writer remains one.
    init(inTransactionsOf connection: Connection, entities: [any AnyEntity]) throws {
        self.connection = connection
        (queue, writer) = (nil, nil)
        try connection.overlay.register(entities, on: connection.pointer)
        try connection.registerFunctions()
    }

    /// Takes a snapshot of the store and returns its sequence number. Inside a transaction, this is the state with the
    /// transaction's changes so far.
    func begin() throws -> Int64 {
        guard let writer else {
            guard connection.isInTransaction else { throw StoreWriter.endedError(connection) }
            return try connection.sequence()
        }
        if isReading { try end() }
        snapshot = writer.snapshots.open()
        do {
            try connection.statement(.beginReading).runBound()
        } catch {
            writer.snapshotHasEnded(snapshot)
            throw error
        }
        isReading = true
        do {
            return try connection.sequence()
        } catch {
            try? end()
            throw error
        }
    }

    /// Whether users other than the borrowing context also read the snapshot.
    var isShared: Bool { userCount > 1 }

    /// Adds a user of the snapshot, in the isolation of the borrower. The reader returns to the pool when all users
    /// have given it back.
    func share() -> Reader {
        userCount += 1
        return self
    }

    /// Removes a user. Returns whether other users remain.
    func leave() -> Bool {
        guard isShared else { return false }
        userCount -= 1
        return true
    }

    /// Shrinks the page cache until the reader is given back: a caller that walks a whole table does not read its pages
    /// again.
    func beginStreaming() throws {
        guard usualCacheSize == nil, queue != nil else { return }
        usualCacheSize = try connection.integer("PRAGMA cache_size")
        try connection.execute("PRAGMA cache_size = -2000")
    }

    func endStreaming() {
        guard let size = usualCacheSize else { return }
        usualCacheSize = nil
        // If SQLite refuses, this reader is slower but still correct.
        try? connection.execute("PRAGMA cache_size = \(size)")
    }

    /// Closes the snapshot.
    func end() throws {
        guard isReading else { return }
        isReading = false
        defer { writer?.snapshotHasEnded(snapshot) }
        do {
            try connection.statement(.commit).runBound()
        } catch {
            // The error has already ended the transaction, or the rollback ends it now.
            connection.search.forgetPending()
            if !connection.isInTransaction { return }
            try? connection.execute("ROLLBACK")
            throw error
        }
        connection.trace?.explain(on: connection)
    }

    func close() {
        try? end()
        connection.finalize()
        try? queue?.close()
    }
}
