extension ContextHandle {
    /// Moves the changes of this context one level up.
    ///
    /// Waits for its turn like a block, and joins a block of the same task.
    ///
    /// - Isolation: callable from anywhere. Never keeps the caller's thread waiting for the disk.
    /// - Throws: `StrataError` of the save, or as ``perform(_:)-(_)`` does.
    public nonisolated(nonsending) func save() async throws {
        if parent == nil {
            // One level up is the store.
            try await commit()
        } else {
            try await run(stack: [self]) { try $0.save() }
        }
    }

    /// Moves the changes of this context through every parent to the store, in one transaction.
    ///
    /// A commit of main from here does not keep the main actor waiting for the disk.
    ///
    /// - Isolation: callable from anywhere.
    /// - Throws: `StrataError` of the commit, or as ``perform(_:)-(_)`` does.
    public nonisolated(nonsending) func commit() async throws {
        if kind == .main {
            defer { core.callerGoesOn() }
            try await owner.commit(core.enter(self, stack: [self]))
        } else {
            try await run(stack: [self]) { try $0.commit() }
        }
    }

    /// Commits this context together with what others, its parents, have made ready.
    nonisolated(nonsending) func commit(with others: [Int: PreparedLayer]) async throws {
        if kind == .main {
            defer { core.callerGoesOn() }
            try await owner.commit(core.enter(self, stack: [self]), with: others)
        } else {
            try await run(stack: [self]) { try $0.commit(with: others) }
        }
    }

    /// Saves for a task that `StackCore` has counted in, so that it is let in while the stack drains.
    func saveCountedIn() async throws {
        core.countIn()
        let scope = BlockScope(self, list: [self], outer: nil, dropsContext: false)
        if parent != nil {
            try await owner.run(scope) { try $0.save() }
        } else if kind == .main {
            try await owner.commit(scope)
        } else {
            try await owner.run(scope) { try $0.commit() }
        }
    }
}
