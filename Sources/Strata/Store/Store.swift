import Foundation
import GRDB
import Synchronization

/// The SQLite file of a stack, with one writer, a pool of readers, the source of ids, and the layers above the file.
///
/// Isolation: any.
final class Store: Sendable {
    let schema: Schema
    let identity: StoreIdentity
    let layers: LayerRegistry
    let ids: IDSource
    let retention: HistoryRetention
    /// The models of the store that the stack does not open; nil if it opens all models.
    let unopened: UnopenedModels?
    let telemetry: Telemetry
    /// The callbacks that run after commits.
    let callbacks = CommitCallbacks()
    let writer: StoreWriter
    private let readers: ReaderPool
    private let foreignCommits: ForeignCommits
    private let fileWatch = FileWatch()
    private let temporaryFolder: TemporaryFolder?
    /// Whether only this stack can change the store.
    private let isAlone: Bool
    private let isClosed = Mutex(false)

    init(
        _ location: StoreLocation,
        schema: Schema,
        configuration: StoreConfiguration,
        migration: Migration = Migration(),
        cancellation: Cancellation = Cancellation(),
        telemetry: Telemetry = Telemetry(nil, Diagnostics())
    ) throws {
        try configuration.check()
        let opening = StoreOpening(
            schema: schema,
            migration: migration,
            cancellation: cancellation,
            telemetry: telemetry
        )
        self.telemetry = telemetry
        self.schema = schema
        retention = configuration.history
        let isReadOnly = configuration.isReadOnly
        var folder: TemporaryFolder?
        if case .inMemory = location.kind { folder = try TemporaryFolder() }
        temporaryFolder = folder
        do {
            let opened: StoreOpening.Opened
            switch location.kind {
            case .pool(let pool):
                opened = try pool.writeWithoutTransaction {
                    try opening.prepare($0, pool, isOwned: false, isReadOnly: isReadOnly)
                }
            case .file(let file) where isReadOnly: opened = try opening.openReadOnly(file, configuration)
            case .file(let file): opened = try opening.openOwned(file, configuration)
            case .shared(let home, let file): opened = try opening.open(home, copy: file, configuration)
            case .userData where isReadOnly:
                opened = try opening.openReadOnly(try StoreFile.userDataURL(creatingFolder: false), configuration)
            case .userData: opened = try opening.open(try StoreFile.userDataURL(), configuration)
            case .inMemory where isReadOnly:
                throw StrataError(.cannotOpen, "A store in memory begins empty. Open it without `isReadOnly`.")
            case .inMemory:
                let file = folder!.url.appendingPathComponent("store.sqlite")
                opened = try opening.openOwned(file, configuration, isTemporary: true)
            }
            cancellation.finish()
            isAlone = folder != nil || opened.isUnchangeable
            writer = opened.writer
            identity = opened.identity
            unopened = opened.unopened
            layers = LayerRegistry(sequence: opened.sequence)
            readers = ReaderPool(
                writer,
                limit: configuration.maximumReaderCount,
                cacheSize: configuration.readerCacheSize,
                identity: identity,
                entities: schema.entities,
                telemetry: telemetry
            )
            foreignCommits = ForeignCommits(readers: readers)
            ids = IDSource(fingerprint: identity.fingerprint)
        } catch {
            folder?.remove()
            let path = location.path
            if let passed = error as? PassedError {
                throw (passed.error as? StrataError)?.whileOpening(path) ?? passed.error
            }
            throw StrataError(grdb: error).whileOpening(path)
        }
        follow()
        if isReadOnly {
            ids.startWithoutStore()
        } else {
            ids.start { [writer] in
                writer.isOnLeadingThread
            } _: { [writer] count, areNeeded in
                try writer.reserveIDs(count, if: areNeeded)
            }
            // The ids of a home are not part of the transactions.
            if writer.follower == nil {
                writer.beforeTransactions { [weak ids] in try ids?.fetchBeforeTransaction($0) }
            }
        }
    }

    deinit { try? close() }

    /// The file.
    var url: URL { URL(fileURLWithPath: path) }
    var path: String { writer.path }
    var journal: Journal { writer.journal }

    /// See ``StoreWriter/copyJournalIfLarge()``.
    func copyJournalIfLarge() { writer.copyJournalIfLarge() }
    /// See ``StoreWriter/checkpointCount``.
    var checkpointCount: Int { writer.checkpointCount }

