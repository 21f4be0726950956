import Synchronization

/// Lets so many bytes a second pass, of all transfers together.
final class Throttle: Sendable {
    /// When what passes next may, at such a rate.
    struct Schedule {
        /// In bytes a second.
        let rate: Int
        private var next: ContinuousClock.Instant?

        init(rate: Int) { self.rate = max(1, rate) }

        /// The moment at which so many bytes have passed, behind all that were asked for before.
        mutating func turn(of bytes: Int, at now: ContinuousClock.Instant) -> ContinuousClock.Instant {
            // What was not used is not saved up.
            let turn = max(next ?? now, now) + .seconds(Double(bytes) / Double(rate))
            next = turn
            return turn
        }
    }

    /// How many bytes pass at once: a tenth of a second's, so that what waits for them does not take it for a remote that has stalled.
    let piece: Int
    private let schedule: Mutex<Schedule>

    /// - Parameter rate: in bytes a second, at least one.
    init(rate: Int) {
        let schedule = Schedule(rate: rate)
        piece = min(max(1, schedule.rate / 10), 256 << 10)
        self.schedule = Mutex(schedule)
    }

    /// Waits for the turn of so many bytes.
    ///
    /// - Throws: `CancellationError` where the task is cancelled.
    func pass(_ bytes: Int) async throws {
        let turn = schedule.withLock { $0.turn(of: bytes, at: .now) }
        try await Task.sleep(until: turn, clock: .continuous)
    }
}
