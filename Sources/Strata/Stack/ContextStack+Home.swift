extension ContextStack {
    /// Waits until the working copy contains all commits that the home had when this function was called.
    ///
    /// A stack learns of the commits of other nodes by itself, usually within milliseconds. Call this function before
    /// code that must not see an earlier state, such as a block of a named context. For a block in a new context,
    /// ``background(parent:reads:_:)-87j27`` does the same with ``ReadFreshness/newest``.
    ///
    /// The call takes one round trip to the home, and further ones if commits are missing. Calls at the same time share
    /// their round trips. The call ends although other nodes commit all the time. If the home does not answer, the call
    /// ends after the time that the home chooses for one of its calls, or twice this time if another call has asked
    /// before.
    ///
    /// - Isolation: callable from anywhere; a separate queue waits for the home.
    /// - Throws: ``StrataError`` with `invalidState` for a store without a home; `unreachable`; `busy` if another
    ///   process writes to the working copy for too long; `homeBehind`, `homeExpired` or `damagedStore`, after which the
    ///   stack must be opened again; `closed`. `CancellationError` at once when the task is cancelled.
    nonisolated(nonsending) public func catchUp() async throws { try await core.engine.catchUp() }

    /// Waits until the working copy contains the commit of a token.
    ///
    /// Use it to read your own writes on another node: after a commit, send ``historyToken`` along, for example in a
    /// cookie, and pass it to this function on the node that gets the next request. If the commit is there already,
    /// this function does not ask the home.
    ///
    /// - Isolation: callable from anywhere; a separate queue waits for the home.
    /// - Throws: as ``catchUp()``, and `expiredToken` if the token belongs to another store or to a commit that the
    ///   home does not have.
    nonisolated(nonsending) public func catchUp(to token: HistoryToken) async throws {
        let store = core.engine
        if let error = store.check(token) { throw error }
        if store.layers.newestSequence >= token.sequence { return }
        try await store.catchUp()
        if store.layers.newestSequence >= token.sequence { return }
        // While a commit of this process is applied, the layers may not know a later one yet.
        let isStored = try await Disk.run { try store.reading { _, newest in newest >= token.sequence } }
        guard isStored else { throw Store.aheadError }
    }

    /// The nodes that share the store, as far as they have reported to the home within a day, in the order of their
    /// names.
    ///
    /// A node reports every five seconds while its stack is open, and when the stack is closed. So the positions are
    /// some seconds old, and a node that was closed is still listed, with a growing ``HomeNodeStatus/silence``. This
    /// function costs one round trip to the home.
    ///
    /// - Isolation: callable from anywhere; a separate queue waits for the home.
    /// - Throws: ``StrataError`` with `invalidState` for a store without a home; `unreachable`; `closed`.
    nonisolated(nonsending) public func nodes() async throws -> [HomeNodeStatus] {
        let store = core.engine
        return try await Disk.run { try store.nodes() }
    }

    /// Whether the stack was opened with a home.
    package var hasHome: Bool { core.engine.writer.follower != nil }

    /// The seconds by which the clock of this machine is ahead of that of the home, as the last reports have measured
    /// it; 0 without a home, and for a difference of up to a second.
    package var clockDifference: Double { core.engine.clockDifference }
}

extension ObjectContext {
    /// See ``ContextStack/clockDifference``.
    package var clockDifference: Double { store.clockDifference }
}