    // MARK: Reading

    /// Borrows a reader for the caller's exclusive use, until the caller gives it back.
    ///
    /// - Parameters:
    ///   - context: the name of the context that reads, for the log.
    ///   - isOfPlace: whether the reader is for a block that has a place among the readers.
    func borrowReader(for context: @autoclosure () -> String? = nil, isOfPlace: Bool = false) throws -> Reader {
        try checkOpen()
        do {
            let reader = try readers.borrow(isOfPlace: isOfPlace)
            if let trace = reader.connection.trace { trace.context = context() }
            return reader
        } catch {
            throw StrataError(grdb: error)
        }
    }

    /// Reads the newest state of the store, on a separate connection.
    ///
    /// - Parameters:
    ///   - context: the name of the context that reads, for the log.
    ///   - body: receives the connection, and the number of the last commit that the connection sees.
    func reading<Result>(
        for context: @autoclosure () -> String? = nil,
        _ body: (Connection, _ sequence: Int64) throws -> Result
    ) throws -> Result {
        let reader = try borrowReader(for: context())
        defer { giveBack(reader) }
        do {
            return try body(reader.connection, try reader.begin())
        } catch {
            throw StrataError(grdb: error)
        }
    }

    /// Reads a state of the store that is not older than the state that the layers know, on a separate connection.
    ///
    /// The read must not reset the layers to a state before a commit that they have applied meanwhile. `body` checks
    /// this while it holds the layers, with ``LayerRegistry/rebasing(onto:_:by:_:)``. If `body` returns nil, it is
    /// called again with a newer state.
    ///
    /// - Parameter context: the name of the context that reads, for the log.
    func readingForLayers<Result>(
        for context: @autoclosure () -> String? = nil,
        _ body: (LayerReading) throws -> Result?
    ) throws -> Result {
        let reader = try borrowReader(for: context())
        defer { giveBack(reader) }
        do {
            while true {
                let reading = LayerReading(connection: reader.connection, sequence: try reader.begin())
                if let result = try body(reading) { return result }
                LayerRegistry.waitForCommit()
            }
        } catch {
            throw StrataError(grdb: error)
        }
    }

    /// Whether other processes or stacks have committed changes that the layers do not know yet. Always false for a
    /// temporary store, which only this stack uses, and for a file that no process can change.
    func hasForeignCommits() throws -> Bool {
        guard !isAlone else { return false }
        try checkOpen()
        do {
            let newest = try foreignCommits.newestSequence()
            return layers.state.withLock { newest > $0.sequence }
        } catch {
            throw StrataError(grdb: error)
        }
    }

    /// Applies commits of other processes and stacks, if there are any.
    func absorbForeignCommits() throws {
        if try hasForeignCommits() { try absorbUnknownCommits() }
    }

    /// Applies the commits that are in the store and not known to the layers.
    func absorbUnknownCommits() throws {
        try reading { try layers.absorbForeign($1, schema, $0) }
    }

    /// Applies commits of other processes and stacks as soon as they are in the file. Does nothing for a temporary
    /// store, which only this stack uses, and for a file that no process can change.
    ///
    /// Complexity: O(1) from the second call on.
    func watchFile() {
        guard !isAlone else { return }
        fileWatch.start(journal.path) { [weak self] in
            self?.following { try $0.absorbForeignCommits() } ?? true
        }
    }

    func giveBack(_ reader: Reader) { readers.giveBack(reader) }

    /// See ``ReaderPool/enter(_:)``.
    nonisolated(nonsending) func takePlace(_ scope: BlockScope) async throws { try await readers.enter(scope) }

    func leavePlace() { readers.leave() }

    /// See ``ReaderPool/count``.
    var readerCount: Int { readers.count }

    /// See ``ReaderPool/usedCount``.
    var usedReaderCount: Int { readers.usedCount }

    /// See ``ReaderPool/waitingCount``.
    var waitingCount: Int { readers.waitingCount }

    // MARK: Writing

