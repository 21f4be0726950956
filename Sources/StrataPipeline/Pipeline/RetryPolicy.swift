/// When and how often an operation is tried again after its handler has thrown.
///
/// The pause before the next attempt is a random fraction of a limit that doubles with each attempt: "full jitter", as
/// in https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/.
public struct RetryPolicy: Sendable, Hashable {
    /// The total number of attempts; nil for any number.
    public var maxAttempts: Int?
    /// The limit of the pause after the first attempt. It doubles with each further attempt.
    public var base: Duration
    /// The greatest value of the limit.
    public var cap: Duration

    /// Ten attempts. The pause is up to one second at first, and up to a minute later.
    public static let standard = RetryPolicy()
    /// One attempt.
    public static let never = RetryPolicy(maxAttempts: 1)

    /// Creates a policy.
    public init(maxAttempts: Int? = 10, base: Duration = .seconds(1), cap: Duration = .seconds(60)) {
        self.maxAttempts = maxAttempts
        self.base = base
        self.cap = cap
    }

    /// The pause after an attempt, in seconds.
    ///
    /// - Parameter fraction: a random number from 0 to 1.
    func pause(after attempt: Int, _ fraction: Double) -> Double {
        var limit = base.seconds
        for _ in 1..<max(attempt, 1) where limit < cap.seconds { limit *= 2 }
        return min(limit, cap.seconds) * fraction
    }
}

extension Duration {
    package var seconds: Double {
        // `components` traps if the number of seconds exceeds an integer.
        guard self > .seconds(Int64.min), self < .seconds(Int64.max) else { return self / .seconds(1) }
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}
