extension ContextStack {
    /// Moves the changes of the context with this name one level up.
    ///
    /// - Isolation: callable from anywhere; hops to the executor of the context, in its turn.
    /// - Throws: `unknownName`, and as ``ContextHandle/save()`` does.
    public nonisolated(nonsending) func save(_ name: ContextName) async throws {
        try await core.handle(named: name).save()
    }

    /// Saves the stack of the running block or, outside of any, the base: the current context first, the root last.
    ///
    /// Contexts that are a chain down to the store are one commit, of all or nothing, by the current one's merge policy;
    /// where one has changed what another one beneath it has changed unseen, it is asked as by a save. Of other contexts,
    /// it stops at the first whose save fails.
    ///
    /// - Isolation: callable from anywhere.
    /// - Throws: `noContext` when the stack is empty, `blockEnded`, and as ``ContextHandle/save()`` does.
    public nonisolated(nonsending) func save() async throws {
        let list = try all
        if list.isEmpty { throw StackCore.noContextError }
        try await core.save(list)
    }

    /// Moves the changes of the context with this name through every parent to the store, in one transaction.
    ///
    /// - Isolation: callable from anywhere; a commit of main does not keep the main actor waiting for the disk.
    /// - Throws: `unknownName`, and as ``ContextHandle/commit()`` does.
    public nonisolated(nonsending) func commit(_ name: ContextName) async throws {
        try await core.handle(named: name).commit()
    }

    /// Moves the changes of the current context through every parent to the store, in one transaction.
    ///
    /// - Isolation: callable from anywhere.
    /// - Throws: `noContext` when the stack is empty, `blockEnded`, and as ``ContextHandle/commit()`` does.
    public nonisolated(nonsending) func commit() async throws {
        guard let current = try current else { throw StackCore.noContextError }
        try await current.commit()
    }

    /// Saves the context with this name after the running block or, outside of any, soon; returns at once.
    ///
    /// Several of one block run in the order in which they were asked for. A failure, an unknown name included, goes to
    /// ``failures``.
    ///
    /// - Isolation: callable from anywhere; the save runs on the executor of the context, in its turn.
    public func saveLater(_ name: ContextName) {
        core.saveLater(name)
    }

    /// Sees to it that the main context ends its turn when the running job of the main actor is over, once per turn.
    func scheduleEndOfTurn() {
        core.scheduleEndOfTurn()
    }

    /// Publishes the main context, if there is one in use and the caller runs on the main actor.
    func publishIfOnMainActor() {
        core.publishIfOnMainActor()
    }
}
