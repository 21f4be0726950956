/// The delays before attempts to reconnect: a random part of a limit that doubles with each attempt.
struct Backoff {
    private static let base = Duration.milliseconds(50)
    private static let cap = Duration.seconds(2)

    private var limit = Self.base

    mutating func next() -> Duration {
        defer { limit = min(limit * 2, Self.cap) }
        // At least a tenth of the limit, so that an attempt never follows the previous one at once.
        return limit * Double.random(in: 0.1...1)
    }

    mutating func reset() { limit = Self.base }
}
