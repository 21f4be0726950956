import Synchronization

/// A block that waits at a mutex.
///
/// The waiter is served once: by the mutex or by cancellation, whichever comes first.
final class MutexWaiter: Sendable {
    private enum State {
        case new
        case waiting(CheckedContinuation<Void, any Error>)
        case served
    }

    let scope: BlockScope

    private let state = Mutex(State.new)

    init(_ scope: BlockScope) {
        self.scope = scope
    }

    /// Begins to wait; false if the wait was cancelled before it began.
    func arm(_ continuation: CheckedContinuation<Void, any Error>) -> Bool {
        state.withLock { state in
            guard case .new = state else { return false }
            state = .waiting(continuation)
            return true
        }
    }

    /// Takes the continuation, which the caller then resumes; nil if the waiter was already served, or does not wait
    /// yet.
    func grant() -> CheckedContinuation<Void, any Error>? {
        state.withLock { state in
            defer { state = .served }
            guard case .waiting(let continuation) = state else { return nil }
            return continuation
        }
    }
}
