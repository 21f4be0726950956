extension ContextHandle {
    /// Moves the changes of this context one level up.
    ///
    /// The save waits in the context's queue like a block, and joins a block of the same task.
    ///
    /// - Isolation: callable from anywhere. Never blocks the caller's thread on disk I/O.
    /// - Throws: `StrataError` of the save, and the errors of `perform(_:)`.
    public nonisolated(nonsending) func save() async throws {
        if parent == nil {
            // Without a parent, one level up is the store.
            try await commit()
        } else {
            try await run(stack: [self]) { try $0.save() }
        }
    }

    /// Moves the changes of this context through every parent to the store, in one transaction.
    ///
    /// A commit of the main context through its handle does not block the main actor on disk I/O.
    ///
    /// - Isolation: callable from anywhere.
    /// - Throws: `StrataError` of the commit, and the errors of `perform(_:)`.
    public nonisolated(nonsending) func commit() async throws { try await commit(with: [:]) }

    /// Commits this context together with the layers that other contexts, its parents, have prepared.
    nonisolated(nonsending) func commit(with others: [Int: PreparedLayer]) async throws {
        if kind == .main {
            defer { core.callerGoesOn() }
            try await owner.commit(core.enter(self, stack: [self]), with: others)
        } else {
            try await run(stack: [self]) { try $0.commit(with: others) }
        }
    }

    /// Saves for a task that `StackCore` has already counted as active, so that the save may run while the stack
    /// drains.
    func saveCountedIn() async throws {
        core.countIn()
        let scope = BlockScope(self, list: [self], outer: nil, dropsContext: false)
        if parent == nil, kind == .main {
            try await owner.commit(scope)
        } else {
            try await owner.run(scope) { try $0.save() }
        }
    }
}
