/// A broker's round through the names of all queues with pending operations, which may take several passes. It visits
/// the names after the last served one, and then those from the beginning up to this one.
struct RoundRobinCursor: Sendable {
    /// The name before the first one of this round.
    private(set) var start = ""
    /// The name that was served last.
    var position = ""
    /// Whether the round is still among the names after the start.
    var isBehind = true
    /// Whether an operation was claimed.
    var isFruitful = false

    /// The last name of this round; nil for all.
    var last: String? { isBehind ? nil : start }

    /// Begins another round at the present position.
    mutating func begin() { (start, isBehind, isFruitful) = (position, true, false) }
}
