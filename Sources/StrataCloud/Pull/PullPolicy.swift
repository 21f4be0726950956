/// When an account looks at what others have changed.
public struct PullPolicy: Hashable, Sendable {
    /// How long it rests between pulls; nil for never by itself.
    public var interval: Duration?
    /// Whether nothing is sent before the first pull has come to its end.
    public var isPushWaiting: Bool
    /// How many files a pull may remove here without a question; nil for any number.
    public var removalLimit: RemovalLimit?

    /// A policy.
    public init(interval: Duration?, isPushWaiting: Bool = false, removalLimit: RemovalLimit? = .standard) {
        self.interval = interval
        self.isPushWaiting = isPushWaiting
        self.removalLimit = removalLimit
    }

    /// When ``CloudAccount/pull()`` is called.
    public static let manual = PullPolicy(interval: nil)
    /// At once, and again and again after a pause.
    public static func every(
        _ interval: Duration,
        isPushWaiting: Bool = false,
        removalLimit: RemovalLimit? = .standard
    ) -> PullPolicy {
        PullPolicy(interval: interval, isPushWaiting: isPushWaiting, removalLimit: removalLimit)
    }
}
