import Synchronization

/// A block that waits at a gate.
///
/// It is served once: by the gate or by cancellation, whichever comes first.
final class Waiter: Sendable {
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

    /// Begins to wait; false when it was cancelled before.
    func arm(_ continuation: CheckedContinuation<Void, any Error>) -> Bool {
        state.withLock { state in
            guard case .new = state else { return false }
            state = .waiting(continuation)
            return true
        }
    }

    /// Takes the continuation for whoever serves the waiter; nil when it was served before, or does not wait yet.
    func grant() -> CheckedContinuation<Void, any Error>? {
        state.withLock { state in
            defer { state = .served }
            guard case .waiting(let continuation) = state else { return nil }
            return continuation
        }
    }
}
