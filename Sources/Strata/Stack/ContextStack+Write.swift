/// The reaction of ``ContextStack/write(ifChanged:_:)`` and ``ContextStack/on(_:committing:_:)`` to commits that change
/// data which their block has read.
public enum ChangedReads: Sendable {
    /// The block runs again from the start, on the newest state. After `limit` runs the call throws `conflict`.
    ///
    /// A run inside the transaction of the commit is always the last one, because nothing can change there. The fourth
    /// run of a `write` is inside, so a limit above three is never reached. In a caller's own database, and with `on`,
    /// no run is inside. In a store with a home, a run inside may be repeated once because another machine has
    /// committed. This repetition does not count.
    case runAgain(limit: Int)
    /// The block runs once, before its transaction. Its changes are merged with those of the other commit column by
    /// column, as in each commit. In a store with a home, an error of the block may come from an earlier state.
    case merge(MergePolicy)

    /// The block runs again until it is committed.
    public static var runAgain: ChangedReads { .runAgain(limit: BlockQueue.runLimit) }
}

extension ContextStack {
    /// Runs a block on the newest committed state, commits the block's changes, and returns its value.
    ///
    /// ```swift
    /// let count = try await stack.write { context in
    ///     let counter = try context.first(Counter.all) ?? context.insert(Counter())
    ///     counter.count += 1
    ///     return counter.count
    /// }
    /// ```
    ///
    /// The context is new and lies directly over the store. It does not see unsaved changes of other contexts. The
    /// blocks of a stack run one after the other, in the order of the calls. A block that runs again does so after the
    /// blocks that wait.
    ///
    /// If another context or process commits after the block's first read, and changes a model that the block has read,
    /// the block runs again from the start. So the block always computes its changes from the newest committed state,
    /// and no update is lost. A change of any object of such a model makes the block run again. If the block has read a
    /// to-many relationship, a change of this relationship in any object does so, too. If the store keeps no history
    /// (``HistoryRetention/off``), so does any commit of another process.
    ///
    /// When the call returns, the changes are on disk. If the block or the commit throws, nothing is written.
    ///
    /// An error of the block comes from the newest committed state too. In a store with a home, the working copy may
    /// lack commits of other machines when the block runs. If the block has read something and throws, the call waits
    /// until the copy has the commits that the home has then. If they change a model that the block has read, the block
    /// runs again. A block that returns costs nothing more, because its commit compares the states. If the home does
    /// not answer, the call throws `unreachable`, and not the error of the block, which would make the caller give up.
    /// The error of the block is the ``StrataError/underlying`` one, unless the block has run inside the transaction. A
    /// `CancellationError` of the block is thrown at once.
    ///
    /// If other blocks of the stack wait or run, and the last block took less than a millisecond, the block runs inside
    /// the transaction of its commit. There it shares the transaction, and the wait for the disk, with other commits. A
    /// block that has run three times runs there too. In a store with a home, such a block may run twice: see
    /// ``StoreHome/publishIfNewest(_:)``. All other writers of the store, also in other processes, wait meanwhile. So
    /// if some blocks of a stack are short and others take long, use ``background(parent:reads:_:)-87j27`` and a commit
    /// for the long ones. With `.merge`, and in a caller's own database, blocks run before their transactions.
    ///
    /// - Isolation: callable from anywhere. The block runs on a queue of the stack or on the thread that writes. It
    ///   must not wait for another commit: inside a transaction, it would wait for ever. The log of the stack warns of
    ///   a block that other writes have waited for during five seconds. A block may run several times, so put other
    ///   effects into ``ObjectContext/afterCommit(_:)``.
    /// - Parameters:
    ///   - policy: what happens if another commit has changed what the block has read.
    ///   - body: reads and changes objects of its context, which can neither save nor commit.
    /// - Throws: errors of the block; the errors of ``SavingContext/commit()``; `conflict` after the last run;
    ///   `invalidState` for a limit below one; `readOnly`; `closed`; `CancellationError` if the task is cancelled
    ///   before the block runs, or runs again; the call then returns when its turn comes. In a store with a home, after
    ///   an error of the block, the errors of ``catchUp()``.
    /// - Complexity: that of the block and of its commit, for each run. The next block begins after the commit of a
    ///   block that runs before its transaction. In a store with a home, a block that throws takes one round trip to
    ///   the home, and further ones if commits are missing. Calls at the same time share their round trips.
    @discardableResult
    public nonisolated(nonsending) func write<T: Sendable>(
        ifChanged policy: ChangedReads = .runAgain,
        _ body: @escaping @Sendable (ObjectContext) throws -> T
    ) async throws -> T {
        try await core.write(over: nil, ifChanged: policy, body)
    }
}

extension StackCore {
    /// Runs a block in a new context and commits its changes, in the order of the stack's blocks.
    ///
    /// - Parameter parent: the parent of the context; nil for the store.
    /// - Throws: as ``ContextStack/write(ifChanged:_:)``.
    nonisolated(nonsending) func write<T: Sendable>(
        over parent: ContextHandle?,
        ifChanged policy: ChangedReads,
        _ body: @escaping @Sendable (ObjectContext) throws -> T
    ) async throws -> T {
        let limit: Int?
        let mergePolicy: MergePolicy?
        switch policy {
        case .runAgain(let runs):
            guard runs > 0 else { throw StrataError(.invalidState, "A block cannot run \(runs) times.") }
            (limit, mergePolicy) = (runs, nil)
        case .merge(let policy): (limit, mergePolicy) = (nil, policy)
        }
        return try await runAndCommit(on: writes, over: parent, limit: limit, pace: writePace, isOrdered: true) {
            context in
            try Task.checkCancellation()
            if let mergePolicy { context.mergePolicy = mergePolicy }
            return try body(context)
        }
    }
}
