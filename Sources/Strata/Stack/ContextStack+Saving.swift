extension ContextStack {
    /// Moves the changes of the context with this name one level up.
    ///
    /// - Isolation: callable from anywhere; hops to the executor of the context and waits in the context's queue.
    /// - Throws: `unknownName`, and the errors of ``ContextHandle/save()``.
    public nonisolated(nonsending) func save(_ name: ContextName) async throws {
        try await core.handle(named: name).save()
    }

    /// Saves all contexts of the stack: the current context first, the root last.
    ///
    /// Inside a block, this is the stack of the block; otherwise, the base stack. If the contexts form a chain down to
    /// the store, they are saved in one atomic commit, under the current context's merge policy. If one context has
    /// changed the same data as a context below without having seen the change, its merge policy resolves the conflict
    /// as in a save. If the contexts do not form a chain, the saves stop at the first failure.
    ///
    /// - Isolation: callable from anywhere.
    /// - Throws: `contextNotFound` if the stack is empty, `blockFinished`, and the errors of ``ContextHandle/save()``.
    public nonisolated(nonsending) func save() async throws {
        let list = try all
        if list.isEmpty { throw StackCore.contextNotFoundError }
        try await core.save(list)
    }

    /// Moves the changes of the context with this name through every parent to the store, in one transaction.
    ///
    /// - Isolation: callable from anywhere; a commit of the main context does not block the main actor on disk I/O.
    /// - Throws: `unknownName`, and the errors of ``ContextHandle/commit()``.
    public nonisolated(nonsending) func commit(_ name: ContextName) async throws {
        try await core.handle(named: name).commit()
    }

    /// Moves the changes of the current context through every parent to the store, in one transaction.
    ///
    /// - Isolation: callable from anywhere.
    /// - Throws: `contextNotFound` if the stack is empty, `blockFinished`, and the errors of
    ///   ``ContextHandle/commit()``.
    public nonisolated(nonsending) func commit() async throws {
        guard let current = try current else { throw StackCore.contextNotFoundError }
        try await current.commit()
    }

    /// Schedules a save of the context with this name and returns immediately.
    ///
    /// Inside a block, the save runs after the block; otherwise, the save runs soon. Several saves that one block
    /// requests run in the order of the requests. Failures, including an unknown name, go to ``failures``.
    ///
    /// - Isolation: callable from anywhere; the save runs on the executor of the context, after the blocks that already
    ///   wait.
    public func saveLater(_ name: ContextName) {
        core.saveLater(name)
    }
}
