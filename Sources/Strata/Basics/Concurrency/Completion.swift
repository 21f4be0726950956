import Synchronization

/// An event that one task waits for. The event may come before the wait.
final class Completion: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<Void, Never>)
        case complete
    }

    private let state = Mutex(State.open)

    /// Lets the task continue. Called once.
    func complete() {
        let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
            defer { state = .complete }
            if case .awaited(let continuation) = state { return continuation }
            return nil
        }
        waiting?.resume()
    }

    /// Waits for the event. Called once.
    nonisolated(nonsending) func wait() async {
        await withCheckedContinuation { continuation in
            let isComplete = state.withLock { state in
                if case .complete = state { return true }
                state = .awaited(continuation)
                return false
            }
            if isComplete { continuation.resume() }
        }
    }
}
