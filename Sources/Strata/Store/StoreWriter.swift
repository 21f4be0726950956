import CStrataSQLite
import Dispatch
import Foundation
import GRDB
import Synchronization

/// The one connection that writes, one transaction at a time.
///
/// Writes that wait while another one runs share a transaction (*group commit*). They wait for the disk once, together.
/// The thread of one caller, the leader, runs them all, while the other callers wait.
///
/// Isolation: any.
final class StoreWriter: Sendable {
    /// The work before a transaction with writes.
    private struct Preparation {
        var body: (@Sendable (_ reserve: (Int64) throws -> Int64) throws -> Void)?
    }

    private let database: any DatabaseWriter
    /// Whether only Strata uses the database, so that no GRDB observer needs notifications of writes.
    let isOwned: Bool
    /// Whether the connection only reads. Then nothing is passed to this writer.
    let isReadOnly: Bool
    /// Used inside the database's writer only, which runs one access at a time.
    private let connection: Exclusive<Connection>
    /// Nil for the user's own database, where SQLite runs automatic checkpoints, and without writes. Used inside the
    /// database's writer.
    private let checkpoints: Exclusive<Checkpoints>?
    /// Runs checkpoints between commits.
    private let checkpointQueue = DispatchQueue(label: "strata.checkpoint", qos: .utility)
    private let waiting = Mutex(WaitingWrites())
    /// The writer's own thread. It leads for tasks, and runs their blocks.
    private let ownThread = DispatchQueue(label: "strata.writer")
    /// Reads inside the transactions; nil before the first block. Used inside the database's writer.
    private let reader = Mutex<Reader?>(nil)
    /// The thread that runs writes; 0 if none does.
    private let leader = Atomic<UInt>(0)
    /// Whether the connection is closed. Set and read inside the database's writer.
    private let isClosed = Atomic(false)
    /// The number of transactions with writes, for tests.
    private let transactions = Atomic(0)
    /// See ``WriteGroup/timeLimit``. Tests set another one.
    let timeLimit = Mutex(WriteGroup.timeLimit)
    /// See ``beforeTransactions(_:)``.
    private let preparation = Mutex(Preparation())
    /// Ids that a failed transaction has reserved. Used inside the database's writer.
    private let owedIDs = Exclusive(OwedIDs())
    /// Nil if no other process writes, or if processes write without turns. Used inside the database's writer.
    private let turn: Exclusive<WriteTurn>?
    /// Nil for a store without a home. Used inside the database's writer.
    private let home: Exclusive<HomeLink>?
    /// Warns of blocks that hold this writer for long.
    let blockWatch: BlockWatch
    /// The snapshots of the readers of this store.
    let snapshots: OpenSnapshots
    let journal: Journal
    /// Brings the transactions of other machines; nil for a store without a home.
    let follower: HomeFollower?
    /// Reports to the home of the store; nil without a home.
    let reporter: NodeReporter?

    /// Creates the writer of a database.
    ///
    /// - Parameters:
    ///   - isOwned: whether the database is closed with the store.
    ///   - turn: makes this process take turns with other ones. Only for a database that is owned.
    ///   - home: joins the transactions with those of other machines. Only for a database that is owned.
    init(
        _ database: any DatabaseWriter,
        isOwned: Bool,
        isReadOnly: Bool,
        connection: Exclusive<Connection>,
        turn: Exclusive<WriteTurn>?,
        home: Exclusive<HomeLink>?,
        blockWatch: BlockWatch
    ) {
        self.database = database
        self.isOwned = isOwned
        self.isReadOnly = isReadOnly
        self.connection = connection
        self.turn = turn
        self.home = home
        follower = home?.use { $0.follower }
        reporter = home?.use { $0.reporter }
        self.blockWatch = blockWatch
        let snapshots = OpenSnapshots()
        self.snapshots = snapshots
        checkpoints =
            isOwned && !isReadOnly ? connection.use { Exclusive(Checkpoints($0.pointer, snapshots)) } : nil
        checkpoints?.use { $0.start() }
        journal = Journal(of: connection.use { $0.path } ?? database.path)
        follower?.afterApplying { [weak self] pages in self?.checkpointLater(pages) }
    }

    /// The name with which SQLite opens the file: its path, or a URI if no process can change it.
    var path: String { database.path }
    var configuration: Configuration { database.configuration }

