import Dispatch
import Foundation
import GRDB
import Synchronization

/// The one connection that writes, one transaction at a time.
///
/// Isolation: any.
final class StoreWriter: Sendable {
    private let database: any DatabaseWriter
    /// Whether only Strata uses the database, so that no GRDB observer needs notifications of writes.
    let isOwned: Bool
    /// Used inside the database's writer only, which runs one access at a time.
    private let connection: Exclusive<Connection>
    /// Nil for the user's own database, where SQLite runs automatic checkpoints. Used inside the database's writer.
    private let checkpoints: Exclusive<Checkpoints>?
    /// Runs checkpoints between commits.
    private let checkpointQueue = DispatchQueue(label: "strata.checkpoint", qos: .utility)
    /// Whether the running thread is inside a transaction of a writer.
    @TaskLocal static var isInside = false
    /// The number of writes that are running or waiting.
    private let writeCount = Atomic(0)
    /// Ids that a failed transaction has reserved. Used inside the database's writer.
    private let owedIDs = Exclusive(OwedIDs())
    /// The snapshots of the readers of this store.
    let snapshots: OpenSnapshots
    let journal: Journal
    let backpressure = WriterBackpressure()

    /// Creates the writer of a database.
    ///
    /// - Parameter isOwned: whether the database is closed with the store.
    init(_ database: any DatabaseWriter, isOwned: Bool, connection: Exclusive<Connection>) {
        self.database = database
        self.isOwned = isOwned
        self.connection = connection
        let snapshots = OpenSnapshots()
        self.snapshots = snapshots
        checkpoints =
            isOwned ? connection.use { Exclusive(Checkpoints($0.pointer, snapshots)) } : nil
        checkpoints?.use { $0.start() }
        journal = Journal(of: database.path)
    }

    var path: String { database.path }
    var configuration: Configuration { database.configuration }

    /// Runs one transaction. Transactions run one after another, in the order of calls.
    ///
    /// - Parameters:
    ///   - context: the name of the context that writes, for the log.
    ///   - body: writes, and returns the names of the changed tables.
    ///   - beforeCommit: runs immediately before COMMIT.
    ///   - afterCommit: receives whether the transaction was committed, before the next transaction begins.
    func write(
        for context: @autoclosure () -> String? = nil,
        _ body: (Connection) throws -> [String],
        beforeCommit: () -> Void = {},
        afterCommit: (_ isCommitted: Bool) -> Void = { _ in }
    ) throws {
        writeCount.add(1, ordering: .relaxed)
        defer { writeCount.subtract(1, ordering: .relaxed) }
        do {
            try database.writeWithoutTransaction { db in
                try runTransaction(db, context(), body, beforeCommit, afterCommit)
                checkpoints?.use { $0.afterCommit() }
            }
        } catch {
            throw StrataError(grdb: error)
        }
    }

    /// Runs one transaction, inside the database's writer.
    private func runTransaction(
        _ db: Database,
        _ context: @autoclosure () -> String?,
        _ body: (Connection) throws -> [String],
        _ beforeCommit: () -> Void = {},
        _ afterCommit: (_ isCommitted: Bool) -> Void = { _ in }
    ) throws {
        func inside(_ connection: Connection) throws -> [String] {
            try owedIDs.use { try $0.pay(on: connection) }
            return try Self.$isInside.withValue(true) { try body(connection) }
        }
        var isCommitted = false
        defer { afterCommit(isCommitted) }
        try connection.use { connection in
            if let trace = connection.trace { trace.context = context() }
            do {
                if isOwned {
                    try Self.transact(connection, inside, beforeCommit)
                } else {
                    try db.inTransaction(.immediate) {
                        for table in try inside(connection) { try db.notifyChanges(in: Table(table)) }
                        beforeCommit()
                        return .commit
                    }
                }
            } catch {
                owedIDs.use { $0.payApart(on: connection) }
                throw error
            }
            owedIDs.use { $0.forget() }
            isCommitted = true
        }
    }

    // MARK: Checkpoints

    /// Notes that a snapshot is closed, and retries a checkpoint that it has made incomplete.
    func snapshotHasEnded(_ number: UInt64) {
        guard snapshots.close(number), let checkpoints else { return }
        // The caller may be the main actor, which does not wait for the disk.
        checkpointQueue.async { [weak self] in
            self?.database.writeWithoutTransaction { _ in checkpoints.use { $0.afterSnapshots() } }
        }
    }

    /// Copies a large journal between two snapshots of a pinned context, unless a transaction is running.
    ///
    /// Complexity: O(1) while the journal is small.
    func copyJournalIfLarge() {
        guard let checkpoints, journal.size > Journal.limit, writeCount.load(ordering: .relaxed) == 0 else { return }
        database.writeWithoutTransaction { _ in checkpoints.use { $0.afterSnapshots() } }
    }

