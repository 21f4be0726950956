import Synchronization

/// Limits the total bytes per second of all transfers together.
final class Throttle: Sendable {
    /// Computes when the next bytes may pass at a rate.
    struct Schedule {
        /// Bytes per second.
        let rate: Int
        private var next: ContinuousClock.Instant?

        init(rate: Int) { self.rate = max(1, rate) }

        /// The time when these bytes have passed, after all bytes that were requested before.
        mutating func finishTime(of bytes: Int, at now: ContinuousClock.Instant) -> ContinuousClock.Instant {
            // Unused capacity is not saved.
            let finish = max(next ?? now, now) + .seconds(Double(bytes) / Double(rate))
            next = finish
            return finish
        }
    }

    /// The number of bytes that pass at once: at most a tenth of a second's worth, so that a waiting transfer does not
    /// look like a stalled remote.
    let piece: Int
    private let schedule: Mutex<Schedule>

    /// - Parameter rate: bytes per second, at least one.
    init(rate: Int) {
        let schedule = Schedule(rate: rate)
        piece = min(max(1, schedule.rate / 10), 256 << 10)
        self.schedule = Mutex(schedule)
    }

    /// Waits until these bytes may pass.
    ///
    /// - Throws: `CancellationError` if the task is cancelled.
    func pass(_ bytes: Int) async throws {
        let finish = schedule.withLock { $0.finishTime(of: bytes, at: .now) }
        try await Task.sleep(until: finish, clock: .continuous)
    }
}
