extension ObjectContext {
    /// Runs a body after the context's current changes are in the store. The body starts after the commit that writes
    /// these changes, outside the task that commits.
    ///
    /// ```swift
    /// let order = context.insert(Order(number: 7))
    /// let id = order.id
    /// context.afterCommit { await mailer.confirm(id) }    // other contexts find the order by then
    /// try context.commit()
    /// ```
    ///
    /// The body belongs to the changes. A ``SavingContext/save()`` moves it up with them, and it runs after the commit
    /// that writes them from there. ``rollback()``, a savepoint that throws, and the end of a context that has not
    /// committed drop the body. A commit that fails keeps it for the next commit. If a block runs again, for example
    /// that of a handler's `done`, only the committed run counts.
    ///
    /// Several bodies start in the order in which they were registered, each in a separate task. They are not durable:
    /// if the process ends after the commit, they do not run. For work that must not be lost, queue an operation in the
    /// same commit.
    ///
    /// - Parameter body: the work to do. It is not part of the commit and cannot refuse it.
    /// - Isolation: called on the context; the body runs in a detached task, outside all blocks.
    public func afterCommit(_ body: @escaping @Sendable () async -> Void) {
        afterCommit(committed: {}, body)
    }

    /// The same for an engine that needs an immediate notification.
    ///
    /// - Parameter committed: called by the commit itself, as soon as it is in the store.
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
    ///   - last: callbacks up to this one stay, because they were registered before a savepoint.
    ///   - includesSaved: whether to drop callbacks of children that have saved their changes here.
    /// - Returns: the callbacks, which the caller releases outside of all locks.
    @discardableResult
    func dropCallbacks(after last: Int = 0, includesSaved: Bool) -> [CommitCallbacks.Callback] {
        store.callbacks.drop { [id] callback in
            callback.id > last && callback.place == id && (includesSaved || callback.origin == id)
        }
    }
}
