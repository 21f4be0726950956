import CStrataSQLite
import Dispatch
import Foundation
import GRDB
import Synchronization

/// Brings the transactions of other nodes into a working copy, on a separate connection.
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

    /// The size of the journal after the last commit of the connection.
    private final class JournalPages: Sendable {
        let count = Atomic(0)
    }

    /// In a struct, because a `Mutex` of a function wraps the function once more at each access.
    private struct Listener: Sendable {
        let call: @Sendable (_ journalPages: Int) -> Void
    }

    let home: any StoreHome
    /// The callers that wait for the newest state.
    let catchUps = HomeCatchUp()
    private let database: DatabaseQueue
    /// Used inside the database.
    private let connection: Exclusive<Connection>
    private let tables: [UTF8Text: HomeTable]
    /// See ``HomeDescription/generation``.
    private let generation: Int64
    private let metrics: HomeMetrics?
    private let journalPages = JournalPages()
    /// Whether the home did not answer when it was last asked, for the log.
    let isAway = Atomic(false)
    /// A position that the copy has reached; nil before the first read of the record, and for a copy that is damaged.
    ///
    /// The copy may have moved on: other processes apply transactions to it as well. It never goes back, so this
    /// position stays true. See ``lock()``.
    private let reached = Mutex<HomePosition?>(nil)
    /// When this node last noticed that another one commits; nil if never.
    private let lastOthers = Mutex<ContinuousClock.Instant?>(nil)
    /// For how long no other node must have committed, so that this node counts as alone. Tests set another time.
    let quietTime = Mutex(Duration.seconds(1))
    /// Whether ``close()`` has begun.
    let isClosing = Atomic(false)
    /// Set and read inside the database.
    private let isClosed = Atomic(false)
    /// Called after transactions were applied.
    private let listener = Mutex<Listener?>(nil)
    private let queue = DispatchQueue(label: "strata.home", qos: .utility)
    private static let key = DispatchSpecificKey<ObjectIdentifier>()
    /// Whether notifications have asked for a look that has not begun.
    private let isAsked = Atomic(false)
    private let timer = Mutex<(any DispatchSourceTimer)?>(nil)

    /// - Parameters:
    ///   - path: the path of the working copy.
    ///   - configuration: the configuration of the writer's connection.
    ///   - description: the tables that the home keeps.
    ///   - metrics: counts the transactions that are applied; nil without metrics.
    init(
        _ home: any StoreHome,
        path: String,
        _ configuration: Configuration,
        _ description: HomeDescription,
        metrics: HomeMetrics? = nil
    ) throws {
        self.home = home
        self.metrics = metrics
        tables = description.tablesByName
        generation = description.generation
        let database = try DatabaseQueue(path: path, configuration: configuration)
        self.database = database
        // The queue's connection lives as long as the queue.
        let pointer = database.inDatabase { Exclusive($0.sqliteConnection) }
        guard let pointer = pointer.use({ $0 }) else { throw Store.closedError }
        let connection = Connection(pointer, fingerprint: 0)
        self.connection = Exclusive(connection)
        // After a loss of power, the home still has the transactions.
        try connection.execute("PRAGMA synchronous = NORMAL")
        // Replaces SQLite's automatic checkpoints: the writer's connection runs all checkpoints.
        sqlite3_wal_hook(
            pointer,
            { context, _, _, pages in
                let pageCount = Unmanaged<JournalPages>.fromOpaque(context!).takeUnretainedValue()
                pageCount.count.store(Int(pages), ordering: .relaxed)
                return SQLITE_OK
            },
            Unmanaged.passUnretained(journalPages).toOpaque()
        )
        queue.setSpecific(key: Self.key, value: ObjectIdentifier(self))
    }

    /// Sets a function that is called after transactions were applied, perhaps inside the database's writer. It does not
    /// wait.
    func afterApplying(_ body: @escaping @Sendable (_ journalPages: Int) -> Void) {
        listener.withLock { $0 = Listener(call: body) }
    }

    /// Begins to follow the home.
    ///
    /// - Parameter report: receives the errors of the attempts that no caller waits for, and nil after an attempt without
    ///   an error. Called on one queue.
    func start(_ report: @escaping @Sendable ((any Error)?) -> Void) {
        let look: @Sendable () -> Void = { [weak self] in
            do {
                try self?.catchUp()
                report(nil)
            } catch {
                // A closed home refuses the calls that wait for it, and this says nothing about the home.
                if self?.isClosing.load(ordering: .relaxed) == false { report(error) }
            }
        }
        timer.withLock { timer in
            let source = DispatchSource.makeTimerSource(queue: queue)
            source.schedule(deadline: .now() + Self.interval, repeating: Self.interval, leeway: .milliseconds(100))
            source.setEventHandler(handler: look)
            source.activate()
            timer = source
        }
        // Notifications that arrive during a look are one further look.
        home.listen { [weak self] in
            guard let self, !isAsked.exchange(true, ordering: .sequentiallyConsistent) else { return }
            queue.async { [weak self] in
                // Notifications from here on are about transactions that this look may miss.
                self?.isAsked.store(false, ordering: .sequentiallyConsistent)
                look()
            }
        }
    }

    /// Applies all transactions that the home has now.
    func catchUp() throws {
        var isComplete = false
        while !isComplete {
            defer { metrics?.recordLag() }
            let start = ContinuousClock.now
            let portion = try home.transactions(after: try position(), limit: Self.portion)
            try apply(portion.transactions)
            // Now the copy has everything that the home had when it was asked.
            if portion.isComplete { metrics?.noteComplete(at: start) }
            isComplete = portion.isComplete
        }
    }

    /// Applies all transactions that the home had when this call began, and perhaps later ones.
    ///
    /// Unlike ``catchUp()``, this call ends even if other nodes commit all the time. If the copy has the newest
    /// transaction, the call takes one round trip.
    ///
    /// - Parameter check: called between two portions of transactions. Its error ends the call, and the applied
    ///   portions stay.
    func catchUpToNewest(_ check: () throws -> Void = {}) throws {
        let start = ContinuousClock.now
        // The position is read first. If the home has lost this transaction, the second call of the home throws.
        var position = try self.position()
        let newest = try home.newest()
        while position != newest {
            let portion = try home.transactions(after: position, limit: Self.portion)
            try apply(portion.transactions)
            // The home may have gone back since the first call.
            if portion.isComplete { break }
            position = try self.position()
            if position.number >= newest.number { break }
            try check()
        }
        metrics?.noteComplete(at: start)
    }

    /// Takes the lock of the home, and applies all transactions before it. ``StoreHome/publish(_:)`` or
    /// ``StoreHome/unlock()`` must follow.
    ///
    /// The record of the copy is not read. A known position may be older than the record, because another process has
    /// moved the copy. Then the home sends transactions that the copy has already, and ``apply(_:)`` skips them: it
    /// reads the record inside SQLite's transaction. A mark of damage is not missed either. It is made when a
    /// transaction after the known position is applied, so the home sends this transaction again.
    ///
    /// - Returns: the newest position of the home. The copy has it too, unless the home has lost transactions.
    /// - Throws: an error, and the lock is free.
    func lock() throws -> HomePosition {
        while true {
            let position = try reached.withLock({ $0 }) ?? self.position()
            let transactions = try home.lock(after: position, limit: Self.portion)
            do {
                if transactions.count < Self.portion {
                    try apply(transactions)
                    return transactions.last?.position ?? position
                }
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
    ///
    /// - Throws: `damagedStore` if the rows of the copy differ from those of the home.
    func position() throws -> HomePosition {
        try use { connection in
            let position = try CopyRecord.read(on: connection).position
            guard position != CopyRecord.damaged else { throw Self.damagedError.naming(connection.path) }
            noteReached(position)
            return position
        }
    }

    /// Notes that the copy has a transaction and all before it. Called after SQLite's COMMIT, or with a position that
    /// was read.
    func noteReached(_ position: HomePosition) {
        reached.withLock { reached in
            if let known = reached, known.number >= position.number { return }
            reached = position
        }
    }

    /// Whether no other node has committed recently, as far as this one knows.
    var isAlone: Bool {
        guard let last = lastOthers.withLock({ $0 }) else { return true }
        return last.duration(to: .now) > quietTime.withLock { $0 }
    }

    /// Notes that another node commits.
    func noteOthers() { lastOthers.withLock { $0 = .now } }

    /// The reason why the copy does not have the position that ``lock()`` has returned.
    ///
    /// - Parameters:
    ///   - expected: the position.
    ///   - connection: a connection to the copy.
    func error(insteadOf expected: HomePosition, on connection: Connection) throws -> StrataError {
        let found = try CopyRecord.read(on: connection).position
        if found == CopyRecord.damaged { return Self.damagedError.naming(connection.path) }
        if try home.newest() == expected { return Self.behindError(expected, found) }
        return StrataError(
            .unreachable,
            "\(home.name) has given the lock of this commit to another node, and nothing was written. Commit again."
        )
    }

    /// Reserves ids of objects at the home, and returns the first one.
    func reserveIDs(_ count: Int64) throws -> Int64 {
        let first = try home.reserveIDs(count)
        guard IDSource.isRange(from: first) else {
            throw StrataError(
                .damagedStore,
                "\(home.name) has reserved the id \(first), which objects cannot have. Correct its next id."
            )
        }
        return first
    }

    private func apply(_ transactions: [HomeTransaction]) throws {
        if transactions.isEmpty { return }
        try use { connection in
            do {
                for transaction in transactions {
                    if try apply(transaction, on: connection) {
                        noteOthers()
                        metrics?.noteApplied()
                    }
                    noteReached(transaction.position)
                }
            } catch let error as StrataError where error.code == .damagedStore {
                reached.withLock { $0 = nil }
                throw error
            }
        }
        listener.withLock { $0 }?.call(journalPages.count.load(ordering: .relaxed))
    }

    /// Applies a transaction, unless the copy contains it already: the writer of this process, or another process on
    /// the same copy, may have been faster.
    ///
    /// - Returns: false if the copy contained the transaction.
    private func apply(_ transaction: HomeTransaction, on connection: Connection) throws -> Bool {
        var isNew = false
        do {
            try Self.transact(on: connection) {
                let position = try CopyRecord.read(on: connection).position
                guard position != CopyRecord.damaged else { throw Self.damagedError.naming(connection.path) }
                if position.number >= transaction.position.number { return }
                guard position == transaction.previous else { throw Self.behindError(transaction.previous, position) }
                if let generation = transaction.generation, generation != self.generation { throw migratedError }
                var application = ChangeApplication(on: connection, tables: tables)
                try application.apply(transaction.changes)
                try CopyRecord.move(to: transaction.position, on: connection)
                isNew = true
            }
            return isNew
        } catch let error as StrataError where error.code == .damagedStore {
            // The copy is made again when it is opened next, unless not even this can be written.
            try? Self.transact(on: connection) { try CopyRecord.move(to: CopyRecord.damaged, on: connection) }
            throw error
        }
    }

    /// A newer program has migrated the store, and this one cannot continue. The copy stays as it was before.
    private var migratedError: StrataError {
        StrataError(
            .schemaMismatch,
            "A newer program has migrated the store of \(home.name). This node cannot commit any more, and keeps the state "
                + "from before; no commit is lost. Close the stack, and start the newer program."
        )
    }

    /// Runs a transaction. It has ended when the function returns or throws.
    private static func transact(on connection: Connection, _ body: () throws -> Void) throws {
        try connection.execute("BEGIN IMMEDIATE")
        do {
            try body()
            try connection.execute("COMMIT")
        } catch {
            if connection.isInTransaction { try? connection.execute("ROLLBACK") }
            throw error
        }
    }

    static var damagedError: StrataError {
        StrataError(
            .damagedStore,
            "The working copy differs from its home. Close the stack and open it again, which makes the copy again."
        )
    }

    private static func behindError(_ expected: HomePosition, _ found: HomePosition) -> StrataError {
        StrataError(
            .homeBehind,
            "The home has another transaction \(found.number) than the working copy (\(expected.id), \(found.id)). It has "
                + "lost commits that this node has seen. Close the stack and open it again."
        )
    }

    private func use<Value>(_ body: (Connection) throws -> Value) throws -> Value {
        try database.inDatabase { _ in
            guard !isClosed.load(ordering: .relaxed) else { throw Store.closedError }
            return try connection.use(body)
        }
    }

    /// Stops following, and closes the connection and the home.
    func close() {
        timer.withLock { timer in
            timer?.cancel()
            timer = nil
        }
        isClosing.store(true, ordering: .relaxed)
        home.close()
        // A running look must end before its connection is closed. The exception is a look that has held the last
        // reference to the store, and closes it.
        if DispatchQueue.getSpecific(key: Self.key) != ObjectIdentifier(self) { queue.sync {} }
        database.inDatabase { _ in
            isClosed.store(true, ordering: .relaxed)
            // So that a later call reads the record, which reports that the stack is closed.
            reached.withLock { $0 = nil }
            connection.use { $0.finalize() }
        }
        try? database.close()
    }
}
