/// How long finished operations are kept. Beyond that the oldest go, some time later.
public struct FinishedRetention: Sendable, Hashable {
    /// How old they may become.
    public var maximumAge: Duration
    /// How many there may be.
    public var maximumCount: Int

    /// Seven days, and a hundred thousand.
    public static let standard = FinishedRetention()

    /// Limits of one's own.
    public init(maximumAge: Duration = .seconds(7 * 24 * 3600), maximumCount: Int = 100_000) {
        self.maximumAge = maximumAge
        self.maximumCount = max(maximumCount, 0)
    }
}
