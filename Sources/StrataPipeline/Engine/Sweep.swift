/// A way of a broker's through the names of all queues with something pending, which may take several turns: those behind the one that had
/// its turn last, then those from the beginning to that one.
struct Sweep: Sendable {
    /// The name before the first one of this sweep.
    private(set) var start = ""
    /// The name that has had its turn last.
    var cursor = ""
    /// Whether it is still behind the start.
    var isBehind = true
    /// Whether something was taken.
    var isFruitful = false

    /// The name behind which there is none in this sweep; nil for all.
    var last: String? { isBehind ? nil : start }

    /// Begins another one where this one is.
    mutating func begin() { (start, isBehind, isFruitful) = (cursor, true, false) }
}
