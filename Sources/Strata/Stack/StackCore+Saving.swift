extension StackCore {
    /// Saves the contexts from the last to the first. A chain down to the store is one commit of all its layers, so
    /// that the chain is saved completely or not at all. Otherwise, the saves stop at the first failure.
    nonisolated(nonsending) func save(_ list: [ContextHandle]) async throws {
        if list.count > 1, let current = list.last, isChain(list) {
            // The hooks of the other contexts must not run either.
            try engine.checkWritable()
            var ready: [Int: PreparedLayer] = [:]
            defer {
                engine.layers.thaw(Set(ready.values.flatMap(\.segments)))
                engine.callbacks.release(Set(ready.values.flatMap(\.callbacks)))
            }
            for handle in list.dropLast() {
                ready[handle.id] = try await handle.run(stack: [handle], isLimited: false, span: nil) {
                    try $0.prepareForChain()
                }
            }
            return try await current.commit(with: ready)
        }
        var done: Set<ContextHandle> = []
        for handle in list.reversed() where done.insert(handle).inserted {
            try await handle.save()
        }
    }

    /// Whether each context is the parent of the next, and the first context is based on the store.
    private func isChain(_ list: [ContextHandle]) -> Bool {
        list[0].parent == nil && zip(list, list.dropFirst()).allSatisfy { $1.parent == $0 }
    }

    static var contextNotFoundError: StrataError {
        StrataError(.contextNotFound, "The stack is empty. Push a context first, or name the context to save.")
    }
}
