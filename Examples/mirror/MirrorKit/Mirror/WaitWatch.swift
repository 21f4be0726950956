/// When a mirror that is to end says what it waits for: some seconds after the reason is the same, and once for each reason.
struct WaitWatch {
    private let now: @Sendable () -> ContinuousClock.Instant
    private var since: ContinuousClock.Instant
    private var isTold = false
    /// What is waited for; nil for nothing.
    private(set) var reason: String?

    /// How long a reason stays the same before it is said.
    static let patience = Duration.seconds(3)

    init(now: @escaping @Sendable () -> ContinuousClock.Instant) {
        self.now = now
        since = now()
    }

    /// Notes what is waited for now.
    ///
    /// - Returns: what is to be said; nil for nothing.
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
