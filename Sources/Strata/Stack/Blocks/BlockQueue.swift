import Dispatch
import Synchronization

/// A serial queue of blocks, each of which runs in a new context and is then committed.
///
/// A block that runs before its transaction runs on the executor, which then waits for the commit. A block that runs
/// inside its transaction may keep the order of the queue too: see ``addToWriter(_:)``.
package final class BlockQueue: Sendable {
    let executor: ContextExecutor
    let label: String
    /// The blocks of this queue that the writer has, and that have not ended.
    private let inTransactions = DispatchGroup()
    /// The number of calls whose blocks wait, run, or are being committed.
    private let calls = Atomic(0)

    /// The maximum number of runs of a block, unless its caller says otherwise. A block runs again while other commits
    /// change what it reads.
    package static let runLimit = 100
    /// The number of runs outside of the transaction. Then the block runs inside.
    static let runsOutside = 3

    package init(label: String) {
        executor = ContextExecutor(label: label)
        self.label = label
    }

    /// Notes the begin of a call. Returns whether no other call has a block in the queue.
    func begin() -> Bool { calls.add(1, ordering: .relaxed).oldValue == 0 }

    func end() { calls.subtract(1, ordering: .relaxed) }

    /// Adds a block to the writes that wait for the writer, when all earlier blocks of this queue have been committed
    /// or added. The writer runs its writes in order, so the executor does not wait for the block.
    ///
    /// - Parameter add: adds the block. When its transaction has ended, ``transactionHasEnded()`` must be called.
    func addToWriter(_ add: @escaping @Sendable () -> Void) {
        executor.async { [inTransactions] in
            inTransactions.enter()
            add()
        }
    }

    /// Notes that the transaction of an added block has ended.
    func transactionHasEnded() { inTransactions.leave() }

    /// Waits for the earlier blocks that run inside transactions. Called on the executor, by a block that runs before
    /// its transaction.
    func waitForTransactions(of store: Store) {
        // A short wait is usual. After a long one, the writer says for which block.
        while inTransactions.wait(timeout: .now() + .seconds(1)) == .timedOut { store.noteWaiting() }
    }
}

extension StackCore {
    /// Runs a block in a new context, commits its changes, and returns its value.
    ///
    /// The block runs on a queue, after the earlier blocks of this queue, and its commit follows. If another commit has
    /// meanwhile changed a table that the block has read, the block runs again on the newest state. A block that is
    /// short, or has run three times, runs inside the transaction instead. There nothing can change meanwhile, except in a
    /// store with a home: an optimistic transaction may run a second time, with the home's lock. In a caller's own
    /// database, and over a parent, all runs are before the transaction.
    ///
    /// In a store with a home, an error of a block before its transaction is final only if the block has read the
    /// newest state of the home: see ``FailedReads``. A block inside an optimistic transaction runs again with the lock
    /// instead.
    ///
    /// - Parameters:
    ///   - parent: the parent of the new context. If nil, the context is directly over the store.
    ///   - limit: the maximum number of runs. If nil, the block runs once, and its reads are not checked.
    ///   - pace: measures the blocks like this one. If nil, the block counts as long.
    ///   - isOrdered: whether a block inside a transaction also waits for the earlier blocks of the queue, and later
    ///     blocks of the queue for it. Otherwise it waits for the writer only. The only block of an ordered queue runs
    ///     before its transaction: it would share the transaction with no other block, and needs fewer threads there.
    ///   - body: the block.
    ///   - commit: the work of an engine that is committed with the block.
    /// - Throws: errors thrown by the block and by the commit; then nothing is committed. `conflict` if other commits
    ///   have changed what the block reads during each run. The errors of ``FailedReads/check(in:)``.
    nonisolated(nonsending) func runAndCommit<T: Sendable>(
        on queue: BlockQueue,
        over parent: ContextHandle? = nil,
        limit: Int?,
        pace: BlockPace? = nil,
        isOrdered: Bool = false,
        _ body: @escaping @Sendable (ObjectContext) throws -> T,
        by commit: BlockCommit = BlockCommit()
    ) async throws -> T {
        try engine.checkWritable()
        let mayRunInside = limit != nil && parent == nil && engine.runsBlocksInTransactions
        let pace = mayRunInside ? pace : nil
        let isOnly = queue.begin() && isOrdered
        defer { queue.end() }
        let body: @Sendable (ObjectContext) throws -> T = { context in
            try pace?.measure { try body(context) } ?? body(context)
        }
        var (run, access) = (1, HomeAccess.newest)
        while run <= limit ?? 1 {
            do {
                if mayRunInside, run > BlockQueue.runsOutside || pace?.isShort ?? false && !isOnly {
                    return try await runInTransaction(on: queue, isOrdered: isOrdered, access, body, commit)
                }
                return try await runBeforeTransaction(on: queue, over: parent, checksReads: limit != nil, body, commit)
            } catch is StaleReads {
                // The block of an engine runs again even if the task was cancelled meanwhile, because the event that
                // the block records has already happened.
                run += 1
            } catch is OutdatedTransaction {
                // With the home's lock, the next run is the last one. So this run does not count.
                access = .locked
            }
        }
        throw StrataError(
            .conflict,
            "Nothing was committed: in each run of the block (\(limit ?? 1)), another context or process changed "
                + "objects that the block had read. Make the block shorter."
        )
    }

