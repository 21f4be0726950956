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
    ///   - stack: the stack inside the block.
    ///   - dropping: whether the context ends with the block.
    ///   - isLimited: whether the block waits for a place in the reader pool. Blocks of engines do not: blocks with a place may wait for
    ///     them.
    nonisolated(nonsending) func run<T: Sendable>(
        stack: [ContextHandle],
        dropping: Bool = false,
        isLimited: Bool = true,
        _ body: sending (ObjectContext) throws -> T
    ) async throws -> T {
        let scope = try core.enter(self, stack: stack, dropping: dropping)
        defer { core.callerGoesOn() }
        return try await owner.run(scope, isLimited: isLimited && needsPlace(scope), body)
    }

    nonisolated(nonsending) func run<T>(
        stack: [ContextHandle],
        dropping: Bool = false,
        isLimited: Bool = true,
        _ body: sending nonisolated(nonsending) (ObjectContext) async throws -> sending T
    ) async throws -> sending T {
        let scope = try core.enter(self, stack: stack, dropping: dropping)
        defer { core.callerGoesOn() }
        return try await owner.run(scope, isLimited: isLimited && needsPlace(scope), body)
    }

    /// Whether a block takes a place in the reader pool: the outermost blocks of unnamed private contexts. An outer block may wait for a nested
    /// one.
    private func needsPlace(_ scope: BlockScope) -> Bool {
        name == nil && kind != .main && merging != .pinned && scope.runningAncestors.isEmpty
    }
}
