import Logging
import Metrics

/// A component that works on a stack independently until the stack is closed.
package protocol StackEngine: AnyObject, Sendable {
    /// Ends the engine's work. Called before the stack is closed, possibly more than once.
    func stop() async

    /// Whether the calling task runs inside the engine, so that `stop()` would wait for that same task.
    var isInside: Bool { get }
}

/// A serial queue of an engine's blocks, each of which runs in a new context.
package final class BlockQueue: Sendable {
    let executor: ContextExecutor

    /// The maximum number of runs of a block. A block runs again while other commits change the rows that it reads.
    static let runLimit = 100
    /// The number of runs after which other writers of this process wait for the block.
    static let runsWithoutBackpressure = 3

    package init(label: String) { executor = ContextExecutor(label: label) }
}

extension ContextStack {
    /// Runs a write transaction of an engine, as a separate commit if the transaction changes anything. The transaction
    /// waits for the one before it.
    ///
    /// - Isolation: any. Blocks the thread while the disk is busy.
    /// - Throws: errors thrown by `body`, after which nothing is changed; errors that the store reports.
    package func transact(author: String, _ body: (StoreTransaction) throws -> Void) throws {
        try core.engine.transact(author: author, body)
    }

    /// Runs a block in a new context directly over the store. The context ends with the block.
    package nonisolated(nonsending) func overStore<T: Sendable>(
        _ body: sending (ObjectContext) throws -> T
    ) async throws -> T {
        let handle = try core.make(.private, named: nil, parent: nil)
        return try await handle.run(stack: [handle], dropping: true, isLimited: false, body)
    }

    /// Runs a block in a new context directly over the store and commits the block's changes together with an engine's
    /// writes.
    ///
    /// The block runs after the earlier blocks of a queue. The engine's writes come after the block's changes, in the
    /// same transaction. If another commit has meanwhile changed a table that the block has read, the block runs again
    /// on the newest state. The committed changes therefore always result from running the block on the current state
    /// of the store.
    ///
    /// - Parameters:
    ///   - changes: the block.
    ///   - prepared: called when only the writing remains, before the transaction.
    ///   - body: the engine's writes, in the transaction.
    ///   - ended: called after each run that has called `prepared`, before anything else runs on the queue. Its
    ///     argument says whether the commit succeeded.
    /// - Throws: errors thrown by the blocks and by the commit; then nothing is committed. `conflict` if other commits
    ///   have changed the tables that the block reads during each of 100 runs.
    package nonisolated(nonsending) func commitOverStore(
        on queue: BlockQueue,
        author: String,
        _ changes: @escaping @Sendable (ObjectContext) throws -> Void,
        prepared: @escaping @Sendable () -> Void = {},
        alongside body: @escaping @Sendable (StoreTransaction) throws -> Void,
        ended: @escaping @Sendable (_ isCommitted: Bool) -> Void = { _ in }
    ) async throws {
        let backpressure = core.engine.backpressure
        var isHeld = false
        defer { if isHeld { backpressure.release() } }
        for run in 1...BlockQueue.runLimit {
            // Commits of other such blocks ignore the backpressure. They run before or after a run of this block,
            // and the block that exerts it may have to wait for them.
            if run > BlockQueue.runsWithoutBackpressure, !isHeld {
                backpressure.acquire()
                isHeld = true
            }
            let handle = try core.make(.private, named: nil, parent: nil, on: queue.executor)
            do {
                return try await handle.run(stack: [handle], dropping: true, isLimited: false) { context in
                    let record = ReadRecord()
                    context.reading.readRecord = record
                    do {
                        try changes(context)
                        var isPrepared = false
                        var isCommitted = false
                        defer { if isPrepared { ended(isCommitted) } }
                        try context.commit(
                            author: author,
                            prepared: {
                                prepared()
                                isPrepared = true
                            },
                            alongside: body
                        )
                        isCommitted = true
                    } catch {
                        // The block has read two different states of the store.
                        throw record.isStale ? StaleReads() : error
                    }
                }
            } catch is StaleReads {
                // The block runs again even if the task was cancelled meanwhile, because the event that the block
                // records has already happened.
            }
        }
        throw StrataError(
            .conflict,
            "Nothing was committed: in each of \(BlockQueue.runLimit) runs, another commit changed objects that the "
                + "block had read. Make the block shorter."
        )
    }

    /// Registers a listener that is called at every commit, including commits of other processes.
    ///
    /// The argument contains the commit's changes; it is nil if the changes are not known. For a commit of this stack,
    /// the listener is called before the next transaction begins, and before the commit returns. Calls for commits of
    /// other processes come from any thread, and may overlap with other calls or come after them. The listener must
    /// only record the commit and return.
    ///
    /// - Returns: the registration, which lasts as long as this object lives. A call that is in progress when the
    ///   object is released still completes.
    package func listen(_ listener: @escaping @Sendable ([ChangeSet]?) -> Void) -> CommitListening {
        defer { core.engine.watchFile() }
        return core.engine.layers.listen(listener)
    }

    /// The number of listeners to commits.
    package var listenerCount: Int { core.engine.layers.listenerCount }

    /// The engine with this name. If the stack has none yet, `make` creates it.
    ///
    /// - Throws: `closed` when the stack is being closed.
    package func engine<Engine: StackEngine>(_ name: String, _ make: () -> Engine) throws -> Engine {
        try core.engines.withLock { engines in
            if engines.isClosing { throw StrataError(.closed, "The stack is being closed. Open another one.") }
            if let engine = engines.all[UTF8Text(name)] as? Engine { return engine }
            let engine = make()
            engines.all[UTF8Text(name)] = engine
            return engine
        }
    }

    /// Releases the engine with this name.
    package func removeEngine(_ name: String) {
        core.engines.withLock { _ = $0.all.removeValue(forKey: UTF8Text(name)) }
    }

    /// Whether the stack was opened with a model.
    package func knows(_ model: any Model.Type) -> Bool { (try? core.engine.schema.index(of: model)) != nil }

    /// The value that distinguishes the store of this stack from other stores.
    package var fingerprint: UInt16 { core.engine.identity.fingerprint }

    /// The id of a row of this stack's store.
    package func id<Object: Model>(_ number: Int64, of model: Object.Type) -> ObjectID<Object> {
        ObjectID(rawValue: number, fingerprint: fingerprint)
    }

    /// The logger for this stack; nil if the stack has no logger.
    package var logger: Logger? { core.engine.telemetry.logger }

    /// The factory of this stack's metrics and their dimensions; nil if the stack has no metrics.
    package var metrics: (factory: any MetricsFactory, dimensions: [(String, String)])? {
        core.engine.telemetry.factory
    }

    /// Logs a message about this stack.
    package func log(_ level: Logger.Level, _ message: String) { core.log(level, message) }
}

extension ObjectContext {
    /// The engine with this name that works on the context's stack; nil if the stack has none.
    package func engine<Engine: StackEngine>(_ name: String, of type: Engine.Type) -> Engine? { reference.engine(name) }
}