    /// Runs a block on the queue, and commits its changes if its reads are still valid.
    ///
    /// - Throws: ``StaleReads`` if the block must run again.
    private nonisolated(nonsending) func runBeforeTransaction<T: Sendable>(
        on queue: BlockQueue,
        over parent: ContextHandle?,
        checksReads: Bool,
        _ body: @escaping @Sendable (ObjectContext) throws -> T,
        _ commit: BlockCommit
    ) async throws -> T {
        let handle = try make(.private, named: nil, parent: parent, on: queue.executor)
        let failed = Mutex<FailedReads?>(nil)
        do {
            return try await handle.run(stack: [handle], dropping: true, isLimited: false, span: .write) { context in
                queue.waitForTransactions(of: context.store)
                context.saving.refusal = .committedAfterBlock
                if checksReads { context.reading.readRecord = ReadRecord(parents: context.path.dropLast()) }
                var hasBegun = false
                do {
                    let value = try body(context)
                    let pending = try commit.begin(in: context)
                    hasBegun = true
                    commit.prepared()
                    var isCommitted = false
                    defer { commit.ended?(isCommitted) }
                    try context.carryOut(pending)
                    isCommitted = true
                    return value
                } catch {
                    if let error = error as? StrataError, error.isAccessFailure { throw error }
                    // The block has read two different states of the store.
                    if context.reading.readRecord?.isStale ?? false { throw StaleReads() }
                    // Errors of a transaction come from the newest state, because it checks the reads first.
                    if !hasBegun { failed.withLock { $0 = FailedReads(error, in: context) } }
                    throw error
                }
            }
        } catch {
            // The queue is free meanwhile, and calls that wait share one question to the home.
            try await failed.withLock { $0 }?.check(in: engine)
            throw error
        }
    }

    /// Runs a block inside a transaction, which commits its changes.
    ///
    /// - Throws: ``OutdatedTransaction`` if the block must run again, with the home's lock. The task of a block inside a
    ///   transaction runs once, so the writer cannot repeat the block.
    private nonisolated(nonsending) func runInTransaction<T: Sendable>(
        on queue: BlockQueue,
        isOrdered: Bool,
        _ access: HomeAccess,
        _ body: @escaping @Sendable (ObjectContext) throws -> T,
        _ commit: BlockCommit
    ) async throws -> T {
        let handle = try make(.private, named: nil, parent: nil, on: transactionBlocks)
        let scope = try enter(handle, stack: [handle], dropping: true, span: .write)
        defer { scope.span?.end() }
        defer { callerGoesOn() }
        let block = TransactionBlock(
            scope,
            on: transactionBlocks,
            of: queue.label,
            after: isOrdered ? queue : nil,
            access: access
        ) { context in
            context.saving.refusal = .committedAfterBlock
            let value = try body(context)
            return (value, try commit.begin(in: context))
        }
        commit.prepared()
        do {
            return try await block.run(ended: commit.ended)
        } catch {
            scope.recordInSpan(error)
            throw error
        }
    }
}
