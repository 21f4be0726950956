import Synchronization

/// The actor that owns the working face of one context, on the executor of that context.
///
/// For a main context that executor is the main actor's, so code of the main actor gets at the object without a hop.
actor ContextOwner {
    /// Nil for a main context.
    private nonisolated let executor: ContextExecutor?

    /// Lets the blocks of the context in.
    nonisolated let gate: Gate

    /// Keeps commits of a main context apart while they are on the disk, without keeping blocks out.
    nonisolated let commitGate: Gate

    private nonisolated let created = Atomic(false)
    private nonisolated let turnIsDirty = Atomic(false)

    private(set) var context: ObjectContext?
    private nonisolated let retired = Atomic(false)

    /// - Parameter executor: that of others, where the context takes turns with them; by default one of its own.
    init(kind: ContextKind, title: String, on executor: ContextExecutor? = nil) {
        self.executor = kind == .main ? nil : executor ?? ContextExecutor(label: "strata.context.\(title)")
        gate = Gate(name: title)
        commitGate = Gate(name: "the commit of \(title)")
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor?.asUnownedSerialExecutor() ?? MainActor.sharedUnownedExecutor
    }

    /// Whether the caller runs on the executor of the context.
    nonisolated var isCurrent: Bool {
        executor?.isCurrent ?? MainExecutor.isCurrent
    }

    /// Whether the context has a working face: it has been used and not been dropped.
    nonisolated var isCreated: Bool {
        created.load(ordering: .acquiring)
    }

    /// Whether the context has been dropped.
    nonisolated var isRetired: Bool {
        retired.load(ordering: .acquiring)
    }

    /// Runs a synchronous block in its turn: one hop here and one back.
    ///
    /// The caller has counted the block in `StackCore.enter`; it is counted out here.
    ///
    /// - Parameter isLimited: whether the block takes a place in the reader pool.
    func run<T: Sendable>(
        _ scope: BlockScope,
        isLimited: Bool = false,
        _ body: sending (ObjectContext) throws -> T
    ) async throws -> T {
        let core = scope.handle.core
        defer { core.leave() }
        let entry = gate.tryEnter(scope)
        if entry == nil { try await gate.wait(scope) }
        let isAlone = entry != .joined
        defer { end(scope, isAlone: isAlone) }
        if isLimited, isAlone { try await takePlace(scope) }
        let context = try begin(scope, isAlone: isAlone)
        do {
            return try BlockScope.$current.withValue(scope) { try body(context) }
        } catch {
            scope.noteFailure()
            throw error
        }
    }

    /// Runs an asynchronous block in its turn.
    func run<T>(
        _ scope: BlockScope,
        isLimited: Bool = false,
        _ body: sending nonisolated(nonsending) (ObjectContext) async throws -> sending T
    ) async throws -> sending T {
        let core = scope.handle.core
        defer { core.leave() }
        let entry = gate.tryEnter(scope)
        if entry == nil { try await gate.wait(scope) }
        let isAlone = entry != .joined
        defer { end(scope, isAlone: isAlone) }
        if isLimited, isAlone { try await takePlace(scope) }
        do {
            return try await BlockScope.$current.withValue(scope) {
                // Using `self` in here is what isolates the closure to this actor, so that the body is run on its executor
                // also after its awaits; and the synchronous call before the body keeps 6.3.1 from leaving out the hop to it.
                let context = try self.begin(scope, isAlone: isAlone)
                return SendingBox(try await body(context))
            }.open()
        } catch {
            scope.noteFailure()
            throw error
        }
    }

    /// Commits a main context: begins and finishes here, and writes elsewhere meanwhile.
    ///
    /// The gate of blocks is free while the disk works. The commit gate is taken inside of it and nothing that holds the
    /// commit gate waits for the other, so they cannot wait for each other.
    ///
    /// - Parameter others: what other contexts of a chain have made ready.
    func commit(_ scope: BlockScope, with others: [Int: PreparedLayer] = [:]) async throws {
        let core = scope.handle.core
        defer { core.leave() }
        let entry = gate.tryEnter(scope)
        if entry == nil { try await gate.wait(scope) }
        let isAlone = entry != .joined
        let pending: PendingCommit
        do {
            defer { end(scope, isAlone: isAlone) }
            let context = try begin(scope, isAlone: isAlone)
            if commitGate.tryEnter(scope) == nil { try await commitGate.wait(scope) }
            do {
                pending = try context.beginCommit(with: others)
            } catch {
                commitGate.leave(scope)
                throw error
            }
        }
        defer { commitGate.leave(scope) }
        let result = await core.writer.write(pending)
        if let context {
            context.finishCommit(pending, result)
        } else {
            pending.letGo()
            if case .success = result { pending.callbacks.run() }
        }
        _ = try result.get()
    }

    /// The working face, made at first use.
    ///
    /// - Throws: `contextEnded`.
    func object(for handle: ContextHandle) throws -> ObjectContext {
        if let context { return context }
        if isRetired {
            throw StrataError(
                .contextEnded,
                "The context \(handle) has been dropped. Create a new one, or look the name up again."
            )
        }
        let context = ObjectContext(handle: handle)
        self.context = context
        created.store(true, ordering: .releasing)
        if handle.merging == .now { handle.core.engine.watchFile() }
        if handle.kind == .main { handle.core.isMainInUse.store(true, ordering: .releasing) }
        return context
    }

    /// Publishes what the context holds; does nothing if it was never used.
    func publish() {
        context?.publish()
    }

    /// Lets the context show the newest state in the middle of a block.
    func lookAgain() {
        context?.lookAgain()
    }

    /// Ends the context after the blocks that wait for it, and gives the number of changes that are lost.
    func retire(_ scope: BlockScope?) async -> Int {
        if let scope {
            // The task is detached and never cancelled, and it has no block around it: it cannot fail to get in.
            if gate.tryEnter(scope) == nil { try? await gate.wait(scope) }
        }
        let lost = drop()
        if let scope { gate.leave(scope) }
        return lost
    }

    /// Ends the context now.
    func drop() -> Int {
        retired.store(true, ordering: .releasing)
        created.store(false, ordering: .releasing)
        guard let context else { return 0 }
        self.context = nil
        let lost = context.hasChanges ? context.discard() : 0
        context.end()
        return lost
    }

    /// Sees to it that the turn of the main actor that touched the context ends with `endTurn`, once.
    nonisolated func scheduleEndOfTurn() {
        if turnIsDirty.exchange(true, ordering: .acquiringAndReleasing) { return }
        Task.detached { await self.endTurn() }
    }

    private func endTurn() {
        turnIsDirty.store(false, ordering: .releasing)
        if gate.holder == nil {
            context?.endTurn()
        } else {
            // Between the awaits of an asynchronous block the turn ends, the block does not.
            context?.publish()
            context?.turnHasEnded()
        }
    }

    /// Waits for a place in the reader pool, which the block leaves at its end. Behind the gate, so that of many blocks on one context only
    /// the running one has a place.
    private func takePlace(_ scope: BlockScope) async throws {
        try await scope.handle.core.engine.takePlace(scope)
        scope.hasPlace = true
    }

    private func begin(_ scope: BlockScope, isAlone: Bool) throws -> ObjectContext {
        let context = try object(for: scope.handle)
        if isAlone {
            scope.noteTurn()
            context.hasPlace = scope.hasPlace
            context.beginBlock()
        }
        return context
    }

    private func end(_ scope: BlockScope, isAlone: Bool) {
        if scope.dropsContext {
            // Whoever called a block that throws knows of it.
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
        if isAlone { gate.leave(scope) }
        if !later.isEmpty { scope.handle.core.launchSaves(later) }
    }
}
