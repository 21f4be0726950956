import Synchronization

/// Lets so many bytes a second pass, of all transfers together.
final class Throttle: Sendable {
    /// In bytes a second.
    let limit: Int
    /// How many bytes pass at once, so that it is even.
    let piece: Int
    private let next = Mutex(ContinuousClock.Instant.now)

    init(_ limit: Int) {
        self.limit = max(1, limit)
        piece = min(max(1, limit / 10), 256 * 1024)
    }

    /// Waits for the turn of so many bytes.
    func pass(_ bytes: Int) async throws {
        let turn = next.withLock { next in
            let turn = max(next, .now)
            next = turn + .seconds(Double(bytes) / Double(limit))
            return next
        }
        try await Task.sleep(until: turn, clock: .continuous)
    }
}
