/// How many attempts may be started in a time, for servers that accept no more.
///
/// A token bucket: it holds as many tokens as `count` says, each start takes one, and `count` of them come back in each interval, one by one.
/// So after a rest `count` may start at once, and no more than twice as many in any interval. The bucket is in the store: all processes that run the pipeline
/// share it, and it outlives them.
public struct RateLimit: Sendable, Hashable {
    /// How many attempts.
    public let count: Int
    /// In how long a time.
    public let interval: Duration

    /// So many attempts in a time. At least one, and a millisecond.
    public init(_ count: Int, per interval: Duration) {
        self.count = max(count, 1)
        self.interval = max(interval, .milliseconds(1))
    }

    /// How many tokens come back in a second.
    var rate: Double { Double(count) / interval.seconds }
}
