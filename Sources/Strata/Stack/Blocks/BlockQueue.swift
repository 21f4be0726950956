/// A serial queue of blocks, each of which runs in a new context and is then committed.
package final class BlockQueue: Sendable {
    let executor: ContextExecutor

    /// The maximum number of runs of a block, unless its caller says otherwise. A block runs again while other commits
    /// change what it reads.
    package static let runLimit = 100
    /// The number of runs after which other writers of this process wait for the block.
    static let runsWithoutBackpressure = 3

    package init(label: String) { executor = ContextExecutor(label: label) }
}

extension StackCore {
    /// Runs a block in a new context directly over the store, commits its changes, and returns its value.
    ///
    /// The block runs after the earlier blocks of a queue. If another commit has meanwhile changed a table that the
    /// block has read, the block runs again on the newest state.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of runs. If nil, the block runs once, and its reads are not checked.
    ///   - body: the block.
    ///   - commit: commits the changes of the block.
    /// - Throws: errors thrown by the block and by the commit; then nothing is committed. `conflict` if other commits
    ///   have changed what the block reads during each run.
    nonisolated(nonsending) func runAndCommit<T: Sendable>(
        on queue: BlockQueue,
        limit: Int?,
        _ body: @escaping @Sendable (ObjectContext) throws -> T,
        by commit: @escaping @Sendable (ObjectContext) throws -> Void
    ) async throws -> T {
        let backpressure = engine.backpressure
        var isHeld = false
        defer { if isHeld { backpressure.release() } }
        for run in 1...(limit ?? 1) {
            // Commits of other such blocks ignore the backpressure: this block may have to wait for one of its queue.
            if run > BlockQueue.runsWithoutBackpressure, !isHeld {
                backpressure.acquire()
                isHeld = true
            }
            let handle = try make(.private, named: nil, parent: nil, on: queue.executor)
            do {
                return try await handle.run(stack: [handle], dropping: true, isLimited: false) { context in
                    context.saving.isCommittedAfterBlock = true
                    if limit != nil { context.reading.readRecord = ReadRecord() }
                    do {
                        let value = try body(context)
                        try commit(context)
                        return value
                    } catch {
                        if let error = error as? StrataError, error.isAccessFailure { throw error }
                        // The block has read two different states of the store.
                        throw context.reading.readRecord?.isStale ?? false ? StaleReads() : error
                    }
                }
            } catch is StaleReads {
                // The block of an engine runs again even if the task was cancelled meanwhile, because the event that
                // the block records has already happened.
            }
        }
        throw StrataError(
            .conflict,
            "Nothing was committed: in each run of the block (\(limit ?? 1)), another commit changed objects that the "
                + "block had read. Make the block shorter."
        )
    }
}
