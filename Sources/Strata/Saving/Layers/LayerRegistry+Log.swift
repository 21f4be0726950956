/// The log of commits and layer changes, for its readers. See ``CommitLog``.
extension LayerRegistry {
    /// Changes the layers and the log, and then wakes the readers of the log.
    ///
    /// - Parameter context: the context that makes the change, and is not woken; nil if no context makes it.
    func update<Result: Sendable, Failure: Error>(
        by context: Int?,
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var wakes = CommitLog.Wakes()
        defer { wakes.run() }
        return try state.withLock { state throws(Failure) in
            defer { wakes = state.log.takeWakes(except: context) }
            return try body(&state)
        }
    }

    // MARK: Contexts

    /// Refreshes a context that merges at once whenever other contexts have made changes.
    func watch(_ context: Int, _ refresh: @escaping CommitLog.Refresh) {
        state.withLock { $0.log.subscribers.contexts[context] = refresh }
    }

    /// Begins to keep events for a context. Returns the end of the log.
    func startTracking(_ context: Int) -> CommitLog.Cursor {
        state.withLock { state in
            state.log.startTracking(context)
            return state.log.end
        }
    }

    /// Notes the last event that a reader has processed; nil if it does not need events any more.
    func track(_ reader: Int, cursor: Int?) { state.withLock { $0.log.track(reader, through: cursor) } }

    /// Whether no event has occurred since this one.
    func isCurrent(_ cursor: Int) -> Bool { state.withLock { $0.log.end.event == cursor } }

    /// Moves a context to the end of the log if all events are its own: see ``CommitLog/advance(_:from:committing:)``.
    func advance(_ context: Int, from cursor: Int, committing sequence: Int64?) -> CommitLog.Advance {
        state.withLock { $0.log.advance(context, from: cursor, committing: sequence) }
    }

    // MARK: Tasks

    /// Waits for an event or a commit, a failure, or the end.
    nonisolated(nonsending) func wait(for awaited: CommitLog.Awaited) async {
        await CancellableWait.wait { number, waiter in
            state.withLock { state in
                if state.hasEnded(awaited) || Task.isCancelled { return false }
                state.log.subscribers.tasks[number] = CommitLog.Waiter(awaited: awaited, task: waiter)
                return true
            }
        } remove: { number in
            state.withLock { $0.log.subscribers.tasks.removeValue(forKey: number) }?.task
        }
    }

    /// Waits for a commit after a position. Returns false if the store was closed or the task was cancelled first.
    ///
    /// - Throws: the error that prevents reading commits of other processes.
    nonisolated(nonsending) func wait(forCommitAfter position: Int64) async throws -> Bool {
        while true {
            await wait(for: .commit(after: position))
            let (sequence, isFinished, failure) = state.withLock { state in
                (state.sequence, state.log.isFinished, state.log.failure)
            }
            if isFinished { return false }
            if sequence > position { return true }
            if Task.isCancelled { return false }
            // Without an error, the task was woken by a failure that has ended since, and waits again.
            if let failure { throw failure }
        }
    }

    // MARK: Change sets

    /// Begins to keep change sets, and returns the number of the newest commit.
    func startKeepingChangeSets() -> Int64 {
        state.withLock { state in
            state.log.changeSets.areKept = true
            return state.sequence
        }
    }

    /// The kept change sets after a commit; nil if the next one is not kept.
    func changeSets(after sequence: Int64) -> ArraySlice<ChangeSet>? {
        state.withLock { $0.log.changeSets.after(sequence) }
    }

    /// Calls a listener at every commit, as long as the returned object lives.
    func listen(_ listener: @escaping CommitLog.Listener) -> CommitListening {
        let number = state.withLock { $0.log.subscribers.add(listener) }
        return CommitListening { [weak self] in
            _ = self?.state.withLock { $0.log.subscribers.removeListener(number) }
        }
    }

    /// The number of listeners.
    var listenerCount: Int { state.withLock { $0.log.subscribers.listeners.count } }

    // MARK: The end

    /// Whether a context exists (nil: the store), and the store is not closed.
    func isOpen(_ context: Int?) -> Bool {
        state.withLock { !$0.log.isFinished && (context.map($0.layers.contexts.contains) ?? true) }
    }

    /// Notes whether the commits of other processes can be read: see ``CommitLog/note(_:)``.
    func note(failure: StrataError?) { update(by: nil) { $0.log.note(failure) } }

    /// Ends all waits, because the store is closed.
    func finish() { _ = update(by: nil) { $0.log.finish() } }
}

extension LayerRegistry.State {
    /// Whether a task does not have to wait, or not any longer.
    fileprivate func hasEnded(_ awaited: CommitLog.Awaited) -> Bool {
        if awaited.isReached(at: log.end) || log.isFinished || log.failure != nil { return true }
        if case .event(_, let context?) = awaited { return !layers.contexts.contains(context) }
        return false
    }
}

/// The registration of a listener to the commits of a store. The registration ends with the last reference to this
/// object.
package final class CommitListening: Sendable {
    private let end: @Sendable () -> Void

    init(_ end: @escaping @Sendable () -> Void) { self.end = end }

    deinit { end() }
}
