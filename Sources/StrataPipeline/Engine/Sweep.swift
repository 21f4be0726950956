/// A broker's sweep through the names of all queues with pending operations, which may take several turns. It visits
/// the names after the last served one, and then those from the beginning up to this one.
struct Sweep: Sendable {
    /// The name before the first one of this sweep.
    private(set) var start = ""
    /// The name that was served last.
    var cursor = ""
    /// Whether the sweep is still among the names after the start.
    var isBehind = true
    /// Whether an operation was claimed.
    var isFruitful = false

    /// The last name of this sweep; nil for all.
    var last: String? { isBehind ? nil : start }

    /// Begins another sweep at the present position.
    mutating func begin() { (start, isBehind, isFruitful) = (cursor, true, false) }
}
