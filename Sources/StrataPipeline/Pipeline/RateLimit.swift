/// How many attempts may start in an interval, for servers that limit the rate of requests.
///
/// This is a token bucket of `count` tokens. Each start takes a token, and `count` tokens return in each interval, one
/// by one. So `count` attempts may start at once after a pause, and at most twice as many in any interval. The bucket
/// is stored: all processes that run the pipeline share it, and it outlives them.
public struct RateLimit: Sendable, Hashable {
    /// The number of attempts.
    public let count: Int
    /// The interval.
    public let interval: Duration

    /// Creates a limit of `count` attempts per interval.
    ///
    /// The count must be 1 or more, and the interval a millisecond or longer. Opening a pipeline or broker with another
    /// limit throws ``PipelineError`` with `invalidArgument`.
    public init(_ count: Int, per interval: Duration) {
        self.count = count
        self.interval = interval
    }

    /// The number of tokens that return in a second.
    var rate: Double { Double(count) / interval.seconds }

    /// The number of tokens in a bucket, some seconds after it contained `tokens`.
    func tokens(_ tokens: Double, after seconds: Double) -> Double {
        let sum = tokens + max(seconds, 0) * rate
        // A damaged store may contain infinite numbers, whose sum or product is not a number.
        return sum.isNaN ? 0 : min(sum, Double(count))
    }
}
