import Synchronization

/// Wakes those who follow the commits of a store, and keeps the newest change sets for them.
///
/// Followers go from commit to commit at their own pace: by what is kept here and, where they have fallen behind, by the history
/// in the store. So nothing is lost or told twice, and nobody's backlog is held in memory.
///
/// Isolation: any.
final class ChangeHub: Sendable {
    private struct State {
        /// The number of the newest commit.
        var sequence: Int64
        /// The newest change sets, without gaps, the last commit's last; fewer where they were found in the file.
        var recent: [ChangeSet] = []
        /// Whether anybody follows or ever has; before that nothing is kept.
        var isUsed = false
        /// What is about to be committed and not known to the layers by itself, in order.
        var announced: [ChangeSet] = []
        var waiters: [Int: Waiter] = [:]
        /// Who is called at each commit.
        var listeners: [Int: Listener] = [:]
        var lastListener = 0
        var isFinished = false
        /// Why commits of other processes cannot be taken in; nil while they can.
        var failure: StrataError?
    }

    /// Told of commits while the layers are held: it notes them and returns.
    ///
    /// Its argument is what they have changed, in order; nil where that is not known.
    typealias Listener = @Sendable ([ChangeSet]?) -> Void

    private struct Waiter {
        let position: Int64
        let continuation: CancellableWait.Waiter
    }

    static let limit = 256

    private let state: Mutex<State>

    init(sequence: Int64) { state = Mutex(State(sequence: sequence)) }

    /// Whether change sets are wanted for their own sake.
    var isUsed: Bool { state.withLock { $0.isUsed } }

    /// The number of the newest commit; from now on change sets are kept.
    func follow() -> Int64 {
        state.withLock { state in
            state.isUsed = true
            return state.sequence
        }
    }

    /// Keeps the changes of a commit that is about to be found in the file.
    func announce(_ changes: ChangeSet) { state.withLock { $0.announced.append(changes) } }

    /// Nothing was committed.
    func withdraw() { state.withLock { $0.announced.removeAll() } }

    /// Tells of a commit.
    ///
    /// - Parameter changes: nil for commits of others, which are found in the history.
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

    /// Has a listener called at every commit, as long as what is returned lives.
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

    /// How many listen.
    var listenerCount: Int { state.withLock { $0.listeners.count } }

    /// The change sets behind a position, as far as they are kept; nil where the next one is not.
    func recent(after position: Int64) -> ArraySlice<ChangeSet>? {
        state.withLock { state in
            guard let first = state.recent.first?.token.sequence, position >= first - 1, position < state.sequence
            else {
                return nil
            }
            return state.recent[Int(position - first + 1)...]
        }
    }

    /// Waits for a commit behind a position. Says whether there is one; if not, the store was closed or the task cancelled.
    ///
    /// - Throws: what keeps commits of other processes from being taken in.
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

    /// Notes whether commits of other processes can be taken in. If they cannot, everyone who waits or listens is woken.
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

    /// The store is closed.
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

/// That somebody listens to the commits of a store, until this goes away.
package final class CommitListening: Sendable {
    private let end: @Sendable () -> Void

    init(_ end: @escaping @Sendable () -> Void) { self.end = end }

    deinit { end() }
}
