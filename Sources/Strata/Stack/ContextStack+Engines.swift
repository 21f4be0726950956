import Foundation
import Logging
import Tracing

/// A component that works on a stack independently until the stack is closed.
package protocol StackEngine: AnyObject, Sendable {
    /// Ends the engine's work. Called before the stack is closed, possibly more than once.
    func stop() async

    /// Whether the calling task runs inside the engine, so that `stop()` would wait for that same task.
    var isInside: Bool { get }
}

extension ContextStack {
    /// Checks that engines can work on the stack.
    ///
    /// - Throws: `closed`; `readOnly` if the stack was opened to read only.
    package func checkWritable() throws { try core.engine.checkWritable() }

    /// Runs a write transaction of an engine, as a separate commit if the transaction changes anything. The transaction
    /// waits for the one before it.
    ///
    /// - Isolation: any. Blocks the thread while the disk is busy. The functions may run on another thread meanwhile.
    /// - Parameters:
    ///   - access: what the transaction needs of the home of the store. Unless it is `locked`, `body` may run twice.
    ///     Then the changes of its first run are rolled back.
    ///   - rolledBack: called if the changes are rolled back, before another commit of this process can get their
    ///     number.
    /// - Throws: errors thrown by `body`, after which nothing is changed; errors that the store reports.
    package func transact(
        author: String,
        access: HomeAccess = .locked,
        _ body: (StoreTransaction) throws -> Void,
        rolledBack: @escaping () -> Void = {}
    ) throws {
        try core.engine.transact(author: author, access: access, body, rolledBack: rolledBack)
    }

    /// Runs a block in a new context directly over the store. The context ends with the block.
    package nonisolated(nonsending) func overStore<T: Sendable>(
        _ body: sending (SavingContext) throws -> T
    ) async throws -> T {
        let handle = try core.make(.private, named: nil, parent: nil)
        return try await handle.run(stack: [handle], dropping: true, isLimited: false, span: nil, body)
    }

    /// Runs a block that only reads, in a new context directly over the store. The context ends with the block.
    ///
    /// The block runs on the calling thread: changing threads takes longer than reading a few objects. Use
    /// ``overStore(_:)`` for blocks that read many rows.
    ///
    /// - Isolation: callable from anywhere. Blocks the thread while the disk is busy.
    package nonisolated func readOverStore<T: Sendable>(_ body: (ObjectContext) throws -> T) throws -> T {
        let handle = try core.make(.private, named: nil, parent: nil)
        let scope = try core.enter(handle, stack: [handle], dropping: true)
        defer { core.callerGoesOn() }
        return try handle.owner.runOnCallingThread(scope, body)
    }

    /// Runs a block in a new context directly over the store, and commits the block's changes. Short blocks share
    /// transactions with other commits.
    ///
    /// The committed changes result from running the block on the current state of the store, as those of
    /// ``commitOverStore(on:pace:author:_:prepared:alongside:rolledBack:ended:)``. The block must not wait for other
    /// commits.
    ///
    /// - Throws: errors thrown by the block and by the commit; then nothing is committed. In a store with a home, after
    ///   an error of the block, the errors of ``catchUp()``.
    @discardableResult
    package nonisolated(nonsending) func writeOverStore<T: Sendable>(
        on queue: BlockQueue,
        pace: BlockPace,
        _ body: @escaping @Sendable (ObjectContext) throws -> T
    ) async throws -> T {
        try await core.runAndCommit(on: queue, limit: BlockQueue.runLimit, pace: pace, body)
    }

