extension ContextStack {
    /// Runs a synchronous block in the context with this name, alone on the stack of the block, and gives back its value.
    ///
    /// - Isolation: callable from anywhere; the block runs on the executor of the context.
    /// - Throws: what the block throws; `unknownName`, `closed`, `contextEnded`, `waitingRing`;
    ///   `CancellationError` when the task is cancelled while it waits for its turn.
    public nonisolated(nonsending) func on<T: Sendable>(
        _ name: ContextName,
        _ body: sending (ObjectContext) throws -> T
    ) async throws -> T {
        try await core.handle(named: name).perform(body)
    }

    /// Runs an asynchronous block in the context with this name, alone on the stack of the block, and gives back its value.
    ///
    /// Nothing else enters the context until the block has ended, also while it awaits.
    ///
    /// - Isolation: callable from anywhere; the block runs on the executor of the context.
    /// - Throws: what the block throws; `unknownName`, `closed`, `contextEnded`, `waitingRing`;
    ///   `CancellationError` when the task is cancelled while it waits for its turn.
    public nonisolated(nonsending) func on<T>(
        _ name: ContextName,
        _ body: sending nonisolated(nonsending) (ObjectContext) async throws -> sending T
    ) async throws -> sending T {
        try await core.handle(named: name).perform(body)
    }

    /// Runs a synchronous block in this context, alone on the stack of the block, and gives back its value.
    ///
    /// - Isolation: callable from anywhere; the block runs on the executor of the context.
    /// - Throws: what the block throws; `foreignContext`, `closed`, `contextEnded`, `waitingRing`;
    ///   `CancellationError` when the task is cancelled while it waits for its turn.
    public nonisolated(nonsending) func on<T: Sendable>(
        _ handle: ContextHandle,
        _ body: sending (ObjectContext) throws -> T
    ) async throws -> T {
        try core.check(handle)
        return try await handle.perform(body)
    }

    /// Runs an asynchronous block in this context, alone on the stack of the block, and gives back its value.
    ///
    /// Nothing else enters the context until the block has ended, also while it awaits.
    ///
    /// - Isolation: callable from anywhere; the block runs on the executor of the context.
    /// - Throws: what the block throws; `foreignContext`, `closed`, `contextEnded`, `waitingRing`;
    ///   `CancellationError` when the task is cancelled while it waits for its turn.
    public nonisolated(nonsending) func on<T>(
        _ handle: ContextHandle,
        _ body: sending nonisolated(nonsending) (ObjectContext) async throws -> sending T
    ) async throws -> sending T {
        try core.check(handle)
        return try await handle.perform(body)
    }
}
