import CStrataSQLite
import Dispatch
import Foundation
import GRDB
import Synchronization

/// Brings the transactions of other nodes into a working copy, on a connection of its own.
///
/// The connection has no guards: the node that has committed has checked its changes. For the other connections of this
/// process, the applied transactions are commits of another process on the same file.
///
/// Isolation: any. A lock admits one thread at a time.
final class HomeFollower: Sendable {
    /// The maximum number of transactions that are asked for at once.
    static let portion = 256
    /// How often the home is asked, because notifications can be missing.
    static let interval = DispatchTimeInterval.seconds(1)

    private struct State {
        let database: DatabaseQueue
        let columns: [String: [String]]
        var isClosed = false
        /// Called after transactions were applied.
        var applied: @Sendable (_ journalPages: Int) -> Void = { _ in }
    }

    /// The size of the journal after the last commit of the connection.
    private final class JournalPages: Sendable {
        let count = Atomic(0)
    }

    let home: any StoreHome
    private let journalPages = JournalPages()
    private let state: Mutex<State>
    private let queue = DispatchQueue(label: "strata.home", qos: .utility)
    private let timer = Mutex<(any DispatchSourceTimer)?>(nil)

    /// - Parameters:
    ///   - path: the path of the working copy.
    ///   - configuration: the configuration of the writer's connection.
    init(_ home: any StoreHome, path: String, _ configuration: Configuration, _ description: HomeDescription) throws {
        self.home = home
        let database = try DatabaseQueue(path: path, configuration: configuration)
        try database.inDatabase { db in
            // After a loss of power, the home still has the transactions.
            try db.execute(sql: "PRAGMA synchronous = NORMAL")
            // Replaces SQLite's automatic checkpoints: the writer's connection runs all checkpoints.
            sqlite3_wal_hook(
                db.sqliteConnection,
                { context, _, _, pages in
                    Unmanaged<JournalPages>.fromOpaque(context!).takeUnretainedValue().count
                        .store(Int(pages), ordering: .relaxed)
                    return SQLITE_OK
                },
                Unmanaged.passUnretained(journalPages).toOpaque()
            )
        }
        state = Mutex(State(database: database, columns: description.columns))
    }

    /// Begins to follow the home.
    ///
    /// - Parameters:
    ///   - applied: called with the size of the journal after transactions were applied, perhaps inside the database's
    ///     writer. It does not wait.
    ///   - report: receives the errors of the attempts that no caller waits for, and nil after an attempt without an
    ///     error. Called on one queue.
    func start(applied: @escaping @Sendable (Int) -> Void, _ report: @escaping @Sendable ((any Error)?) -> Void) {
        state.withLock { $0.applied = applied }
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: .now() + Self.interval, repeating: Self.interval, leeway: .milliseconds(100))
        let look: @Sendable () -> Void = { [weak self] in
            do {
                try self?.catchUp()
                report(nil)
            } catch {
                report(error)
            }
        }
        timer.setEventHandler(handler: look)
        timer.activate()
        self.timer.withLock { $0 = timer }
        // Notifications that arrive during a look are one further look.
        home.listen { [weak self] in self?.queue.async(execute: look) }
    }

    /// Applies all transactions that the home has now. Returns the position of the copy.
    @discardableResult
    func catchUp() throws -> HomePosition {
        while true {
            let position = try self.position()
            let transactions = try home.transactions(after: position, limit: Self.portion)
            if transactions.isEmpty { return position }
            try apply(transactions)
        }
    }

    /// Takes the lock of the home, and applies all transactions before it. ``StoreHome/publish(_:)`` or
    /// ``StoreHome/unlock()`` must follow.
    ///
    /// - Throws: an error, and the lock is free.
    func lock() throws {
        while true {
            let transactions = try home.lock(after: try position(), limit: Self.portion)
            do {
                if transactions.count < Self.portion { return try apply(transactions) }
                home.unlock()
            } catch {
                home.unlock()
                throw error
            }
            // The node is far behind. It catches up before it takes the lock, so that the others need not wait.
            try catchUp()
        }
    }

    /// The last transaction that the copy contains.
    func position() throws -> HomePosition { try use { try CopyRecord.read(on: $0).position } }

    private func apply(_ transactions: [HomeTransaction]) throws {
        if transactions.isEmpty { return }
        try state.withLock { state in
            try state.database.inDatabase { db in
                try connection(db) { connection in
                    for transaction in transactions {
                        try Self.apply(transaction, columns: state.columns, on: connection)
                    }
                }
            }
            state.applied(journalPages.count.load(ordering: .relaxed))
        }
    }

    /// Applies a transaction, unless the copy contains it already: the writer of this process, or another process on the
    /// same copy, may have been faster.
    private static func apply(
        _ transaction: HomeTransaction,
        columns: [String: [String]],
        on connection: Connection
    ) throws {
        try connection.execute("BEGIN IMMEDIATE")
        do {
            let position = try CopyRecord.read(on: connection).position
            if position.number < transaction.position.number {
                guard position == transaction.previous else { throw behindError(transaction.previous, position) }
                var application = ChangeApplication(on: connection, columns: columns)
                try application.apply(transaction.changes)
                try CopyRecord.move(to: transaction.position, on: connection)
            }
            try connection.execute("COMMIT")
        } catch {
            try? connection.execute("ROLLBACK")
            throw error
        }
    }

    private static func behindError(_ expected: HomePosition, _ found: HomePosition) -> StrataError {
        StrataError(
            .homeBehind,
            "The home has another transaction \(found.number) than the working copy (\(expected.id), \(found.id)). It has "
                + "lost commits that this node has seen. Close the stack and open it again."
        )
    }

    private func use<Value>(_ body: (Connection) throws -> Value) throws -> Value {
        try state.withLock { state in
            guard !state.isClosed else { throw Store.closedError }
            return try state.database.inDatabase { db in try connection(db, body) }
        }
    }

    private func connection<Value>(_ db: Database, _ body: (Connection) throws -> Value) throws -> Value {
        guard let pointer = db.sqliteConnection else { throw Store.closedError }
        let connection = Connection(pointer, fingerprint: 0)
        defer { connection.finalize() }
        return try body(connection)
    }

    /// Stops following, and closes the connection and the home.
    func close() {
        timer.withLock { timer in
            timer?.cancel()
            timer = nil
        }
        home.close()
        queue.sync {}
        state.withLock { state in
            state.isClosed = true
            try? state.database.close()
        }
    }
}
