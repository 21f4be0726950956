/// When an account pulls the changes of other machines.
public struct PullPolicy: Hashable, Sendable {
    /// The pause between automatic pulls; nil for no automatic pulls.
    public var interval: Duration?
    /// Whether all operations wait for the end of the first pull.
    public var waitsForInitialPull: Bool
    /// How many local files a pull may remove without confirmation; nil for any number.
    public var removalLimit: RemovalLimit?

    /// Creates a policy.
    public init(interval: Duration?, waitsForInitialPull: Bool = false, removalLimit: RemovalLimit? = .standard) {
        self.interval = interval
        self.waitsForInitialPull = waitsForInitialPull
        self.removalLimit = removalLimit
    }

    /// Pulls only when ``CloudAccount/pull(ignoringRemovalLimit:)`` is called.
    public static let manual = PullPolicy(interval: nil)
    /// Pulls at once, and then repeatedly with this pause between pulls.
    public static func every(
        _ interval: Duration,
        waitsForInitialPull: Bool = false,
        removalLimit: RemovalLimit? = .standard
    ) -> PullPolicy {
        PullPolicy(interval: interval, waitsForInitialPull: waitsForInitialPull, removalLimit: removalLimit)
    }
}
