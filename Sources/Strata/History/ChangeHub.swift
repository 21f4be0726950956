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
        /// What is about to be committed and not known to the layers by itself.
        var announced: ChangeSet?
        var waiters: [Int: Waiter] = [:]
        var isFinished = false
    }

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
    func announce(_ changes: ChangeSet) { state.withLock { $0.announced = changes } }

    /// Nothing was committed.
    func withdraw() { state.withLock { $0.announced = nil } }

    /// Tells of a commit.
    ///
    /// - Parameter changes: nil for commits of others, which are found in the history.
    func advance(to sequence: Int64, _ changes: ChangeSet?) {
        let woken = state.withLock { state -> [Waiter] in
            guard sequence > state.sequence else { return [] }
            state.sequence = sequence
            var changes = changes
            if let announced = state.announced, announced.token.sequence <= sequence {
                if announced.token.sequence == sequence { changes = changes ?? announced }
                state.announced = nil
            }
            if let changes, state.isUsed {
                if let last = state.recent.last, last.token.sequence != sequence - 1 { state.recent.removeAll() }
                if state.recent.count == Self.limit { state.recent.removeFirst(Self.limit / 2) }
                state.recent.append(changes)
            } else {
                state.recent.removeAll()
            }
            let woken = state.waiters.filter { $0.value.position < sequence }
            for number in woken.keys { state.waiters[number] = nil }
            return Array(woken.values)
        }
        for waiter in woken { waiter.continuation.resume() }
    }

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
    nonisolated(nonsending) func wait(after position: Int64) async -> Bool {
        await CancellableWait.wait { number, waiter in
            state.withLock { state in
                if state.sequence > position || state.isFinished || Task.isCancelled { return false }
                state.waiters[number] = Waiter(position: position, continuation: waiter)
                return true
            }
        } remove: { number in
            state.withLock { $0.waiters.removeValue(forKey: number) }?.continuation
        }
        return state.withLock { $0.sequence > position && !$0.isFinished }
    }

    /// The store is closed.
    func finish() {
        let waiters = state.withLock { state in
            state.isFinished = true
            state.recent.removeAll()
            defer { state.waiters.removeAll() }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.continuation.resume() }
    }
}
