/// How long finished operations are kept. Operations beyond a limit are deleted some time later, oldest first.
public struct FinishedRetention: Sendable, Hashable {
    /// The greatest age of a finished operation.
    public var maximumAge: Duration
    /// The greatest number of finished operations.
    public var maximumCount: Int

    /// Seven days, and 100,000 operations.
    public static let standard = FinishedRetention()

    /// Creates limits. A negative count becomes 0.
    public init(maximumAge: Duration = .seconds(7 * 24 * 3600), maximumCount: Int = 100_000) {
        self.maximumAge = maximumAge
        self.maximumCount = max(maximumCount, 0)
    }
}
