package import Logging
package import Metrics

/// Something that works on a stack by itself, until the stack is closed.
package protocol StackEngine: AnyObject, Sendable {
    /// Ends its work. Called before the stack is closed, maybe more than once.
    func stop() async

    /// Whether it would wait for the task that asks.
    var isInside: Bool { get }
}

/// Blocks of an engine's that are run one after the other, each in a context of its own.
package final class BlockQueue: Sendable {
    let executor: ContextExecutor

    /// How often a block is run at most before what it reads has stayed as it is.
    static let runLimit = 100
    /// After how many runs others of this process have to wait for it.
    static let politeRuns = 3

    package init(label: String) { executor = ContextExecutor(label: label) }
}

extension ContextStack {
    /// Runs a write transaction of an engine's, which waits for the one before it: a commit of its own, if it changes anything.
    ///
    /// - Isolation: any. Blocks the thread while the disk is busy.
    /// - Throws: what `body` throws, after which nothing is changed; what the store reports.
    package func transact(author: String, _ body: (StoreTransaction) throws -> Void) throws {
        try core.engine.transact(author: author, body)
    }

    /// Runs a block in a new context directly over the store, which ends with the block.
    package nonisolated(nonsending) func overStore<T: Sendable>(
        _ body: sending (ObjectContext) throws -> T
    ) async throws -> T {
        let handle = try core.make(.private, named: nil, parent: nil)
        return try await handle.run(stack: [handle], dropping: true, isLimited: false, body)
    }

    /// Runs a block in a new context directly over the store, behind those before it on a queue, and commits what it has changed together with
    /// what an engine does behind it. Where anybody has changed a table meanwhile that the block has read, it is run again on the newest state:
    /// what is committed is what the block does with the store as it is.
    ///
    /// - Parameters:
    ///   - changes: what the block does.
    ///   - prepared: called once nothing is left to do but to write, before the transaction.
    ///   - body: what the engine does, in the transaction.
    ///   - ended: called behind each time that `prepared` was, with whether anything is committed, before anything else is done on the queue.
    /// - Throws: what the blocks throw, and what the commit does; then nothing is committed. `conflict` where others never leave alone what the
    ///   block reads.
    package nonisolated(nonsending) func commitOverStore(
        on queue: BlockQueue,
        author: String,
        _ changes: @escaping @Sendable (ObjectContext) throws -> Void,
        prepared: @escaping @Sendable () -> Void = {},
        alongside body: @escaping @Sendable (StoreTransaction) throws -> Void,
        ended: @escaping @Sendable (_ isCommitted: Bool) -> Void = { _ in }
    ) async throws {
        let turnstile = core.engine.turnstile
        var isHeld = false
        defer { if isHeld { turnstile.letGo() } }
        for run in 1...BlockQueue.runLimit {
            // Other blocks go ahead all the same: they come before or behind a run, and whoever holds it may have to wait for them.
            if run > BlockQueue.politeRuns, !isHeld {
                turnstile.hold()
                isHeld = true
            }
            let handle = try core.make(.private, named: nil, parent: nil, on: queue.executor)
            do {
                return try await handle.run(stack: [handle], dropping: true, isLimited: false) { context in
                    let record = ReadRecord()
                    context.readRecord = record
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
                        // What it has seen were two moments.
                        throw record.isStale ? StaleReads() : error
                    }
                }
            } catch is StaleReads {
                // Also where the task was cancelled meanwhile: what the block is to write down has happened.
            }
        }
        throw StrataError(
            .conflict,
            "Nothing was committed: others have changed what the block reads, \(BlockQueue.runLimit) times, before it was through. Let it do less."
        )
    }

    /// Has a listener called at every commit, also of other processes, with what they have changed; nil where that is not known. It is
    /// called while the layers are held: it notes the commit and returns.
    ///
    /// - Returns: what has it called as long as it lives. A call that is under way then comes to its end.
    package func listen(_ listener: @escaping @Sendable ([ChangeSet]?) -> Void) -> CommitListening {
        defer { core.engine.watchFile() }
        return core.engine.layers.hub.listen(listener)
    }

    /// How many listen to commits.
    package var listenerCount: Int { core.engine.layers.hub.listenerCount }

    /// The engine of this name; where there is none yet, the one that `make` makes.
    ///
    /// - Throws: `closed` once the stack is being closed.
    package func engine<Engine: StackEngine>(_ name: String, _ make: () -> Engine) throws -> Engine {
        try core.engines.withLock { engines in
            if engines.isClosing { throw StrataError(.closed, "The stack is being closed. Open another one.") }
            if let engine = engines.all[UTF8Text(name)] as? Engine { return engine }
            let engine = make()
            engines.all[UTF8Text(name)] = engine
            return engine
        }
    }

    /// Lets go of the engine of this name.
    package func removeEngine(_ name: String) {
        core.engines.withLock { _ = $0.all.removeValue(forKey: UTF8Text(name)) }
    }

    /// Whether the stack was opened with a model.
    package func knows(_ model: any Model.Type) -> Bool { (try? core.engine.schema.index(of: model)) != nil }

    /// What tells the store of this stack from others.
    package var fingerprint: UInt16 { core.engine.identity.fingerprint }

    /// The id of a row of this stack's store.
    package func id<Object: Model>(_ number: Int64, of model: Object.Type) -> ObjectID<Object> {
        ObjectID(number: number, fingerprint: fingerprint)
    }

    /// Who is told of this stack's work, if anybody is.
    package var logger: Logger? { core.engine.telemetry.logger }

    /// Where metrics are made, if anywhere, and with which dimensions.
    package var metrics: (factory: any MetricsFactory, dimensions: [(String, String)])? {
        core.engine.telemetry.factory
    }

    /// What is told of this stack, to whom.
    package func log(_ level: Logger.Level, _ message: String) { core.log(level, message) }
}
