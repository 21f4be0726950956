extension ContextHandle {
    /// Runs a synchronous block in this context, alone on the stack of the block, and gives back its value.
    ///
    /// Blocks on one context run first come, first served, one at a time. A block inside a block of the same task joins. On an unnamed
    /// context it waits for a place besides, see ``StoreConfiguration/maximumReaderCount``.
    ///
    /// - Isolation: callable from anywhere; the block runs on the executor of the context.
    /// - Throws: what the block throws; `StrataError` with `closed`, `contextEnded` or `waitingRing`;
    ///   `CancellationError` when the task is cancelled while it waits for its turn.
    /// - Complexity: one hop to the executor and back.
    public nonisolated(nonsending) func perform<T: Sendable>(
        _ body: sending (ObjectContext) throws -> T
    ) async throws -> T {
        try await run(stack: [self], body)
    }

    /// Runs an asynchronous block in this context, alone on the stack of the block, and gives back its value.
    ///
    /// Nothing else enters the context until the block has ended, also while it awaits; on main, synchronous code of
    /// the main actor may run meanwhile.
    ///
    /// - Isolation: callable from anywhere; the block runs on the executor of the context.
    /// - Throws: as the synchronous shape does.
    public nonisolated(nonsending) func perform<T>(
        _ body: sending nonisolated(nonsending) (ObjectContext) async throws -> sending T
    ) async throws -> sending T {
        try await run(stack: [self], body)
    }

    /// - Parameters:
    ///   - stack: what is the stack inside of the block.
    ///   - dropping: whether the context ends with the block.
    ///   - isLimited: whether the block waits for a place among the readers; not where an engine runs it, which those in the places may
    ///     wait for.
    nonisolated(nonsending) func run<T: Sendable>(
        stack: [ContextHandle],
        dropping: Bool = false,
        isLimited: Bool = true,
        _ body: sending (ObjectContext) throws -> T
    ) async throws -> T {
        let scope = try core.enter(self, stack: stack, dropping: dropping)
        defer { core.callerGoesOn() }
        if isLimited { try await takePlace(scope) }
        defer { if scope.hasPlace { core.engine.leavePlace() } }
        return try await owner.run(scope, body)
    }

    nonisolated(nonsending) func run<T>(
        stack: [ContextHandle],
        dropping: Bool = false,
        isLimited: Bool = true,
        _ body: sending nonisolated(nonsending) (ObjectContext) async throws -> sending T
    ) async throws -> sending T {
        let scope = try core.enter(self, stack: stack, dropping: dropping)
        defer { core.callerGoesOn() }
        if isLimited { try await takePlace(scope) }
        defer { if scope.hasPlace { core.engine.leavePlace() } }
        return try await owner.run(scope, body)
    }

    /// Takes a place among the readers, or waits for one, where the block is one of those that do: of an unnamed private context, and within
    /// no other block. Those outside of it may wait for what it does.
    private nonisolated(nonsending) func takePlace(_ scope: BlockScope) async throws {
        guard name == nil, kind != .main, merging != .pinned, scope.runningAncestors.isEmpty else { return }
        do {
            try await core.engine.takePlace(scope)
        } catch {
            _ = scope.end()
            core.leave()
            throw error
        }
        scope.hasPlace = true
    }
}
