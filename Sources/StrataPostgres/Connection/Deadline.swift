import Foundation

/// The moment at which a call stops waiting for the server.
struct Deadline: Sendable {
    private let end: ContinuousClock.Instant
    /// A file whose end also ends the waiting; negative for none.
    let endDescriptor: Int32

    /// - Parameters:
    ///   - seconds: the time from now. A year is the maximum.
    ///   - endDescriptor: a file whose end also ends the waiting.
    init(seconds: TimeInterval, orEndOf endDescriptor: Int32 = -1) {
        self.init(
            end: ContinuousClock.now + Duration.seconds(min(max(seconds, 0), 365 * 86_400)),
            endDescriptor: endDescriptor
        )
    }

    /// - Throws: `PostgresFailure` if the file has ended.
    func checkEnd() throws {
        // poll(2) leaves out negative descriptors.
        var descriptor = pollfd(fd: endDescriptor, events: Int16(POLLIN), revents: 0)
        if poll(&descriptor, 1, 0) > 0 { throw Self.ended }
    }

    /// The failure of a call whose file has ended.
    static let ended = PostgresFailure(.connection, "the home is closed")

    private init(end: ContinuousClock.Instant, endDescriptor: Int32) {
        (self.end, self.endDescriptor) = (end, endDescriptor)
    }

    private var remaining: Duration { max(end - ContinuousClock.now, .zero) }

    var hasPassed: Bool { remaining == .zero }

    /// The remaining time in milliseconds, rounded up, for `poll(2)`.
    var milliseconds: Int32 {
        if hasPassed { return 0 }
        let (seconds, attoseconds) = remaining.components
        return Int32(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1)
    }

    /// The deadline of the first of several attempts that share the remaining time.
    ///
    /// - Parameter limit: the maximum number of seconds of an attempt; nil for no maximum.
    func share(ofAttempts count: Int, limit: TimeInterval?) -> Deadline {
        let share = remaining / max(count, 1)
        return Deadline(
            end: ContinuousClock.now + min(share, limit.map { Duration.seconds($0) } ?? share),
            endDescriptor: endDescriptor
        )
    }
}
