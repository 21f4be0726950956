extension ContextStack {
    /// Runs a synchronous block in a new context over the current one, on top of the stack, for its value.
    ///
    /// The stack is as before, whatever happens in the block. A named context lives on; an unnamed one goes with its last
    /// handle and logs how many unsaved changes were lost.
    ///
    /// - Isolation: callable from anywhere; the block runs on the executor of the context.
    /// - Throws: what the block throws; `nameTaken`, `invalidName`, `blockEnded`, `closed`, `contextEnded`, `waitingRing`;
    ///   `CancellationError` when the task is cancelled while it waits for its turn.
    public nonisolated(nonsending) func push<T: Sendable>(
        _ kind: ContextKind,
        named name: ContextName? = nil,
        _ body: sending (ObjectContext) throws -> T
    ) async throws -> T {
        let list = try all
        core.publishCaller()
        let handle = try core.make(kind, named: name, parent: list.last)
        return try await handle.run(stack: list + [handle], body)
    }

    /// Runs an asynchronous block in a new context over the current one, on top of the stack, for its value.
    ///
    /// The stack is as before, whatever happens in the block. A named context lives on; an unnamed one goes with its last
    /// handle and logs how many unsaved changes were lost.
    ///
    /// Nothing else enters the context until the block has ended, also while it awaits.
    ///
    /// - Isolation: callable from anywhere; the block runs on the executor of the context.
    /// - Throws: what the block throws; `nameTaken`, `invalidName`, `blockEnded`, `closed`, `contextEnded`, `waitingRing`;
    ///   `CancellationError` when the task is cancelled while it waits for its turn.
    public nonisolated(nonsending) func push<T>(
        _ kind: ContextKind,
        named name: ContextName? = nil,
        _ body: sending nonisolated(nonsending) (ObjectContext) async throws -> sending T
    ) async throws -> sending T {
        let list = try all
        core.publishCaller()
        let handle = try core.make(kind, named: name, parent: list.last)
        return try await handle.run(stack: list + [handle], body)
    }

    /// Runs a synchronous block in an existing context, on top of the stack, and gives back its value.
    ///
    /// The parent of the context stays what it is, and the stack is as before, whatever happens in the block.
    ///
    /// - Isolation: callable from anywhere; the block runs on the executor of the context.
    /// - Throws: what the block throws; `foreignContext`, `blockEnded`, `closed`, `contextEnded`, `waitingRing`;
    ///   `CancellationError` when the task is cancelled while it waits for its turn.
    public nonisolated(nonsending) func push<T: Sendable>(
        _ handle: ContextHandle,
        _ body: sending (ObjectContext) throws -> T
    ) async throws -> T {
        try core.check(handle)
        return try await handle.run(stack: all + [handle], body)
    }

    /// Runs an asynchronous block in an existing context, on top of the stack, and gives back its value.
    ///
    /// The parent of the context stays what it is, and the stack is as before, whatever happens in the block.
    ///
    /// Nothing else enters the context until the block has ended, also while it awaits.
    ///
    /// - Isolation: callable from anywhere; the block runs on the executor of the context.
    /// - Throws: what the block throws; `foreignContext`, `blockEnded`, `closed`, `contextEnded`, `waitingRing`;
    ///   `CancellationError` when the task is cancelled while it waits for its turn.
    public nonisolated(nonsending) func push<T>(
        _ handle: ContextHandle,
        _ body: sending nonisolated(nonsending) (ObjectContext) async throws -> sending T
    ) async throws -> sending T {
        try core.check(handle)
        return try await handle.run(stack: all + [handle], body)
    }
}
