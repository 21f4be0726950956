import CStrataSQLite
import GRDB
import Synchronization

/// A connection that reads, and the snapshot that it stands on.
///
/// Isolation: whoever borrowed it uses it alone, one thread at a time; between borrowers the pool's lock orders the
/// memory. That is the proof of `@unchecked Sendable`.
final class Reader: @unchecked Sendable {
    let connection: Connection
    private let queue: DatabaseQueue
    private(set) var isReading = false
    /// What the size of the page cache is when it is not streaming.
    private var usualCacheSize: Int64?
    /// How many use it: a pinned context, and the cursors that read its snapshot beside it.
    private var userCount = 1
    private let writer: StoreWriter
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
        // A pool that was handed in has readers of its own kind.
        if writer.isOwned { configuration.prepareDatabase { try $0.setCacheSize(cacheSize) } }
        configuration.allowsUnsafeTransactions = true
        queue = try DatabaseQueue(path: writer.path, configuration: configuration)
        // The queue's connection lives as long as the queue, and nothing else uses this queue.
        let pointer = queue.unsafeReentrantRead { Exclusive($0.sqliteConnection) }
        guard let pointer = pointer.use({ $0 }) else {
            throw StrataError(.closed, "The store is closed.")
        }
        connection = Connection(pointer, identity)
        // Where another file has taken the place of the store, this would read that one.
        guard StorePlace.current(of: connection) == identity.place else {
            throw LayerStore.replacedError.naming(connection.path)
        }
        connection.followReads(of: entities)
        try connection.overlay.register(entities, on: pointer)
        try SQLFunctions.register(on: pointer)
        telemetry.follow(connection)
    }

    /// Takes a snapshot of the store and gives its sequence number.
    func begin() throws -> Int64 {
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

    /// Whether others than the context that borrowed it read the snapshot as well.
    var isShared: Bool { userCount > 1 }

    /// One more reads the snapshot, in the isolation of whoever borrowed this. It goes back to the pool when all have given it back.
    func share() -> Reader {
        userCount += 1
        return self
    }

    /// Whether somebody still uses it, now that one no longer does.
    func leave() -> Bool {
        guard isShared else { return false }
        userCount -= 1
        return true
    }

    /// Until it is given back, pages that were read are not kept: whoever walks a whole table does not come back to them.
    func beginStreaming() throws {
        guard usualCacheSize == nil else { return }
        usualCacheSize = try connection.integer("PRAGMA cache_size")
        try connection.execute("PRAGMA cache_size = -2000")
    }

    func endStreaming() {
        guard let size = usualCacheSize else { return }
        usualCacheSize = nil
        // Were it refused, this reader would be slower and nothing else.
        try? connection.execute("PRAGMA cache_size = \(size)")
    }

    /// Lets go of the snapshot.
    func end() throws {
        guard isReading else { return }
        isReading = false
        defer { writer.snapshotHasEnded(snapshot) }
        do {
            try connection.statement(.commit).runBound()
        } catch {
            // An error has ended the transaction already, or does so now.
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
        try? queue.close()
    }
}