    /// The number of checkpoints that were tried, for tests.
    var checkpointCount: Int { database.writeWithoutTransaction { _ in checkpoints?.use { $0.count } ?? 0 } }

    // MARK: Ids

    /// Reserves a range of ids, and returns the first one. Inside a transaction of this writer, the reservation is part
    /// of it.
    func reserveIDs(_ count: Int64) throws -> Int64 {
        do {
            return try database.unsafeReentrantWrite { db in
                var first: Int64 = 0
                if connection.use({ $0.isInTransaction }) {
                    first = try connection.use { try $0.reserveIDs(count) }
                    owedIDs.use { $0.note(first + count) }
                } else {
                    try runTransaction(db, nil) {
                        first = try $0.reserveIDs(count)
                        return []
                    }
                }
                return first
            }
        } catch {
            throw StrataError(grdb: error)
        }
    }

    /// Runs a transaction with statements that bypass GRDB. Only Strata uses this database, so no observer misses the
    /// transaction. A commit of one row takes a third less time than with GRDB's.
    private static func transact(
        _ connection: Connection,
        _ body: (Connection) throws -> [String],
        _ beforeCommit: () -> Void
    ) throws {
        try connection.statement(.beginWriting).runBound()
        do {
            _ = try body(connection)
            beforeCommit()
            try connection.statement(.commit).runBound()
            connection.trace?.explain(on: connection)
        } catch {
            // After some errors, such as a full disk, SQLite has rolled back already. Then this ROLLBACK fails without
            // consequence.
            try? connection.execute("ROLLBACK")
            throw error
        }
    }

    /// Releases the statements, and closes the database if Strata owns it.
    func close() throws {
        do {
            database.writeWithoutTransaction { _ in
                checkpoints?.use { $0.stop() }
                connection.use { $0.finalize() }
            }
            if isOwned { try database.close() }
        } catch {
            throw StrataError(grdb: error)
        }
    }
}

/// Ids that a transaction has reserved for objects of a context. If the transaction fails, its rollback removes the
/// reservation, but the objects keep their ids. The ids are then reserved again before another caller can get them.
final class OwedIDs {
    /// All ids below this one are used; 0 if the store's counter says so.
    private var end: Int64 = 0

    func note(_ end: Int64) { self.end = max(self.end, end) }

    /// Forgets the ids, because the store's counter is now above them.
    func forget() { end = 0 }

    /// Reserves the ids in the running transaction.
    func pay(on connection: Connection) throws {
        guard end > 0, let next = try connection.integer(SchemaSQL.readNextID), next < end else { return }
        try connection.execute(SchemaSQL.reserveIDs, [.integer(end - next)])
    }

    /// Reserves the ids in a separate transaction. If that fails, the next transaction reserves them.
    func payApart(on connection: Connection) {
        guard end > 0 else { return }
        do {
            try connection.statement(.beginWriting).runBound()
            try pay(on: connection)
            try connection.statement(.commit).runBound()
            forget()
        } catch {
            try? connection.execute("ROLLBACK")
        }
    }
}

/// Makes other writers of this process wait for a block whose reads their commits have made stale again and again.
///
/// Isolation: any.
final class WriterBackpressure: Sendable {
    private let holders = DispatchGroup()
    private let isHeld = Atomic(false)
    private let state = Mutex((count: 0, isForced: false))

    /// The maximum wait. A writer that has waited this long continues, and all other writers with it: the holder may be
    /// waiting for that writer.
    private static let patience = DispatchTimeInterval.seconds(2)

    /// Waits until no block holds other writers back. Blocks the thread.
    func waitWhileHeld() {
        guard isHeld.load(ordering: .acquiring), !state.withLock({ $0.isForced }) else { return }
        guard holders.wait(timeout: .now() + Self.patience) == .timedOut else { return }
        state.withLock { $0.isForced = $0.count > 0 }
    }

    func acquire() {
        holders.enter()
        state.withLock { state in
            state.count += 1
            isHeld.store(true, ordering: .releasing)
        }
    }

    func release() {
        state.withLock { state in
            state.count -= 1
            guard state.count == 0 else { return }
            state.isForced = false
            isHeld.store(false, ordering: .releasing)
        }
        holders.leave()
    }
}

/// A value that is reachable from everywhere, but used by one thread at a time. Its owner ensures this.
struct Exclusive<Value>: @unchecked Sendable {
    // The proof of `@unchecked Sendable`: the owner states what serializes the uses. The values of `StoreWriter`, for
    // example, are used only inside the database's writer, a serial queue.
    private let value: Value

    init(_ value: Value) { self.value = value }

    func use<Result>(_ body: (Value) throws -> Result) rethrows -> Result { try body(value) }
}
