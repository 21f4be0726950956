import Synchronization

/// Lets so many requests in at a time, first come, first served.
///
/// Those that send may read from the same server meanwhile. So they leave one place to those that do not, without which all of them could wait for each other.
final class RequestGate: Sendable {
    /// A place inside, which is free again when it is given back, or when nobody holds this any more.
    final class Ticket: Sendable {
        private let gate: RequestGate
        private let isSending: Bool
        private let isOver = Atomic(false)

        fileprivate init(_ gate: RequestGate, isSending: Bool) { (self.gate, self.isSending) = (gate, isSending) }

        deinit { giveBack() }

        /// Lets somebody else in. Once is enough.
        func giveBack() {
            if !isOver.exchange(true, ordering: .relaxed) { gate.leave(isSending) }
        }
    }

    private struct State {
        var free: Int
        var freeForSending: Int
        var next: UInt64 = 0
        var waiting: [(id: UInt64, isSending: Bool, continuation: CheckedContinuation<Void, any Error>)] = []
        /// Those that were cancelled before they came to wait.
        var cancelled: Set<UInt64> = []

        func hasPlace(_ isSending: Bool) -> Bool { free > 0 && (!isSending || freeForSending > 0) }

        mutating func change(_ isSending: Bool, by count: Int) {
            free += count
            if isSending { freeForSending += count }
        }
    }

    private let state: Mutex<State>

    /// - Parameter limit: how many at a time, two at least.
    init(limit: Int) { state = Mutex(State(free: max(limit, 2), freeForSending: max(limit - 1, 1))) }

    /// Waits for a place.
    ///
    /// - Parameter isSending: whether others of its requests may have to come in before it can end.
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
        // What was cancelled too late to keep it from its place has left a trace.
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
