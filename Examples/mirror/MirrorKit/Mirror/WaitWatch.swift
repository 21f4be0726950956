/// When a mirror that is to end says what it waits for: some seconds after the reason is the same, and once for each reason.
struct WaitWatch {
    private let now: @Sendable () -> ContinuousClock.Instant
    private var since: ContinuousClock.Instant
    private var isTold = false
    /// Why the mirror waits; nil if it does not wait.
    private(set) var reason: String?

    /// How long a reason stays the same before it is said.
    static let patience = Duration.seconds(3)

    init(now: @escaping @Sendable () -> ContinuousClock.Instant) {
        self.now = now
        since = now()
    }

    /// Records why the mirror waits now.
    ///
    /// - Returns: the reason to report; nil for none.
    mutating func note(_ reason: String?) -> String? {
        if reason != self.reason {
            (self.reason, since, isTold) = (reason, now(), false)
            return nil
        }
        guard let reason, !isTold, now() - since >= Self.patience else { return nil }
        isTold = true
        return reason
    }
}
