import Tracing

/// A block that runs inside the transaction that commits its changes.
///
/// The block reads the newest state of the store, and no other commit can come between its reads and its writes. It
/// runs as a task, so that it sees the task-local values and the cancellation of its caller.
///
/// Isolation: used by one thread at a time: first by the caller, then by the thread of the transaction, then by the
/// caller again. The writer orders the accesses. This is the proof of `@unchecked Sendable`.
final class TransactionBlock<Value: Sendable>: TaskExecutor, @unchecked Sendable {
    typealias Body = @Sendable (ObjectContext) throws -> (value: Value, commit: PendingCommit)

    private let scope: BlockScope
    private let executor: ContextExecutor
    /// The label of the queue of the block, for the log.
    private let label: String
    /// The queue whose earlier blocks run first, and whose later ones wait; nil if the block waits for the writer only.
    private let queue: BlockQueue?
    private let access: HomeAccess
    private let body: Body
    private let watch: WriteWatch?
    /// The only job of the block's task, until it has run.
    private var job: UnownedJob?
    /// The reader while the block runs.
    private var reader: Reader?
    private var isBegun = false
    private var outcome: Result<(value: Value, commit: PendingCommit), any Error>?
    private var attempt: CommitAttempt?
    private var isCommitted = false

    /// - Parameters:
    ///   - scope: the scope of a block in a new context. The block ends it.
    ///   - executor: the executor of the context.
    ///   - label: the label of the queue of the block.
    ///   - queue: the queue whose order the block keeps; nil if it waits for the writer only.
    ///   - access: what the transaction needs of the home, if there is one. The block itself runs once.
    ///   - body: the block, and the preparation of its commit.
    init(
        _ scope: BlockScope,
        on executor: ContextExecutor,
        of label: String,
        after queue: BlockQueue?,
        access: HomeAccess,
        _ body: @escaping Body
    ) {
        (self.scope, self.executor, self.label, self.queue, self.body) = (scope, executor, label, queue, body)
        self.access = access
        watch = scope.handle.core.engine.telemetry.startMeasuring(under: scope.span?.context)
    }

    /// Runs the block and commits its changes.
    ///
    /// - Parameter ended: called on a queue of the stack when the outcome is known, before the caller continues.
    /// - Throws: errors of the block and of the commit; ``OutdatedTransaction`` if the caller must run another block
    ///   instead of this one, with the lock of the home.
    nonisolated(nonsending) func run(ended: (@Sendable (_ isCommitted: Bool) -> Void)?) async throws -> Value {
        let store = scope.handle.core.engine
        let label = ContextName.label(nil, scope.handle.id)
        do { try store.checkOpen() } catch {
            end(false)
            ended?(false)
            throw error
        }
        let task = makeTask()
        if Task.isCancelled { task.cancel() }
        // The block gets its place before this task first leaves the caller's actor. So calls from one actor keep their
        // order.
        let pending = store.add(
            block: { try self.write($0) },
            for: { label },
            access: access,
            ended: { isCommitted in
                self.end(isCommitted)
                self.queue?.transactionHasEnded()
            },
            adding: { add in if let queue { queue.addToWriter(add) } else { add() } },
            resuming: { self.tell(ended, then: $0) }
        )
        let result: Result<CommitRecord?, any Error>
        do {
            try await withTaskCancellationHandler {
                try await pending.outcome()
            } onCancel: {
                task.cancel()
            }
            result = .success(attempt?.record)
        } catch {
            result = .failure(error)
        }
        _ = try store.report(result, watch, of: label)
        // A block without an outcome has thrown.
        return try outcome!.get().value
    }

    /// Creates the task of the block. Its job runs when the transaction calls for it.
    private func makeTask() -> Task<Void, Never> { Task(executorPreference: self) { [self] in runBlock() } }

    func enqueue(_ job: consuming ExecutorJob) { self.job = UnownedJob(job) }

    /// Runs the job of the task on this thread. The block has no suspension point, so it then has run.
    private func runJob() { job.take()?.runSynchronously(on: asUnownedTaskExecutor()) }

    /// The body of the task.
    private func runBlock() {
        // The transaction has failed before the block.
        guard let reader else { return }
        isBegun = true
        let (scope, body) = (scope, body)
        outcome = Result {
            try executor.sync { try scope.handle.owner.assumeIsolated { try $0.run(scope, in: reader, body) } }
        }
    }

    /// Runs the block and writes its changes. Called inside the transaction.
    ///
    /// - Returns: the tables that were written.
    private func write(_ reader: Reader) throws -> [String] {
        watch?.hasBegun()
        self.reader = reader
        scope.handle.core.engine.blockWatch.watch(queue: label) { runJob() }
        self.reader = nil
        guard let outcome else { throw StrataError(.invalidState, "The block of a write has not run.") }
        let commit = try scope.handle.core.engine.passing { try outcome.get().commit }
        let attempt = CommitAttempt(commit)
        self.attempt = attempt
        // Otherwise each statement of the commit would be a transaction.
        guard reader.connection.isInTransaction else { throw StoreWriter.endedError(reader.connection) }
        return try attempt.run(on: reader.connection)
    }

    /// Ends the block when the outcome of its transaction is known.
    private func end(_ isCommitted: Bool) {
        self.isCommitted = isCommitted
        runJob()
        attempt?.end(isCommitted)
        attempt?.thaw()
        if case .success(let (_, commit))? = outcome {
            commit.release()
            if isCommitted {
                commit.callbacks.run()
            } else {
                commit.callbacks.release()
                scope.noteFailure()
            }
        }
        let scope = scope
        if isBegun { executor.sync { scope.handle.owner.assumeIsolated { $0.endTransaction(scope) } } }
        scope.handle.core.leave()
    }

    /// Tells the outcome, outside of the database's writer and of the caller's threads, which handlers may block.
    private func tell(
        _ ended: (@Sendable (_ isCommitted: Bool) -> Void)?,
        then resume: @escaping @Sendable () -> Void
    ) {
        guard let ended else { return resume() }
        let isCommitted = isCommitted
        scope.handle.core.transactionEnds.async {
            ended(isCommitted)
            resume()
        }
    }
}