    /// Runs a write. Writes run one after another, in the order of calls.
    ///
    /// Isolation: blocks the thread until the transaction of the write has ended. The functions of the write may run on
    /// another thread meanwhile. They are called as follows:
    /// - The body writes, and returns the names of the changed tables.
    /// - `settle` is called once for all writes of a transaction that has begun, before the next transaction of this
    ///   process begins.
    /// - `ended` is called after `settle` and before the next transaction. If only this write has failed, it is called
    ///   before the next write of the transaction.
    func run(_ write: WaitingWrite) throws {
        // Such a write would wait for itself.
        guard !isOnLeadingThread else { throw Self.nestedError }
        let settle = write.settle
        if isOwned {
            if !waiting.withLock({ $0.add(write) }) {
                noteWaiting()
                write.wait()
            }
            if !write.hasEnded { lead(settle) }
        } else {
            database.writeWithoutTransaction { db in
                run(db, settle, WriteGroup(timeLimit: .zero, runsBlocks: false)) { $0.isEmpty ? write : nil }
            }
        }
        do { try write.result() } catch { throw StrataError(grdb: error) }
    }

    /// Gives a block's write its place among the other writes. It runs on the writer's own thread. Only for a file that
    /// Strata owns.
    ///
    /// - Parameters:
    ///   - adding: calls its argument once, now or later and on any thread. This gives the write its place.
    ///   - resuming: lets the caller continue by calling its argument, on any thread. Called inside the database's
    ///     writer.
    /// - Returns: waits for the end of the write. Called once.
    func add(
        block write: WaitingWrite,
        adding: (_ add: @escaping @Sendable () -> Void) -> Void,
        resuming: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) -> PendingWrite {
        let completion = Completion()
        write.willResume { resuming { completion.complete() } }
        adding {
            if self.waiting.withLock({ $0.add(write) }) { self.leadOnOwnThread(for: write) } else { self.noteWaiting() }
        }
        return PendingWrite(write: write, completion: completion)
    }

    /// Notes that a write waits, perhaps for a block inside the running transaction.
    func noteWaiting() {
        if blockWatch.hasStarted { return }
        blockWatch.start { [weak self] in self?.waitingCount ?? 0 }
    }

    private func leadOnOwnThread(for write: WaitingWrite) {
        ownThread.async {
            // The function may hold the last reference to the store. It is released outside of the database's writer.
            let settle = write.settle
            withExtendedLifetime(settle) { self.lead(settle, runsBlocks: true) }
        }
    }

    /// Runs the first of the waiting writes, and others in the same transaction.
    ///
    /// - Parameter runsBlocks: whether the running thread is the writer's own. Otherwise the first write is the
    ///   caller's.
    private func lead(_ settle: WaitingWrite.Settling?, runsBlocks: Bool = false) {
        database.writeWithoutTransaction { db in
            run(db, settle, WriteGroup(timeLimit: timeLimit.withLock { $0 }, runsBlocks: runsBlocks)) { group in
                waiting.withLock { $0.next(for: group) }
            }
            checkpoints?.use { $0.afterCommit() }
        }
        guard let next = waiting.withLock({ $0.nextLeader() }) else { return }
        if next.isBlock { leadOnOwnThread(for: next) } else { next.wake() }
    }

    /// Whether the running thread runs writes.
    var isOnLeadingThread: Bool { leader.load(ordering: .relaxed) == Self.thread }

    /// A number that distinguishes the running thread from the others.
    private static var thread: UInt {
        #if canImport(Darwin)
            UInt(bitPattern: pthread_self())
        #else
            UInt(pthread_self())
        #endif
    }

    private static var nestedError: StrataError {
        StrataError(
            .invalidState,
            "This thread is writing commits. Code that runs in a commit, such as a merge policy or the block of a write, "
                + "must not save, commit or run a batch."
        )
    }

    /// Runs the writes of one transaction, inside the database's writer.
    ///
    /// - Parameters:
    ///   - group: a group without writes.
    ///   - next: the next write of a group; nil if the group is complete. The first call returns one.
    private func run(
        _ db: Database,
        _ settle: WaitingWrite.Settling?,
        _ group: WriteGroup,
        _ next: (WriteGroup) -> WaitingWrite?
    ) {
        leader.store(Self.thread, ordering: .relaxed)
        defer { leader.store(0, ordering: .relaxed) }
        var group = group
        guard let first = next(group) else { return }
        group.add(first)
        let joining = home?.use { $0.chooseJoining(for: first.access) } ?? .locked
        connection.use { connection in
            do {
                guard !isClosed.load(ordering: .relaxed) else { throw Store.closedError }
                try preparation.withLock { $0 }.body? { try reserveIDs($0, db, connection) }
                if let trace = connection.trace { trace.context = first.context() }
                transactions.add(1, ordering: .relaxed)
                try transact(db, connection, joining) {
                    group.begin(on: connection, joining)
                    var tables = try run(first, isFirst: true, &group, connection)
                    while let write = next(group) {
                        group.add(write)
                        if let trace = connection.trace { trace.context = write.context() }
                        tables += try run(write, isFirst: false, &group, connection)
                    }
                    // The end of a transaction with several writes belongs to none of them.
                    if let trace = connection.trace, group.count > 1 { trace.context = nil }
                    return tables
                } failed: {
                    settle?(false, connection)
                }
                settle?(true, connection)
                group.end(.success(()))
            } catch {
                group.end(.failure(error))
            }
        }
    }

