import Synchronization

/// Delivers every failure to every subscriber, and keeps the failures from before the first subscription.
final class FailureHub: Sendable {
    /// The number of failures that a subscriber's buffer, or the backlog before the first subscription, can hold. The
    /// oldest failures are dropped first.
    static let capacity = 256

    private struct State {
        var subscribers: [Int: AsyncStream<SaveFailure>.Continuation] = [:]
        var nextID = 0
        var backlog: [SaveFailure] = []
        var isFinished = false
    }

    private let state = Mutex(State())

    /// A stream of the failures from now on; the first subscriber also receives the earlier failures.
    func subscribe() -> AsyncStream<SaveFailure> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: SaveFailure.self,
            bufferingPolicy: .bufferingNewest(Self.capacity)
        )
        let (id, isFinished) = state.withLock { state in
            defer { state.nextID += 1 }
            // Under the lock, so that the earlier failures come before the later ones.
            for failure in state.backlog { continuation.yield(failure) }
            state.backlog = []
            if !state.isFinished { state.subscribers[state.nextID] = continuation }
            return (state.nextID, state.isFinished)
        }
        if isFinished {
            continuation.finish()
        } else {
            continuation.onTermination = { [weak self] _ in self?.unsubscribe(id) }
        }
        return stream
    }

    /// Delivers a failure to all subscribers; false if there is no subscriber and the failure was kept.
    func report(_ failure: SaveFailure) -> Bool {
        state.withLock { state in
            for continuation in state.subscribers.values { continuation.yield(failure) }
            if !state.subscribers.isEmpty { return true }
            if !state.isFinished {
                if state.backlog.count == Self.capacity { state.backlog.removeFirst() }
                state.backlog.append(failure)
            }
            return false
        }
    }

    /// Ends all streams after their buffered failures.
    func finish() {
        let subscribers = state.withLock { state in
            state.isFinished = true
            defer { state.subscribers = [:] }
            return Array(state.subscribers.values)
        }
        for continuation in subscribers { continuation.finish() }
    }

    private func unsubscribe(_ id: Int) {
        state.withLock { _ = $0.subscribers.removeValue(forKey: id) }
    }
}
