/// Decides when a mirror with `isOnce` reports why it waits: some seconds after the reason last changed, and once per
/// reason.
struct WaitWatch {
    private let now: @Sendable () -> ContinuousClock.Instant
    private var since: ContinuousClock.Instant
    private var isTold = false
    /// The reason why the mirror waits. Nil if it does not wait.
    private(set) var reason: String?

    /// The time for which a reason must stay the same before it is reported.
    static let patience = Duration.seconds(3)

    init(now: @escaping @Sendable () -> ContinuousClock.Instant) {
        self.now = now
        since = now()
    }

    /// Records why the mirror waits now.
    ///
    /// - Returns: the reason to report, or nil for no report.
    mutating func update(_ reason: String?) -> String? {
        if reason != self.reason {
            (self.reason, since, isTold) = (reason, now(), false)
            return nil
        }
        guard let reason, !isTold, now() - since >= Self.patience else { return nil }
        isTold = true
        return reason
    }
}
