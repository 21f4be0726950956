extension ContextStack {
    /// The position behind the newest commit that this stack knows of.
    ///
    /// Isolation: any. Complexity: O(1), without looking at the file.
    public var historyToken: HistoryToken {
        HistoryToken(core.engine.layers.newestSequence, of: core.engine.identity.fingerprint)
    }

    /// All commits from now on, or from behind a token, one after the other as they happen: those of this stack, of others and of
    /// other processes.
    ///
    /// What is committed after this call is part of the sequence, however late somebody begins to iterate.
    ///
    /// - Isolation: callable from anywhere; any number of sequences and iterators may be used side by side.
    /// - Parameter token: where to begin; without it, behind the newest commit. A token that the history does not reach back to
    ///   makes the sequence throw `expiredToken`.
    public func changes(since token: HistoryToken? = nil) -> ChangeSequence<ChangeSet> {
        changes(since: token) { $0 }
    }

    /// The commits that have changed objects of a model, with what they have changed of it; otherwise as ``changes(since:)``.
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
        let newest = store.layers.hub.follow()
        return ChangeSequence(
            store: store,
            start: token?.sequence ?? newest,
            failure: token.flatMap(store.check),
            element: element
        )
    }

    /// Commits that have been, oldest first: at most so many of those behind a token.
    ///
    /// - Isolation: callable from anywhere; the disk is waited for on a thread of its own.
    /// - Parameter token: without it, from the oldest one on that is kept.
    /// - Throws: ``StrataError`` with `expiredToken` where the history does not reach back to the token; `closed`.
    public func history(since token: HistoryToken? = nil, limit: Int = 1000) async throws -> [ChangeSet] {
        let store = core.engine
        if let failure = token.flatMap(store.check) { throw failure }
        return try await store.history(after: token?.sequence, limit: limit)
    }

    /// Lets the entries of the history go that come before a token, with its own.
    ///
    /// - Isolation: callable from anywhere; waits for commits that are on the disk.
    /// - Throws: ``StrataError`` with `expiredToken` for a token of another store; what the store reports.
    public func pruneHistory(through token: HistoryToken) async throws {
        let store = core.engine
        if let failure = store.check(token) { throw failure }
        try await store.pruneHistory(through: token.sequence)
    }
}
