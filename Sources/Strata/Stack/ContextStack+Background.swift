extension ContextStack {
    /// Runs a synchronous block in a new private context, alone on the stack of the block, for its value.
    ///
    /// The context is a child of the current one, or of `parent`, and ends with the block: what the block has neither saved
    /// nor committed is dropped, and how many changes is logged: as a warning, or where the block throws at the level `debug`.
    ///
    /// No more blocks run at one time than ``StoreConfiguration/maximumReaderCount`` says, unless they are within other blocks: this one waits
    /// for its place, in the order of calls.
    ///
    /// - Isolation: callable from anywhere; the block runs on the executor of the context.
    /// - Throws: what the block throws; `unknownName`, `foreignContext`, `blockEnded`, `closed`, `contextEnded`, `waitingRing`;
    ///   `CancellationError` when the task is cancelled while it waits for its turn.
    public nonisolated(nonsending) func background<T: Sendable>(
        parent: ContextChoice = .current,
        _ body: sending (ObjectContext) throws -> T
    ) async throws -> T {
        let handle = try core.makeWorker(over: parent)
        return try await handle.run(stack: [handle], dropping: true, body)
    }

    /// Runs an asynchronous block in a new private context, alone on the stack of the block, for its value.
    ///
    /// The context is a child of the current one, or of `parent`, and ends with the block: what the block has neither saved
    /// nor committed is dropped, and how many changes is logged: as a warning, or where the block throws at the level `debug`.
    ///
    /// Nothing else enters the context until the block has ended, also while it awaits.
    ///
    /// No more blocks run at one time than ``StoreConfiguration/maximumReaderCount`` says, unless they are within other blocks: this one waits
    /// for its place, in the order of calls.
    ///
    /// - Isolation: callable from anywhere; the block runs on the executor of the context.
    /// - Throws: what the block throws; `unknownName`, `foreignContext`, `blockEnded`, `closed`, `contextEnded`, `waitingRing`;
    ///   `CancellationError` when the task is cancelled while it waits for its turn.
    public nonisolated(nonsending) func background<T>(
        parent: ContextChoice = .current,
        _ body: sending nonisolated(nonsending) (ObjectContext) async throws -> sending T
    ) async throws -> sending T {
        let handle = try core.makeWorker(over: parent)
        return try await handle.run(stack: [handle], dropping: true, body)
    }
}
