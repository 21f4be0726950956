import Dispatch
import Foundation
import GRDB
import Synchronization

/// The one connection that writes, one transaction after the other.
///
/// Isolation: any.
final class StoreWriter: Sendable {
    private let database: any DatabaseWriter
    /// Whether nobody else knows the database, so that no observer of GRDB's has to hear of what is written.
    private let isOwned: Bool
    /// Used inside the database's writer only, which runs one access at a time.
    private let connection: Exclusive<Connection>
    let journal: Journal
    let turnstile = WriterTurnstile()
    /// How many writes are under way or wait for their turn.
    private let writeCount = Atomic(0)

    /// - Parameter isOwned: whether it is closed with the store.
    init(_ database: any DatabaseWriter, isOwned: Bool, connection: Exclusive<Connection>) {
        self.database = database
        self.isOwned = isOwned
        self.connection = connection
        journal = Journal(of: database.path)
    }

    var path: String { database.path }
    var configuration: Configuration { database.configuration }

    /// Runs one transaction. The writer waits for the one before it, in the order of calls.
    ///
    /// - Parameters:
    ///   - context: the name of the context that writes, for the log.
    ///   - body: what to write. It gives the tables that it has touched.
    ///   - beforeCommit: the last thing before COMMIT.
    ///   - afterCommit: told whether it is in the store, before the next transaction begins.
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
                var isCommitted = false
                defer { afterCommit(isCommitted) }
                try connection.use { connection in
                    if let trace = connection.trace { trace.context = context() }
                    if isOwned {
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

    /// Copies the journal into the store, as far as readers allow for, if it is large and nobody is writing. A database of somebody else's
    /// is left alone.
    ///
    /// The connection that writes does it: SQLite before 3.51.3 can damage a file where one connection copies while another one writes
    /// (https://sqlite.org/wal.html#walresetbug).
    ///
    /// Complexity: O(1) while the journal is small.
    func copyJournalIfLarge() {
        guard isOwned, journal.size > Journal.limit, writeCount.load(ordering: .relaxed) == 0 else { return }
        // Where it cannot be copied it stays as it is, and the next commit meets the reason.
        _ = try? database.writeWithoutTransaction { try $0.checkpoint(.passive) }
    }

    /// A transaction by statements of our own. Nobody else has this database, so no observer misses it; it costs a third
    /// of a commit of one row less than GRDB's.
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
            // Some errors, a full disk for one, have rolled back already; then this one fails, and that is no matter.
            try? connection.execute("ROLLBACK")
            throw error
        }
    }

    /// Lets go of the statements, and closes what is its own.
    func close() throws {
        do {
            database.writeWithoutTransaction { _ in connection.use { $0.finalize() } }
            if isOwned { try database.close() }
        } catch {
            throw StrataError(grdb: error)
        }
    }
}

/// Has those who want to write wait for somebody whom they have kept from it again and again.
///
/// Isolation: any.
final class WriterTurnstile: Sendable {
    private let holders = DispatchGroup()
    private let isHeld = Atomic(false)
    private let state = Mutex((count: 0, isForced: false))

    /// Whoever has waited so long goes on all the same, and all others with it: whoever holds it may be waiting for that.
    private static let patience = DispatchTimeInterval.seconds(2)

    /// Waits until nobody holds it. Blocks the thread.
    func pass() {
        guard isHeld.load(ordering: .acquiring), !state.withLock({ $0.isForced }) else { return }
        guard holders.wait(timeout: .now() + Self.patience) == .timedOut else { return }
        state.withLock { $0.isForced = $0.count > 0 }
    }

    func hold() {
        holders.enter()
        state.withLock { state in
            state.count += 1
            isHeld.store(true, ordering: .releasing)
        }
    }

    func letGo() {
        state.withLock { state in
            state.count -= 1
            guard state.count == 0 else { return }
            state.isForced = false
            isHeld.store(false, ordering: .releasing)
        }
        holders.leave()
    }
}

/// A value that is reachable from everywhere and used by one at a time, as something else ensures.
struct Exclusive<Value>: @unchecked Sendable {
    // The owner states what ensures it: that of `StoreWriter` is used inside of the database's writer, a serial queue.
    private let value: Value

    init(_ value: Value) { self.value = value }

    func use<Result>(_ body: (Value) throws -> Result) rethrows -> Result { try body(value) }
}
