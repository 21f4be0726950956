extension StackCore {
    /// Saves the contexts from the last to the first and stops at a failure.
    nonisolated(nonsending) func save(_ list: [ContextHandle]) async throws {
        var done: Set<ContextHandle> = []
        for handle in list.reversed() where done.insert(handle).inserted {
            try await handle.save()
        }
    }

    static var noContextError: StrataError {
        StrataError(.noContext, "The stack is empty. Push a context first, or name the one you mean.")
    }

    /// Sees to it that the main context ends its turn when the running job of the main actor is over, once per turn.
    func scheduleEndOfTurn() {
        state.withLock { $0.names[.main] }?.owner.scheduleEndOfTurn()
    }
}
