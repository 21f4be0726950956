extension ContextStack {
    /// Runs a synchronous block in the context with this name and returns the block's value.
    ///
    /// Inside the block, the stack contains this context only.
    ///
    /// - Isolation: callable from anywhere; the block runs on the executor of the context.
    /// - Throws: errors of the block; `unknownName`, `closed`, `contextInvalidated`, `deadlock`; `CancellationError` if
    ///   the task is cancelled while the block waits to start.
    public nonisolated(nonsending) func on<T: Sendable>(
        _ name: ContextName,
        _ body: sending (ObjectContext) throws -> T
    ) async throws -> T {
        try await core.handle(named: name).perform(body)
    }

    /// Runs an asynchronous block in the context with this name and returns the block's value.
    ///
    /// Inside the block, the stack contains this context only. No other block enters the context until this block has
    /// ended, even while this block awaits.
    ///
    /// - Isolation: callable from anywhere; the block runs on the executor of the context.
    /// - Throws: errors of the block; `unknownName`, `closed`, `contextInvalidated`, `deadlock`; `CancellationError` if
    ///   the task is cancelled while the block waits to start.
    public nonisolated(nonsending) func on<T>(
        _ name: ContextName,
        _ body: sending nonisolated(nonsending) (ObjectContext) async throws -> sending T
    ) async throws -> sending T {
        try await core.handle(named: name).perform(body)
    }

    /// Runs a synchronous block in this context and returns the block's value.
    ///
    /// Inside the block, the stack contains this context only.
    ///
    /// - Isolation: callable from anywhere; the block runs on the executor of the context.
    /// - Throws: errors of the block; `contextOfOtherStack`, `closed`, `contextInvalidated`, `deadlock`;
    ///   `CancellationError` if the task is cancelled while the block waits to start.
    public nonisolated(nonsending) func on<T: Sendable>(
        _ handle: ContextHandle,
        _ body: sending (ObjectContext) throws -> T
    ) async throws -> T {
        try core.check(handle)
        return try await handle.perform(body)
    }

    /// Runs an asynchronous block in this context and returns the block's value.
    ///
    /// Inside the block, the stack contains this context only. No other block enters the context until this block has
    /// ended, even while this block awaits.
    ///
    /// - Isolation: callable from anywhere; the block runs on the executor of the context.
    /// - Throws: errors of the block; `contextOfOtherStack`, `closed`, `contextInvalidated`, `deadlock`;
    ///   `CancellationError` if the task is cancelled while the block waits to start.
    public nonisolated(nonsending) func on<T>(
        _ handle: ContextHandle,
        _ body: sending nonisolated(nonsending) (ObjectContext) async throws -> sending T
    ) async throws -> sending T {
        try core.check(handle)
        return try await handle.perform(body)
    }
}
