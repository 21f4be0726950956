extension StackCore {
    /// Saves the contexts from the last to the first. A chain down to the store is one commit of all of its layers (H27);
    /// otherwise it stops at a failure.
    nonisolated(nonsending) func save(_ list: [ContextHandle]) async throws {
        if list.count > 1, let current = list.last, isChain(list) {
            var ready: [Int: PreparedLayer] = [:]
            defer { engine.layers.thaw(Set(ready.values.flatMap(\.segments))) }
            for handle in list.dropLast() {
                ready[handle.id] = try await handle.run(stack: [handle], isLimited: false) { try $0.prepareForChain() }
            }
            return try await current.commit(with: ready)
        }
        var done: Set<ContextHandle> = []
        for handle in list.reversed() where done.insert(handle).inserted {
            try await handle.save()
        }
    }

    /// Whether each context is the parent of the next, and the first one is on the store.
    private func isChain(_ list: [ContextHandle]) -> Bool {
        list[0].parent == nil && zip(list, list.dropFirst()).allSatisfy { $1.parent == $0 }
    }

    static var noContextError: StrataError {
        StrataError(.noContext, "The stack is empty. Push a context first, or name the one you mean.")
    }

    /// Sees to it that the main context ends its turn when the running job of the main actor is over, once per turn.
    func scheduleEndOfTurn() {
        state.withLock { $0.names[.main] }?.owner.scheduleEndOfTurn()
    }
}