    /// Runs the write of a group that was added last.
    ///
    /// - Throws: if the transaction has failed: the error for the other writes of the group.
    private func run(
        _ write: WaitingWrite,
        isFirst: Bool,
        _ group: inout WriteGroup,
        _ connection: Connection
    ) throws -> [String] {
        defer { group.measure(on: connection) }
        home?.use { $0.willRun(write.access) }
        if !isFirst { try connection.statement(.savepoint).runBound() }
        let tables: [String]
        do {
            tables = try write.run(connection)
            // The body may have caught an error that has ended the transaction.
            guard connection.isInTransaction else { throw Self.endedError(connection) }
        } catch {
            // Some errors end the whole transaction, such as a full disk.
            let hasEnded = isFirst || !connection.isInTransaction
            let error = home?.use { $0.decide(error) } ?? error
            group.failLast(error, endsTransaction: hasEnded)
            if hasEnded {
                let isOfDisk = (error as? StrataError)?.isAccessFailure ?? false
                throw isFirst || isOfDisk ? error : Self.endedError(connection)
            }
            try connection.statement(.rollbackToSavepoint).runBound()
            try connection.statement(.releaseSavepoint).runBound()
            // Paid outside of the savepoint.
            try owedIDs.use { try $0.pay(on: connection) }
            return []
        }
        if !isFirst { try connection.statement(.releaseSavepoint).runBound() }
        return tables
    }

    /// The reason why SQLite has ended a transaction.
    static func endedError(_ connection: Connection) -> StrataError {
        let code = connection.lastErrorCode
        guard code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE else { return connection.lastError(code) }
        return StrataError(.database, "SQLite has ended the transaction of this commit.")
    }

    /// Runs a transaction, inside the database's writer.
    ///
    /// In a file that only Strata uses, the statements bypass GRDB, since no observer could miss the
    /// transaction. A commit of one row takes a third less time than with GRDB's.
    ///
    /// - Parameters:
    ///   - joining: how the transaction is joined with the home, if there is one.
    ///   - body: writes, and returns the names of the changed tables.
    ///   - failed: called as soon as the transaction has failed. Unless SQLite has ended it by itself, no other process
    ///     can commit before.
    private func transact(
        _ db: Database,
        _ connection: Connection,
        _ joining: HomeJoining = .locked,
        _ body: () throws -> [String],
        failed: () -> Void = {}
    ) throws {
        do {
            try begin(db, connection, joining)
            do {
                try owedIDs.use { try $0.pay(on: connection) }
                let tables = try body()
                if let home {
                    try home.use { try $0.publish(on: connection) }
                    do { try connection.statement(.commit).runBound() } catch { throw HomeLink.publishedError(error) }
                    home.use { $0.end() }
                } else if isOwned {
                    try connection.statement(.commit).runBound()
                } else {
                    for table in tables { try db.notifyChanges(in: Table(table)) }
                    try db.commit()
                }
            } catch {
                home?.use { $0.abandon() }
                failed()
                // After some errors, such as a full disk, SQLite has rolled back already. Then this rollback fails
                // without consequence.
                if isOwned { try? connection.execute("ROLLBACK") } else { try? db.rollback() }
                throw error
            }
        } catch {
            owedIDs.use { $0.payApart(on: connection) }
            throw error
        }
        connection.trace?.explain(on: connection)
        owedIDs.use { $0.forget() }
    }

    /// Begins a transaction, after those of other processes and machines.
    private func begin(_ db: Database, _ connection: Connection, _ joining: HomeJoining) throws {
        guard isOwned else { return try db.beginTransaction(.immediate) }
        try home?.use { try $0.prepare(joining) }
        do {
            let statement = { _ = try connection.statement(.beginWriting).runBound() }
            if let turn { try turn.use { try $0.begin(statement) } } else { try statement() }
            try home?.use { try $0.begin() }
        } catch {
            home?.use { $0.abandon() }
            if connection.isInTransaction { try? connection.execute("ROLLBACK") }
            throw error
        }
    }

    /// The number of transactions with writes so far, for tests.
    var transactionCount: Int { transactions.load(ordering: .relaxed) }

    /// The number of writes that no transaction has taken yet.
    var waitingCount: Int { waiting.withLock { $0.count } }

