extension ContextStack {
    /// Runs a synchronous block in a new context over the current one, on top of the stack, and returns the block's
    /// value.
    ///
    /// After the block the stack is as before, even if the block throws. A named context lives on. An unnamed context
    /// ends with its last handle and logs the number of lost unsaved changes.
    ///
    /// - Isolation: callable from anywhere; the block runs on the executor of the context.
    /// - Throws: errors of the block; `nameTaken`, `invalidName`, `blockFinished`, `closed`, `contextInvalidated`,
    ///   `deadlock`; `CancellationError` if the task is cancelled while the block waits to start.
    public nonisolated(nonsending) func push<T: Sendable>(
        _ kind: ContextKind,
        named name: ContextName? = nil,
        _ body: sending (SavingContext) throws -> T
    ) async throws -> T {
        let list = try all
        core.publishCaller()
        let handle = try core.make(kind, named: name, parent: list.last)
        return try await handle.run(stack: list + [handle], body)
    }

    /// Runs an asynchronous block in a new context over the current one, on top of the stack, and returns the block's
    /// value.
    ///
    /// After the block the stack is as before, even if the block throws. A named context lives on. An unnamed context
    /// ends with its last handle and logs the number of lost unsaved changes.
    ///
    /// No other block enters the context until this block has ended, even while this block awaits.
    ///
    /// - Isolation: callable from anywhere; the block runs on the executor of the context.
    /// - Throws: errors of the block; `nameTaken`, `invalidName`, `blockFinished`, `closed`, `contextInvalidated`,
    ///   `deadlock`; `CancellationError` if the task is cancelled while the block waits to start.
    public nonisolated(nonsending) func push<T>(
        _ kind: ContextKind,
        named name: ContextName? = nil,
        _ body: sending nonisolated(nonsending) (SavingContext) async throws -> sending T
    ) async throws -> sending T {
        let list = try all
        core.publishCaller()
        let handle = try core.make(kind, named: name, parent: list.last)
        return try await handle.run(stack: list + [handle], body)
    }

    /// Runs a synchronous block in an existing context, on top of the stack, and returns the block's value.
    ///
    /// The parent of the context does not change. After the block the stack is as before, even if the block throws.
    ///
    /// - Isolation: callable from anywhere; the block runs on the executor of the context.
    /// - Throws: errors of the block; `contextOfOtherStack`, `blockFinished`, `closed`, `contextInvalidated`,
    ///   `deadlock`;
    ///   `CancellationError` if the task is cancelled while the block waits to start.
    public nonisolated(nonsending) func push<T: Sendable>(
        _ handle: ContextHandle,
        _ body: sending (SavingContext) throws -> T
    ) async throws -> T {
        try core.check(handle)
        return try await handle.run(stack: all + [handle], body)
    }

    /// Runs an asynchronous block in an existing context, on top of the stack, and returns the block's value.
    ///
    /// The parent of the context does not change. After the block the stack is as before, even if the block throws.
    ///
    /// No other block enters the context until this block has ended, even while this block awaits.
    ///
    /// - Isolation: callable from anywhere; the block runs on the executor of the context.
    /// - Throws: errors of the block; `contextOfOtherStack`, `blockFinished`, `closed`, `contextInvalidated`,
    ///   `deadlock`;
    ///   `CancellationError` if the task is cancelled while the block waits to start.
    public nonisolated(nonsending) func push<T>(
        _ handle: ContextHandle,
        _ body: sending nonisolated(nonsending) (SavingContext) async throws -> sending T
    ) async throws -> sending T {
        try core.check(handle)
        return try await handle.run(stack: all + [handle], body)
    }
}
