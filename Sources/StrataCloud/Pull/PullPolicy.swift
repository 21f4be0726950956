/// When an account looks at what others have changed.
public struct PullPolicy: Hashable, Sendable {
    /// How long it rests between pulls; nil for never by itself.
    public var interval: Duration?
    /// Whether nothing is sent before the first pull has come to its end.
    public var isPushWaiting: Bool

    /// A policy.
    public init(interval: Duration?, isPushWaiting: Bool = false) {
        self.interval = interval
        self.isPushWaiting = isPushWaiting
    }

    /// When ``CloudAccount/pull()`` is called.
    public static let manual = PullPolicy(interval: nil)
    /// At once, and again and again after a pause.
    public static func every(_ interval: Duration, isPushWaiting: Bool = false) -> PullPolicy {
        PullPolicy(interval: interval, isPushWaiting: isPushWaiting)
    }
}
