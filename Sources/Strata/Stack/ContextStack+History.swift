extension ContextStack {
    /// The position after the newest commit that this stack knows.
    ///
    /// Isolation: any. Complexity: O(1), without access to the file.
    public var historyToken: HistoryToken {
        HistoryToken(core.engine.layers.newestSequence, of: core.engine.identity.fingerprint)
    }

    /// All commits from now on, or after a token, one after the other as they happen.
    ///
    /// The sequence contains commits by this stack, by other stacks and by other processes. It contains every commit
    /// after this call, no matter when the iteration begins.
    ///
    /// On a closed stack, the iteration throws `closed`: see ``ContextStack/close()``.
    ///
    /// - Isolation: callable from anywhere; any number of sequences and iterators may be used side by side.
    /// - Parameter token: the start of the sequence; without it, the sequence starts after the newest commit. If the
    ///   history no longer reaches back to the token, the sequence throws `expiredToken`.
    public func changes(since token: HistoryToken? = nil) -> ChangeSequence<ChangeSet> {
        changes(since: token) { $0 }
    }

    /// The commits that have changed objects of a model, with the changes of this model; otherwise as
    /// ``changes(since:)``.
    public func changes<Object: Model>(
        of model: Object.Type,
        since token: HistoryToken? = nil
    ) -> ChangeSequence<ObjectChanges<Object>> {
        changes(since: token) { $0.contains(model) ? $0.of(model) : nil }
    }

    private func changes<Element: Sendable>(
        since token: HistoryToken?,
        _ element: @escaping @Sendable (ChangeSet) -> Element?
    ) -> ChangeSequence<Element> {
        let store = core.engine
        store.watchFile()
        let newest = store.layers.startKeepingChangeSets()
        return ChangeSequence(
            store: store,
            start: token?.sequence ?? newest,
            failure: token.flatMap(store.check),
            element: element
        )
    }

    /// Past commits, oldest first: at most `limit` commits after a token.
    ///
    /// - Isolation: callable from anywhere; a separate thread reads from the disk.
    /// - Parameters:
    ///   - token: the start; without it, the result starts with the oldest commit in the history.
    ///   - limit: the greatest number of commits.
    /// - Throws: ``StrataError`` with `expiredToken` if the history does not reach back to the token; `closed`.
    public func history(since token: HistoryToken? = nil, limit: Int = 1000) async throws -> [ChangeSet] {
        let store = core.engine
        if let failure = token.flatMap(store.check) { throw failure }
        return try await store.history(after: token?.sequence, limit: limit)
    }

    /// Deletes the history entries up to a token, including the entry of the token.
    ///
    /// - Isolation: callable from anywhere; waits for commits that are being written to the disk.
    /// - Throws: ``StrataError`` with `expiredToken` for a token of another store; errors of the store.
    public func pruneHistory(through token: HistoryToken) async throws {
        let store = core.engine
        if let failure = store.check(token) { throw failure }
        try await store.pruneHistory(through: token.sequence)
    }
}
