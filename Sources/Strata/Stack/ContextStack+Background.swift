extension ContextStack {
    /// Runs a synchronous block in a new private context and returns the block's value.
    ///
    /// The context is a child of the current context, or of `parent`, and ends with the block. Inside the block, the
    /// stack contains this context only. Changes that the block has neither saved nor committed are dropped, and their
    /// number is logged: as a warning, or at the level `debug` if the block throws.
    ///
    /// At most ``StoreConfiguration/maximumReaderCount`` blocks run at one time, not counting blocks within other
    /// blocks. Further blocks wait for a place, in the order of the calls.
    ///
    /// With ``ReadFreshness/newest``, the block waits until the file has all commits that the home of the store has at
    /// the moment of the call. This takes one round trip to the home, and a second one if commits are missing. Calls at
    /// the same time share their round trips. The block sees unsaved changes of its parents as always.
    ///
    /// - Isolation: callable from anywhere; the block runs on the executor of the context.
    /// - Parameters:
    ///   - parent: the parent of the context.
    ///   - freshness: how new the committed state must be that the block sees.
    ///   - body: the block.
    /// - Throws: errors of the block; `unknownName`, `contextOfOtherStack`, `blockFinished`, `closed`,
    ///   `contextInvalidated`, `deadlock`; `CancellationError` if the task is cancelled while the block waits to start.
    ///   With ``ReadFreshness/newest``, the errors of ``catchUp()``; then the block has not run.
    public nonisolated(nonsending) func background<T: Sendable>(
        parent: ContextChoice = .current,
        reads freshness: ReadFreshness = .local,
        _ body: sending (SavingContext) throws -> T
    ) async throws -> T {
        let parent = try core.handle(of: parent)
        if case .newest = freshness { try await core.engine.catchUpIfShared() }
        let handle = try core.make(.private, named: nil, parent: parent)
        return try await handle.run(stack: [handle], dropping: true, span: .background, body)
    }

    /// Runs an asynchronous block in a new private context and returns the block's value.
    ///
    /// The context is a child of the current context, or of `parent`, and ends with the block. Inside the block, the
    /// stack contains this context only. Changes that the block has neither saved nor committed are dropped, and their
    /// number is logged: as a warning, or at the level `debug` if the block throws.
    ///
    /// No other block enters the context until this block has ended, even while this block awaits.
    ///
    /// At most ``StoreConfiguration/maximumReaderCount`` blocks run at one time, not counting blocks within other
    /// blocks. Further blocks wait for a place, in the order of the calls.
    ///
    /// With ``ReadFreshness/newest``, the block waits until the file has all commits that the home of the store has at
    /// the moment of the call. This takes one round trip to the home, and a second one if commits are missing. Calls at
    /// the same time share their round trips. The block sees unsaved changes of its parents as always.
    ///
    /// - Isolation: callable from anywhere; the block runs on the executor of the context.
    /// - Parameters:
    ///   - parent: the parent of the context.
    ///   - freshness: how new the committed state must be that the block sees.
    ///   - body: the block.
    /// - Throws: errors of the block; `unknownName`, `contextOfOtherStack`, `blockFinished`, `closed`,
    ///   `contextInvalidated`, `deadlock`; `CancellationError` if the task is cancelled while the block waits to start.
    ///   With ``ReadFreshness/newest``, the errors of ``catchUp()``; then the block has not run.
    public nonisolated(nonsending) func background<T>(
        parent: ContextChoice = .current,
        reads freshness: ReadFreshness = .local,
        _ body: sending nonisolated(nonsending) (SavingContext) async throws -> sending T
    ) async throws -> sending T {
        let parent = try core.handle(of: parent)
        if case .newest = freshness { try await core.engine.catchUpIfShared() }
        let handle = try core.make(.private, named: nil, parent: parent)
        return try await handle.run(stack: [handle], dropping: true, span: .background, body)
    }
}
