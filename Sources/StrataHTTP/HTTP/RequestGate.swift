import Synchronization

/// Lets so many requests in at a time, first come, first served.
final class RequestGate: Sendable {
    /// A place inside, which is free again when it is given back, or when nobody holds this any more.
    final class Ticket: Sendable {
        private let gate: RequestGate
        private let isOver = Atomic(false)

        fileprivate init(_ gate: RequestGate) { self.gate = gate }

        deinit { giveBack() }

        /// Lets somebody else in. Once is enough.
        func giveBack() {
            if !isOver.exchange(true, ordering: .relaxed) { gate.leave() }
        }
    }

    private struct State {
        var free: Int
        var next: UInt64 = 0
        var waiting: [(id: UInt64, continuation: CheckedContinuation<Void, any Error>)] = []
        /// Those that were cancelled before they came to wait.
        var cancelled: Set<UInt64> = []
    }

    private let state: Mutex<State>

    init(limit: Int) { state = Mutex(State(free: limit)) }

    /// Waits for a place.
    ///
    /// - Throws: `CancellationError`.
    func enter() async throws -> Ticket {
        try Task.checkCancellation()
        let id = state.withLock { state in
            state.next += 1
            return state.next
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result: Result<Void, any Error>? = state.withLock { state in
                    if state.cancelled.remove(id) != nil { return .failure(CancellationError()) }
                    if state.free > 0 {
                        state.free -= 1
                        return .success(())
                    }
                    state.waiting.append((id, continuation))
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            cancel(id)
        }
        // What was cancelled too late to keep it from its place has left a trace.
        state.withLock { _ = $0.cancelled.remove(id) }
        return Ticket(self)
    }

    private func cancel(_ id: UInt64) {
        let continuation = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            guard let index = state.waiting.firstIndex(where: { $0.id == id }) else {
                state.cancelled.insert(id)
                return nil
            }
            return state.waiting.remove(at: index).continuation
        }
        continuation?.resume(throwing: CancellationError())
    }

    private func leave() {
        let continuation = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            guard !state.waiting.isEmpty else {
                state.free += 1
                return nil
            }
            return state.waiting.removeFirst().continuation
        }
        continuation?.resume()
    }
}
