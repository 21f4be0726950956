import Synchronization

/// Hands every failure to every subscriber, and keeps those that came before the first one.
final class FailureHub: Sendable {
    /// How many failures a subscriber, or the time before the first one, may fall behind; the oldest go first.
    static let capacity = 256

    private struct State {
        var subscribers: [Int: AsyncStream<SaveFailure>.Continuation] = [:]
        var nextID = 0
        var backlog: [SaveFailure] = []
        var isFinished = false
    }

    private let state = Mutex(State())

    /// A stream of the failures from now on; the first subscriber gets the earlier ones too.
    func subscribe() -> AsyncStream<SaveFailure> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: SaveFailure.self,
            bufferingPolicy: .bufferingNewest(Self.capacity)
        )
        let (id, backlog, isFinished) = state.withLock { state in
            defer { state.nextID += 1 }
            let backlog = state.backlog
            state.backlog = []
            // Under the lock, so that the earlier ones come before the later ones.
            for failure in backlog { continuation.yield(failure) }
            if !state.isFinished { state.subscribers[state.nextID] = continuation }
            return (state.nextID, backlog.count, state.isFinished)
        }
        _ = backlog
        if isFinished {
            continuation.finish()
        } else {
            continuation.onTermination = { [weak self] _ in self?.unsubscribe(id) }
        }
        return stream
    }

    /// Hands on a failure; false when nobody listens and it was kept.
    @discardableResult
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

    /// Ends all streams, after what they still hold.
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
