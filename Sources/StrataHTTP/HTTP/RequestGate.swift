import Synchronization

/// Limits the number of concurrent requests, in the order of arrival.
///
/// A request that sends a body may have to read from the same server meanwhile. So such requests leave one place free
/// for requests without a body. Otherwise all of them could wait for each other.
final class RequestGate: Sendable {
    /// A place in the gate. It becomes free when ``giveBack()`` is called, or when the last reference is released.
    final class Ticket: Sendable {
        private let gate: RequestGate
        private let isSending: Bool
        private let isOver = Atomic(false)

        fileprivate init(_ gate: RequestGate, isSending: Bool) { (self.gate, self.isSending) = (gate, isSending) }

        deinit { giveBack() }

        /// Frees the place for the next request. Further calls have no effect.
        func giveBack() {
            if !isOver.exchange(true, ordering: .relaxed) { gate.leave(isSending) }
        }
    }

    private struct State {
        var free: Int
        var freeForSending: Int
        var next: UInt64 = 0
        var waiting: [(id: UInt64, isSending: Bool, continuation: CheckedContinuation<Void, any Error>)] = []
        /// The ids of requests that were cancelled before they started to wait.
        var cancelled: Set<UInt64> = []

        func hasPlace(_ isSending: Bool) -> Bool { free > 0 && (!isSending || freeForSending > 0) }

        mutating func change(_ isSending: Bool, by count: Int) {
            free += count
            if isSending { freeForSending += count }
        }
    }

    private let state: Mutex<State>

    /// - Parameter limit: the number of concurrent requests, at least 2.
    init(limit: Int) { state = Mutex(State(free: max(limit, 2), freeForSending: max(limit - 1, 1))) }

    /// Waits for a free place.
    ///
    /// - Parameter isSending: whether the request may depend on further requests that must enter before it can end.
    /// - Throws: `CancellationError`.
    func enter(isSending: Bool = false) async throws -> Ticket {
        try Task.checkCancellation()
        let id = state.withLock { state in
            state.next += 1
            return state.next
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result: Result<Void, any Error>? = state.withLock { state in
                    if state.cancelled.remove(id) != nil { return .failure(CancellationError()) }
                    if state.hasPlace(isSending) {
                        state.change(isSending, by: -1)
                        return .success(())
                    }
                    state.waiting.append((id, isSending, continuation))
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            cancel(id)
        }
        // A cancellation that arrived after the place was granted has left its id in the set.
        state.withLock { _ = $0.cancelled.remove(id) }
        return Ticket(self, isSending: isSending)
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

    private func leave(_ isSending: Bool) {
        let continuation = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            state.change(isSending, by: 1)
            guard let index = state.waiting.firstIndex(where: { state.hasPlace($0.isSending) }) else { return nil }
            let next = state.waiting.remove(at: index)
            state.change(next.isSending, by: -1)
            return next.continuation
        }
        continuation?.resume()
    }
}