    /// Reads inside the running transaction, with its uncommitted changes. Called by a write of the transaction.
    func transactionReader(of entities: [any AnyEntity]) throws -> Reader {
        try reader.withLock { reader in
            if let reader { return reader }
            let made = try connection.use { try Reader(inTransactionsOf: $0, entities: entities) }
            reader = made
            return made
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

    /// Runs a checkpoint if another connection of this process has made the journal large, when the writer is free.
    ///
    /// - Parameter pages: the journal's size.
    func checkpointLater(_ pages: Int) {
        guard let checkpoints, pages >= Checkpoints.pages else { return }
        checkpointQueue.async { [weak self] in
            self?.database.writeWithoutTransaction { _ in checkpoints.use { $0.afterCommit(ofOther: pages) } }
        }
    }

    /// Copies a large journal between two snapshots of a pinned context, unless a transaction is running.
    ///
    /// Complexity: O(1) while the journal is small.
    func copyJournalIfLarge() {
        guard let checkpoints, journal.size > Journal.limit, !waiting.withLock({ $0.isLed }) else { return }
        database.writeWithoutTransaction { _ in checkpoints.use { $0.afterSnapshots() } }
    }

    /// The number of checkpoints that were tried, for tests.
    var checkpointCount: Int { database.writeWithoutTransaction { _ in checkpoints?.use { $0.count } ?? 0 } }

    // MARK: Maintenance

    /// Runs work on the writer's connection, outside of a transaction and between those of this process.
    ///
    /// - Parameter body: receives the connection, and the turn of this process; nil if processes write without turns.
    func maintain<Value>(_ body: (Connection, WriteTurn?) throws -> Value) throws -> Value {
        guard !isOnLeadingThread else { throw Self.nestedError }
        return try database.writeWithoutTransaction { _ in
            guard !isClosed.load(ordering: .relaxed) else { throw Store.closedError }
            return try connection.use { try body($0, turn?.use { $0 }) }
        }
    }

    /// Copies the journal into the file, if no reader is in the way. The file then gets the size of its contents.
    func copyJournal() throws {
        guard let checkpoints else { return }
        try maintain { _, _ in checkpoints.use { $0.copyAll() } }
    }

    // MARK: Ids

    /// Takes the ids of rows and the numbers of external bytes from the home. Several files, the working copies, are one
    /// store. Counters in the files would give the same id twice.
    func takeIDs(from ids: HomeIDs) {
        database.writeWithoutTransaction { _ in connection.use { $0.homeIDs = ids } }
    }

    /// Sets the function that is called inside the database's writer before each transaction with writes. If it throws,
    /// the writes of the transaction fail.
    ///
    /// - Parameter body: gets a function that reserves a number of ids and returns the first one.
    func beforeTransactions(_ body: @escaping @Sendable (_ reserve: (Int64) throws -> Int64) throws -> Void) {
        preparation.withLock { $0.body = body }
    }

    /// Reserves a range of ids, and returns the first one. Inside a transaction of this writer, the reservation is part
    /// of it.
    ///
    /// - Parameter areNeeded: asked when this process has the writer. If it returns false, nothing is reserved, and the
    ///   result is nil.
    func reserveIDs(_ count: Int64, if areNeeded: () -> Bool = { true }) throws -> Int64? {
        if let follower { return try follower.reserveIDs(count) }
        do {
            // A block is on another queue than the database's, which would wait for the block.
            if isOnLeadingThread { return try reserveInTransaction(count) }
            // A reservation waits without a place among the writes.
            if blockWatch.hasBlock { noteWaiting() }
            return try database.unsafeReentrantWrite { db in
                guard areNeeded() else { return nil }
                return try connection.use { try reserveIDs(count, db, $0) }
            }
        } catch {
            throw StrataError(grdb: error)
        }
    }

    /// Reserves a range of ids in a separate transaction, inside the database's writer.
    private func reserveIDs(_ count: Int64, _ db: Database, _ connection: Connection) throws -> Int64 {
        if let trace = connection.trace { trace.context = nil }
        var first: Int64 = 0
        try transact(db, connection) {
            first = try connection.reserveIDs(count)
            return []
        }
        return first
    }

    private func reserveInTransaction(_ count: Int64) throws -> Int64 {
        let first = try connection.use { connection in
            guard connection.isInTransaction else { throw Self.endedError(connection) }
            return try connection.reserveIDs(count)
        }
        owedIDs.use { $0.note(first + count) }
        return first
    }

    /// Releases the statements, and closes the database if Strata owns it.
    func close() throws {
        do {
            database.writeWithoutTransaction { _ in
                isClosed.store(true, ordering: .relaxed)
                checkpoints?.use { $0.stop() }
                reader.withLock { $0 = nil }
                turn?.use { $0.stop() }
                connection.use {
                    // The source of the ids refers to this writer.
                    $0.homeIDs = nil
                    $0.finalize()
                }
            }
            if isOwned { try database.close() }
        } catch {
            throw StrataError(grdb: error)
        }
    }
}
