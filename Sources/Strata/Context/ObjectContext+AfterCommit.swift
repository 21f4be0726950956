extension ObjectContext {
    /// Runs a body once the changes that this context has now are in the store: after the commit that takes them, and outside of the task that
    /// has committed.
    ///
    /// ```swift
    /// let order = context.insert(Order(number: 7))
    /// let id = order.id
    /// context.afterCommit { await mailer.confirm(id) }    // other contexts find the order by then
    /// try context.commit()
    /// ```
    ///
    /// The body belongs to the changes. It moves up with them by ``save()``, and runs after the commit that takes them from there. ``rollback()``, a
    /// savepoint that throws, and the end of a context that has not committed drop it. A commit that fails keeps it for the next one. Where a
    /// block is run again, as that of a handler's `done`, only the run that is committed counts.
    ///
    /// Several bodies are started in the order in which they were registered, each in a separate task. They are not durable: where the process
    /// ends after the commit, they do not run. Queue an operation in the same commit for work that must not be lost.
    ///
    /// - Parameter body: what to do. It is not part of the commit, and cannot refuse it.
    /// - Isolation: called on the context; the body runs in a detached task, outside of all blocks.
    public func afterCommit(_ body: @escaping @Sendable () async -> Void) {
        afterCommit(committed: {}, body)
    }

    /// The same for an engine that wants to know of it at once.
    ///
    /// - Parameter committed: called by the commit itself, once it is in the store.
    package func afterCommit(
        committed: @escaping @Sendable () -> Void,
        _ body: @escaping @Sendable () async -> Void
    ) {
        guard !isEnded else { return }
        store.callbacks.add(in: id, committed: committed, body)
    }

    /// Drops the callbacks of this context's own changes.
    ///
    /// - Parameters:
    ///   - last: keeps those up to this one, which were registered before a savepoint.
    ///   - includesSaved: whether those of children are dropped that have saved their changes here.
    ///   - includesMoved: whether those are dropped whose changes this context has saved to its parent.
    func dropCallbacks(after last: Int = 0, includesSaved: Bool = false, includesMoved: Bool = false) {
        store.callbacks.drop { [id] callback in
            guard callback.id > last else { return false }
            if callback.place == id { return includesSaved || callback.origin == id }
            return includesMoved && callback.origin == id
        }
    }
}