    /// Runs a write: see ``StoreWriter/run(_:)``. The layers learn of the commits that `body` has announced before the
    /// next transaction begins.
    ///
    /// If a write without the home's lock is outdated, or needs the lock, it is written a second time, with the lock. Then
    /// `body` and `ended` are called twice, in turn.
    ///
    /// - Parameters:
    ///   - mayShare: whether the write may share a transaction with others.
    ///   - access: what the write needs of the home, if there is one.
    func write(
        for context: @escaping () -> String? = { nil },
        mayShare: Bool = false,
        access: HomeAccess = .locked,
        _ body: @escaping (Connection) throws -> [String],
        ended: @escaping (_ isCommitted: Bool) -> Void = { _ in }
    ) throws {
        try checkWritable()
        func run(_ access: HomeAccess) throws {
            try writer.run(
                WaitingWrite(for: context, mayShare: mayShare, access: access, body, ended: ended) { [self] in
                    settle($0, $1)
                }
            )
        }
        do { try run(access) } catch let error as StrataError where error.passed is OutdatedTransaction {
            try run(.locked)
        }
    }

    /// Adds a write that begins with a block of the application: see ``StoreWriter/add(block:adding:resuming:)``.
    ///
    /// - Parameters:
    ///   - body: receives a reader on the connection of the transaction, and returns the changed tables.
    ///   - access: what the write needs of the home, if there is one. Unless it is `locked`, the write may throw
    ///     ``OutdatedTransaction``. Then the caller adds another write, with the lock.
    ///   - ended: as in ``write(for:mayShare:_:ended:)``.
    ///   - adding: calls its argument when the write may wait for the writer, on any thread.
    ///   - resuming: lets the caller continue by calling its argument, on any thread.
    func add(
        block body: @escaping (Reader) throws -> [String],
        for context: @escaping () -> String?,
        access: HomeAccess,
        ended: @escaping (_ isCommitted: Bool) -> Void,
        adding: (_ add: @escaping @Sendable () -> Void) -> Void,
        resuming: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) -> PendingWrite {
        let write = WaitingWrite(for: context, mayShare: true, access: access, isBlock: true) { [self] _ in
            try body(try writer.transactionReader(of: schema.entities))
        } ended: { isCommitted in
            ended(isCommitted)
        } settle: { [self] in
            settle($0, $1)
        }
        return writer.add(block: write, adding: adding, resuming: resuming)
    }

    /// See ``StoreWriter/blockWatch``.
    var blockWatch: BlockWatch { writer.blockWatch }
    /// See ``StoreWriter/noteWaiting()``.
    func noteWaiting() { writer.noteWaiting() }

    /// See ``StoreWriter/isOnLeadingThread``.
    var isOnLeadingThread: Bool { writer.isOnLeadingThread }

    /// Whether blocks can run inside transactions. In a caller's own database, the caller's code may wait for them.
    var runsBlocksInTransactions: Bool { isOwnedForWriting }

    /// Whether only Strata writes on the writer's connection, and may write there.
    var isOwnedForWriting: Bool { writer.isOwned && !writer.isReadOnly }

    /// See ``StoreWriter/maintain(_:)``.
    func maintain<Value>(_ body: (Connection, WriteTurn?) throws -> Value) throws -> Value { try writer.maintain(body) }

    /// See ``StoreWriter/copyJournal()``.
    func copyJournal() throws { try writer.copyJournal() }

    private func settle(_ isCommitted: Bool, _ connection: Connection) {
        guard isCommitted else { return layers.withdraw() }
        if let error = layers.applyAnnounced(schema, connection) { following { _ in throw error } }
    }

    /// See ``StoreWriter/transactionCount``.
    var transactionCount: Int { writer.transactionCount }
    /// See ``StoreWriter/waitingCount``.
    var waitingWriteCount: Int { writer.waitingCount }

    /// Changes the time after which no further write joins a transaction, for tests. With zero, every write gets a
    /// separate transaction.
    func setGroupTimeLimit(_ limit: Duration) { writer.timeLimit.withLock { $0 = limit } }

    // MARK: Closing

    func checkOpen() throws {
        if isClosed.withLock({ $0 }) { throw Self.closedError }
    }

    /// - Throws: `closed`; `readOnly` if the stack was opened to read only.
    func checkWritable() throws {
        try checkOpen()
        guard writer.isReadOnly else { return }
        throw StrataError(
            .readOnly,
            "This stack only reads the store, and nothing was written. To write, open a stack without `isReadOnly`."
        )
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
        writer.reporter?.close()
        writer.follower?.close()
        layers.finish()
        ids.stop()
        foreignCommits.close()
        readers.close()
        defer { temporaryFolder?.remove() }
        if !isAlone { optimizeBeforeClosing() }
        try writer.close()
    }
}
