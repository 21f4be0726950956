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
        _ body: sending (SavingContext) throws -> T
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
        _ body: sending nonisolated(nonsending) (SavingContext) async throws -> sending T
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
        _ body: sending (SavingContext) throws -> T
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
        _ body: sending nonisolated(nonsending) (SavingContext) async throws -> sending T
    ) async throws -> sending T {
        try core.check(handle)
        return try await handle.perform(body)
    }

    /// Runs a block over the context with this name, commits the block's changes, and returns its value.
    ///
    /// ```swift
    /// let number = try await stack.on("orders", committing: .runAgain) { context in
    ///     let number = try context.count(Order.all) + 1
    ///     context.insert(Order(number: number))
    ///     return number
    /// }
    /// ```
    ///
    /// The block's context is a new child of the named context. It sees the unsaved changes of the named context and of
    /// the parents that this one sees. These changes stay unsaved. Only the block's own changes are committed, together
    /// with the inserted objects of parents that they refer to or edit. The child does not have the objects and the
    /// ``ObjectContext/state`` of the named context. No other block enters the named context until the call returns.
    /// Afterwards the objects of the named context show the changes.
    ///
    /// The block runs in order with those of ``write(ifChanged:_:)``. With `.runAgain`, it runs again in a new child if
    /// a model that it has read was changed meanwhile: by another commit, or by an unsaved change in a context that the
    /// block sees. The block never runs inside its transaction. If each run up to the limit is disturbed, the call
    /// throws `conflict`. In a store with a home, the rule for errors of the block is that of ``write(ifChanged:_:)``.
    ///
    /// If a context that the block sees has changed a value without saving, another commit may have changed the same
    /// value in the store. If the block then changes this value too, running again cannot help. The commit has a
    /// conflict, which the merge policy of the stack resolves.
    ///
    /// - Isolation: callable from anywhere. The block runs on a queue of the stack. It must not wait for another commit
    ///   or for the named context. It may run several times, so put other effects into
    ///   ``ObjectContext/afterCommit(_:)``.
    /// - Parameters:
    ///   - name: the name of the context below the block's context.
    ///   - policy: what happens if another commit has changed what the block has read.
    ///   - body: reads and changes objects of its context, which can neither save nor commit.
    /// - Throws: the errors of ``write(ifChanged:_:)``; `unknownName`, `contextInvalidated`, `deadlock`. Then neither
    ///   the store nor the named context has changed.
    @discardableResult
    public nonisolated(nonsending) func on<T: Sendable>(
        _ name: ContextName,
        committing policy: ChangedReads,
        _ body: @escaping @Sendable (ObjectContext) throws -> T
    ) async throws -> T {
        let core = core
        let handle = try core.handle(named: name)
        return try await handle.perform { _ in try await core.write(over: handle, ifChanged: policy, body) }
    }
}
