import Synchronization

/// Wakes the observers of a store's commits, and keeps the newest change sets for them.
///
/// Observers proceed from commit to commit at their own pace. They read the change sets kept here or, if these do not
/// reach back far enough, the history in the store. Therefore no commit is lost or reported twice, and no observer's
/// backlog is held in memory.
///
/// Isolation: any.
final class ChangeHub: Sendable {
    private struct State {
        /// The number of the newest commit.
        var sequence: Int64
        /// The newest change sets in the order of commits, without gaps. A commit without a known change set empties
        /// the list.
        var recent: [ChangeSet] = []
        /// Whether an observer exists or has existed. Before the first one, no change sets are kept.
        var isUsed = false
        /// The change sets of commits that are about to be written, in order. The layers find these commits in the
        /// file.
        var announced: [ChangeSet] = []
        var waiters: [Int: Waiter] = [:]
        /// The functions that are called at each commit.
        var listeners: [Int: Listener] = [:]
        var lastListener = 0
        var isFinished = false
        /// The reason why commits of other processes cannot be read; nil if they can.
        var failure: StrataError?
    }

    /// A function that is called at each commit while the layers are locked. It must only record the commit and return.
    ///
    /// Its argument is the change sets of the new commits, in order; nil if they are not known.
    typealias Listener = @Sendable ([ChangeSet]?) -> Void

    private struct Waiter {
        let position: Int64
        let continuation: CancellableWait.Waiter
    }

    static let limit = 256

    private let state: Mutex<State>

    init(sequence: Int64) { state = Mutex(State(sequence: sequence)) }

    /// Whether an observer exists or has existed, so that change sets are kept.
    var isUsed: Bool { state.withLock { $0.isUsed } }

    /// Begins to keep change sets, and returns the number of the newest commit.
    func follow() -> Int64 {
        state.withLock { state in
            state.isUsed = true
            return state.sequence
        }
    }

    /// Keeps the change set of a commit that is about to be found in the file.
    func announce(_ changes: ChangeSet) { state.withLock { $0.announced.append(changes) } }

    /// Drops the announced change sets, because nothing was committed.
    func withdraw() { state.withLock { $0.announced.removeAll() } }

    /// Reports a commit to observers and listeners.
    ///
    /// - Parameter changes: nil for commits of other processes, which are found in the history.
    func advance(to sequence: Int64, _ changes: ChangeSet?) {
        let (woken, listeners, news) = state.withLock { state -> ([Waiter], [Listener], [ChangeSet]?) in
            guard sequence > state.sequence else { return ([], [], nil) }
            let before = state.sequence
            state.sequence = sequence
            var news = changes.map { [$0] } ?? []
            if let first = state.announced.first, first.token.sequence <= sequence {
                let known = state.announced.prefix { $0.token.sequence <= sequence }
                if news.isEmpty { news += known }
                state.announced.removeFirst(known.count)
            }
            if news.last?.token.sequence == sequence, state.isUsed {
                for changes in news {
                    if let last = state.recent.last, last.token.sequence != changes.token.sequence - 1 {
                        state.recent.removeAll()
                    }
                    if state.recent.count == Self.limit { state.recent.removeFirst(Self.limit / 2) }
                    state.recent.append(changes)
                }
            } else {
                state.recent.removeAll()
            }
            let woken = state.waiters.filter { $0.value.position < sequence }
            for number in woken.keys { state.waiters[number] = nil }
            let isWhole = news.first?.token.sequence == before + 1 && news.last?.token.sequence == sequence
            return (Array(woken.values), Array(state.listeners.values), isWhole ? news : nil)
        }
        for waiter in woken { waiter.continuation.resume() }
        for listener in listeners { listener(news) }
    }

    /// Calls a listener at every commit, as long as the returned object lives.
    func listen(_ listener: @escaping Listener) -> CommitListening {
        let number = state.withLock { state in
            state.lastListener += 1
            state.listeners[state.lastListener] = listener
            return state.lastListener
        }
        return CommitListening { [weak self] in
            _ = self?.state.withLock { $0.listeners.removeValue(forKey: number) }
        }
    }

    /// The number of listeners.
    var listenerCount: Int { state.withLock { $0.listeners.count } }

    /// The kept change sets after a position; nil if the next one is not kept.
    func recent(after position: Int64) -> ArraySlice<ChangeSet>? {
        state.withLock { state in
            guard let first = state.recent.first?.token.sequence, position >= first - 1, position < state.sequence
            else {
                return nil
            }
            return state.recent[Int(position - first + 1)...]
        }
    }

    /// Waits for a commit after a position. Returns false if the store was closed or the task was cancelled first.
    ///
    /// - Throws: the error that prevents reading commits of other processes.
    nonisolated(nonsending) func wait(after position: Int64) async throws -> Bool {
        await CancellableWait.wait { number, waiter in
            state.withLock { state in
                if state.sequence > position || state.isFinished || state.failure != nil || Task.isCancelled {
                    return false
                }
                state.waiters[number] = Waiter(position: position, continuation: waiter)
                return true
            }
        } remove: { number in
            state.withLock { $0.waiters.removeValue(forKey: number) }?.continuation
        }
        let (isThere, failure) = state.withLock { state in
            (state.sequence > position && !state.isFinished, state.isFinished ? nil : state.failure)
        }
        if !isThere, let failure, !Task.isCancelled { throw failure }
        return isThere
    }

    /// Notes whether commits of other processes can be read. A failure wakes all waiting tasks. A new failure also
    /// calls all listeners.
    func note(failure: StrataError?) {
        let (waiters, listeners) = state.withLock { state -> ([Waiter], [Listener]) in
            let isNew = failure != nil && state.failure == nil
            state.failure = failure
            guard failure != nil else { return ([], []) }
            defer { state.waiters.removeAll() }
            return (Array(state.waiters.values), isNew ? Array(state.listeners.values) : [])
        }
        for waiter in waiters { waiter.continuation.resume() }
        for listener in listeners { listener(nil) }
    }

    /// Ends all waits, because the store is closed.
    func finish() {
        let waiters = state.withLock { state in
            state.isFinished = true
            state.recent.removeAll()
            state.listeners.removeAll()
            defer { state.waiters.removeAll() }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.continuation.resume() }
    }
}

/// The registration of a listener to the commits of a store. The registration ends with the last reference to this
/// object.
package final class CommitListening: Sendable {
    private let end: @Sendable () -> Void

    init(_ end: @escaping @Sendable () -> Void) { self.end = end }

    deinit { end() }
}
