extension ContextHandle {
    /// Runs a synchronous block in this context and returns the block's value.
    ///
    /// Inside the block, the stack contains this context only. Blocks on one context run one at a time, in the order of
    /// the calls. A block inside a block of the same task joins the outer block. A block on an unnamed context also
    /// waits for a place in the reader pool, see ``StoreConfiguration/maximumReaderCount``.
    ///
    /// - Isolation: callable from anywhere; the block runs on the executor of the context.
    /// - Throws: errors of the block; `StrataError` with `closed`, `contextInvalidated` or `deadlock`;
    ///   `CancellationError` if the task is cancelled while the block waits to start.
    /// - Complexity: one hop to the executor and back.
    public nonisolated(nonsending) func perform<T: Sendable>(
        _ body: sending (SavingContext) throws -> T
    ) async throws -> T {
        try await run(stack: [self], body)
    }

    /// Runs an asynchronous block in this context and returns the block's value.
    ///
    /// Inside the block, the stack contains this context only. No other block enters the context until this block has
    /// ended, even while this block awaits. On the main context, synchronous code of the main actor may run during an
    /// await.
    ///
    /// - Isolation: callable from anywhere; the block runs on the executor of the context.
    /// - Throws: the same errors as the synchronous variant.
    public nonisolated(nonsending) func perform<T>(
        _ body: sending nonisolated(nonsending) (SavingContext) async throws -> sending T
    ) async throws -> sending T {
        try await run(stack: [self], body)
    }

    /// - Parameters:
    ///   - stack: the stack inside the block.
    ///   - dropping: whether the context ends with the block.
    ///   - isLimited: whether the block waits for a place in the reader pool. Blocks of engines do not wait for a
    ///     place, because blocks that have a place may wait for the engines' blocks.
    ///   - span: the name of the block's span; nil for no span.
    nonisolated(nonsending) func run<T: Sendable>(
        stack: [ContextHandle],
        dropping: Bool = false,
        isLimited: Bool = true,
        span: SpanName? = .perform,
        _ body: sending (SavingContext) throws -> T
    ) async throws -> T {
        let scope = try core.enter(self, stack: stack, dropping: dropping, span: span)
        defer { scope.span?.end() }
        defer { core.callerGoesOn() }
        do {
            return try await owner.run(scope, isLimited: isLimited && needsPlace(scope), body)
        } catch {
            scope.recordInSpan(error)
            throw error
        }
    }

    nonisolated(nonsending) func run<T>(
        stack: [ContextHandle],
        dropping: Bool = false,
        span: SpanName? = .perform,
        _ body: sending nonisolated(nonsending) (SavingContext) async throws -> sending T
    ) async throws -> sending T {
        let scope = try core.enter(self, stack: stack, dropping: dropping, span: span)
        defer { scope.span?.end() }
        defer { core.callerGoesOn() }
        do {
            return try await owner.run(scope, isLimited: needsPlace(scope), body)
        } catch {
            scope.recordInSpan(error)
            throw error
        }
    }

    /// Whether a block takes a place in the reader pool. Only the outermost blocks of unnamed private contexts take
    /// one. A nested block takes no place, because its outer block may wait for it.
    private func needsPlace(_ scope: BlockScope) -> Bool {
        name == nil && kind != .main && merging != .pinned && scope.runningAncestors.isEmpty
    }
}
