import Synchronization

/// Lets a number of pages read at once, so that many requests do not take the readers of the application.
final class ReadLimiter: Sendable {
    /// The greatest number of requests that wait. A client may send requests without waiting for the answers.
    static let greatestWaiting = 1000

    private struct State {
        var free: Int
        var nextID = 0
        var waiting: [(id: Int, continuation: CheckedContinuation<Void, any Error>)] = []
    }

    private let state: Mutex<State>

    /// - Parameter limit: the number of pages, at least 1.
    init(_ limit: Int) { state = Mutex(State(free: max(limit, 1))) }

    /// The number of requests that wait.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Waits until a page may read. Each call that returns needs a call of ``end()``.
    ///
    /// - Throws: `CancellationError`; ``ConsoleError`` if too many requests wait.
    func begin() async throws {
        let id: Int = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let result: Result<Void, any Error>? = state.withLock { state in
                    // A cancellation from now on finds the continuation.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.free > 0 {
                        state.free -= 1
                        return .success(())
                    }
                    if state.waiting.count >= Self.greatestWaiting { return .failure(Self.tooMany) }
                    state.waiting.append((id: id, continuation: continuation))
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            let cancelled: CheckedContinuation<Void, any Error>? = state.withLock { state in
                guard let index = state.waiting.firstIndex(where: { $0.id == id }) else { return nil }
                return state.waiting.remove(at: index).continuation
            }
            cancelled?.resume(throwing: CancellationError())
        }
    }

    /// Lets the next page read.
    func end() {
        let next: CheckedContinuation<Void, any Error>? = state.withLock { state in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst().continuation }
            state.free += 1
            return nil
        }
        next?.resume()
    }

    private static var tooMany: ConsoleError {
        ConsoleError(.serviceUnavailable, "Too many pages wait for the store. Try again later.")
    }
}
