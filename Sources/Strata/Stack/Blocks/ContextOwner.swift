import Synchronization
import Tracing

/// The actor that owns the `SavingContext` of one context, on the executor of that context.
///
/// For a main context, this is the executor of the main actor, so code of the main actor reaches the object without a
/// hop.
actor ContextOwner {
    /// Nil for a main context.
    private nonisolated let executor: ContextExecutor?

    /// Admits the blocks of the context, one at a time.
    nonisolated let mutex: AsyncMutex

    /// Serialises the commits of a main context while they write to the disk, without excluding blocks.
    nonisolated let commitMutex: AsyncMutex

    private nonisolated let created = Atomic(false)
    private nonisolated let turnIsDirty = Atomic(false)
    /// Whether a turn has ended during the running block, so that the context is refreshed after the block.
    private var isEndOfTurnPostponed = false

    private(set) var context: SavingContext?
    private nonisolated let retired = Atomic(false)

    /// - Parameter executor: a shared executor, if the context takes turns with others; nil for a separate executor.
    init(kind: ContextKind, title: String, on executor: ContextExecutor?) {
        self.executor = kind == .main ? nil : executor ?? ContextExecutor(label: "strata.context.\(title)")
        mutex = AsyncMutex(name: title)
        commitMutex = AsyncMutex(name: "the commit of \(title)")
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor?.asUnownedSerialExecutor() ?? MainActor.sharedUnownedExecutor
    }

    /// Whether the caller runs on the executor of the context.
    nonisolated var isCurrent: Bool {
        executor?.isCurrent ?? MainExecutor.isCurrent
    }

    /// Whether the `SavingContext` exists: the context has been used and has not been dropped.
    nonisolated var isCreated: Bool {
        created.load(ordering: .acquiring)
    }

    /// Whether the context has been dropped.
    nonisolated var isRetired: Bool {
        retired.load(ordering: .acquiring)
    }

    /// Runs a synchronous block when the mutex admits it: one hop to the executor and one back.
    ///
    /// The caller has counted the block as active in `StackCore.enter`; this function ends the count.
    ///
    /// - Parameter isLimited: whether the block takes a place in the reader pool.
    func run<T: Sendable>(
        _ scope: BlockScope,
        isLimited: Bool = false,
        _ body: sending (SavingContext) throws -> T
    ) async throws -> T {
        let core = scope.handle.core
        defer { core.leave() }
        let entry = mutex.tryEnter(scope)
        if entry == nil { try await mutex.wait(scope) }
        let isAlone = entry != .joined
        defer { end(scope, isAlone: isAlone) }
        if isLimited, isAlone { try await takePlace(scope) }
        let context = try begin(scope, isAlone: isAlone)
        return try call(body, with: context, scope)
    }

    /// Runs an asynchronous block when the mutex admits it.
    func run<T>(
        _ scope: BlockScope,
        isLimited: Bool,
        _ body: sending nonisolated(nonsending) (SavingContext) async throws -> sending T
    ) async throws -> sending T {
        let core = scope.handle.core
        defer { core.leave() }
        let entry = mutex.tryEnter(scope)
        if entry == nil { try await mutex.wait(scope) }
        let isAlone = entry != .joined
        defer { end(scope, isAlone: isAlone) }
        if isLimited, isAlone { try await takePlace(scope) }
        do {
            if let span = scope.span {
                return try await ServiceContext.$current.withValue(span.context) {
                    try await BlockScope.$current.withValue(scope) {
                        // As below.
                        let context = try self.begin(scope, isAlone: isAlone)
                        return UnsafeTransfer(try await body(context))
                    }
                }.open()
            }
            return try await BlockScope.$current.withValue(scope) {
                // The use of `self` isolates this closure to the actor, so the body runs on the actor's executor even
                // after an await. The synchronous call before the body keeps Swift 6.3.1 from leaving out the hop to
                // that executor.
                let context = try self.begin(scope, isAlone: isAlone)
                return UnsafeTransfer(try await body(context))
            }.open()
        } catch {
            scope.noteFailure()
            throw error
        }
    }

    /// Runs the only block of a new context, inside a transaction of the writer.
    ///
    /// - Parameters:
    ///   - reader: reads inside the transaction.
    ///   - body: the block. The context does not read any more after it.
    func run<T: Sendable>(
        _ scope: BlockScope,
        in reader: Reader,
        _ body: (SavingContext) throws -> T
    ) throws -> T {
        // No other code knows the context yet.
        _ = mutex.tryEnter(scope)
        let context = try begin(scope, isAlone: true)
        context.reading.transaction = reader
        defer { context.leaveTransaction() }
        return try call(body, with: context, scope)
    }

    /// Runs the only block of a new private context, on the calling thread.
    ///
    /// The caller has counted the block as active in `StackCore.enter`; this function ends the count.
    nonisolated func runOnCallingThread<T: Sendable>(
        _ scope: BlockScope,
        _ body: (SavingContext) throws -> T
    ) throws -> T {
        defer { scope.handle.core.leave() }
        guard let executor else { preconditionFailure("A main context has no executor of its own.") }
        return try withoutActuallyEscaping(body) { body in
            // The block stays on the calling thread, which waits for it.
            nonisolated(unsafe) let body = body
            return try executor.sync { try assumeIsolated { try $0.runAlone(scope, body) } }
        }
    }

    /// Calls a block, and notes if it has thrown an error.
    private func call<T>(
        _ body: (SavingContext) throws -> T,
        with context: SavingContext,
        _ scope: BlockScope
    ) throws -> T {
        do {
            return try BlockScope.$current.withValue(scope) {
                guard let span = scope.span else { return try body(context) }
                return try ServiceContext.$current.withValue(span.context) { try body(context) }
            }
        } catch {
            scope.noteFailure()
            throw error
        }
    }

    private func runAlone<T>(_ scope: BlockScope, _ body: (SavingContext) throws -> T) throws -> T {
        // No other code knows the context yet.
        _ = mutex.tryEnter(scope)
        defer { end(scope, isAlone: true) }
        let context = try begin(scope, isAlone: true)
        return try call(body, with: context, scope)
    }

    /// Ends the context of ``run(_:in:_:)``, when the outcome of the transaction is known.
    func endTransaction(_ scope: BlockScope) { end(scope, isAlone: true) }

    /// Commits a main context: begins and finishes on this executor, and writes on another queue in between.
    ///
    /// The mutex of blocks is free while the disk works. A commit takes the commit mutex while it holds the mutex of
    /// blocks. No code that holds the commit mutex waits for the mutex of blocks, so the two mutexes cannot deadlock.
    ///
    /// - Parameter others: the prepared layers of the other contexts of a chain.
    func commit(_ scope: BlockScope, with others: [Int: PreparedLayer] = [:]) async throws {
        let core = scope.handle.core
        defer { core.leave() }
        let entry = mutex.tryEnter(scope)
        if entry == nil { try await mutex.wait(scope) }
        let isAlone = entry != .joined
        let context: SavingContext
        let pending: PendingCommit
        do {
            defer { end(scope, isAlone: isAlone) }
            context = try begin(scope, isAlone: isAlone)
            if commitMutex.tryEnter(scope) == nil { try await commitMutex.wait(scope) }
            do {
                pending = try context.beginCommit(with: others)
            } catch {
                commitMutex.leave(scope)
                throw error
            }
        }
        defer { commitMutex.leave(scope) }
        let result = await core.writer.write(pending)
        context.finishCommit(pending, result)
        _ = try result.get()
    }

    /// The `SavingContext`, created at first use.
    ///
    /// - Throws: `contextInvalidated`.
    func object(for handle: ContextHandle) throws -> SavingContext {
        if let context { return context }
        if isRetired {
            throw StrataError(
                .contextInvalidated,
                "The context \(handle) has been dropped. Create a new one, or look up the name again."
            )
        }
        let context = SavingContext(handle: handle)
        self.context = context
        created.store(true, ordering: .releasing)
        if handle.merging == .now { handle.core.engine.watchFile() }
        if handle.kind == .main { handle.core.isMainInUse.store(true, ordering: .releasing) }
        return context
    }

    /// Publishes the edits of the context; does nothing if the context was never used.
    func publish() {
        context?.publish()
    }

    /// Lets the context show the newest state in the middle of a block.
    func lookAgain() {
        context?.lookAgain()
    }

    /// Ends the context after the blocks that wait for it, and returns the number of lost changes.
    func retire(_ scope: BlockScope) async -> Int {
        // Entering cannot fail: the task is detached, is never cancelled, and has no block around it.
        if mutex.tryEnter(scope) == nil { try? await mutex.wait(scope) }
        defer { mutex.leave(scope) }
        return drop()
    }

    /// Ends the context immediately and returns the number of lost changes.
    func drop() -> Int {
        retired.store(true, ordering: .releasing)
        created.store(false, ordering: .releasing)
        guard let context else { return 0 }
        self.context = nil
        let lost = context.hasChanges ? context.discard() : 0
        context.end()
        return lost
    }

    /// Schedules one `endTurn` for the turn of the main actor that used the context.
    nonisolated func scheduleEndOfTurn() {
        if turnIsDirty.exchange(true, ordering: .acquiringAndReleasing) { return }
        Task.detached { await self.endTurn() }
    }

    private func endTurn() {
        turnIsDirty.store(false, ordering: .releasing)
        if mutex.holder == nil {
            context?.endTurn()
        } else {
            // At an await of an asynchronous block, the main actor's turn ends but the block does not. The block keeps
            // its snapshot, so the changes of other contexts are shown when it has ended.
            context?.publish()
            context?.turnHasEnded()
            isEndOfTurnPostponed = true
        }
    }

    /// Waits for a place in the reader pool, which the block leaves when it ends. The block waits after it has passed
    /// the mutex, so that of many blocks on one context only the running block has a place.
    private func takePlace(_ scope: BlockScope) async throws {
        try await scope.handle.core.engine.takePlace(scope)
        scope.hasPlace = true
    }

    private func begin(_ scope: BlockScope, isAlone: Bool) throws -> SavingContext {
        let context = try object(for: scope.handle)
        if isAlone {
            scope.noteTurn()
            context.reading.hasPlace = scope.hasPlace
            context.beginBlock()
        }
        return context
    }

    private func end(_ scope: BlockScope, isAlone: Bool) {
        if scope.dropsContext {
            // If the block throws, its caller already knows about the failure.
            scope.handle.core.reportLost(
                drop(),
                of: scope.handle.description,
                at: "the end of its background block",
                level: scope.hasFailed ? .debug : .warning
            )
        } else if isAlone {
            context?.endBlock()
        } else {
            context?.publish()
        }
        let later = scope.end()
        if scope.hasPlace { scope.handle.core.engine.leavePlace() }
        if isAlone {
            mutex.leave(scope)
            if isEndOfTurnPostponed {
                isEndOfTurnPostponed = false
                scheduleEndOfTurn()
            }
        }
        if !later.isEmpty { scope.handle.core.launchSaves(later) }
    }
}