    /// Runs a block in a new context directly over the store and commits the block's changes together with an engine's
    /// writes.
    ///
    /// The engine's writes come after the block's changes, in the same transaction. The committed changes always result
    /// from running the block on the current state of the store. Either the block runs inside the transaction, or it
    /// runs before, after the earlier blocks of a queue, and runs again if another commit has meanwhile changed a table
    /// that it has read. See ``StackCore/runAndCommit(on:over:limit:pace:isOrdered:_:by:)``.
    ///
    /// - Parameters:
    ///   - pace: measures the blocks like this one, of which short ones run inside the transaction.
    ///   - changes: the block. It must not wait for other commits.
    ///   - prepared: called before the transaction, when only the writing remains or the block is about to run in it.
    ///   - body: the engine's writes, in the transaction. In a store with a home, it may be called again after
    ///     `rolledBack`, so it must not depend on its earlier call.
    ///   - rolledBack: called if the writes are rolled back, before another commit of this process can get their
    ///     number.
    ///   - ended: called after each run that has called `prepared`, on a queue of the stack. Its argument says whether
    ///     the commit succeeded.
    /// - Throws: errors thrown by the blocks and by the commit; then nothing is committed. `conflict` if `body` has
    ///   thrown ``StaleReads`` in each of 100 runs. In a store with a home, after an error of a block, the errors of
    ///   ``catchUp()``.
    package nonisolated(nonsending) func commitOverStore(
        on queue: BlockQueue,
        pace: BlockPace? = nil,
        author: String,
        _ changes: @escaping @Sendable (ObjectContext) throws -> Void,
        prepared: @escaping @Sendable () -> Void = {},
        alongside body: @escaping @Sendable (StoreTransaction) throws -> Void,
        rolledBack: @escaping @Sendable () -> Void = {},
        ended: (@Sendable (_ isCommitted: Bool) -> Void)? = nil
    ) async throws {
        let work = PendingCommit.EngineWork(author: author, body: body, rolledBack: rolledBack)
        let commit = BlockCommit(work: work, prepared: prepared, ended: ended)
        try await core.runAndCommit(on: queue, limit: BlockQueue.runLimit, pace: pace, changes, by: commit)
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

    /// Rejects a call that waits for the work of others, if the running task belongs to a block of this stack.
    ///
    /// The block would keep its context, its snapshot and its place among the readers during the wait, and the others
    /// may need them.
    ///
    /// - Parameter wait: what the call waits for, as the beginning of the message.
    /// - Throws: `insideBlock`.
    package func requireOutsideBlocks(_ wait: String) throws {
        guard BlockScope.isInside(core) else { return }
        throw StrataError(
            .insideBlock,
            "\(wait) may need what this block holds. Return from the block first, and wait after it."
        )
    }

    /// The number of listeners to commits.
    package var listenerCount: Int { core.engine.layers.listenerCount }

    /// The number of transactions with writes so far, for tests.
    package var transactionCount: Int { core.engine.transactionCount }

    /// The number of writes that wait for the writer, including one that waits for another process, for tests.
    package var waitingWriteCount: Int { core.engine.waitingWriteCount }

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

    /// The path of the store's file. A store in memory has a temporary file.
    package var filePath: String {
        let path = core.engine.path
        // A file that no user may write to is opened by its address.
        guard path.hasBytePrefix("file:///"), let url = URL(string: path) else { return path }
        return url.path
    }

    /// The id of a row of this stack's store.
    package func id<Object: Model>(_ number: Int64, of model: Object.Type) -> ObjectID<Object> {
        ObjectID(rawValue: number, fingerprint: fingerprint)
    }

    /// The logger for this stack; nil if the stack has no logger.
    package var logger: Logger? { core.engine.telemetry.logger }

    /// Creates metrics with the dimensions of this stack; nil if the stack has no metrics.
    package var metricsSource: MetricsSource? { core.engine.telemetry.metricsSource }

    /// The tracer of this stack; nil if the stack is not traced.
    package var tracer: (any Tracer)? { core.engine.telemetry.spans?.tracer }

    /// Logs a message about this stack.
    package func log(_ level: Logger.Level, _ message: String) { core.log(level, message) }
}

extension ObjectContext {
    /// The engine with this name that works on the context's stack; nil if the stack has none.
    package func engine<Engine: StackEngine>(_ name: String, of type: Engine.Type) -> Engine? { reference.engine(name) }

    /// The tracer of the context's stack; nil if the stack is not traced.
    package var tracer: (any Tracer)? { store.telemetry.spans?.tracer }
}
