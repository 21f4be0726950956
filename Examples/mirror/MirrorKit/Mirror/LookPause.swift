/// The pause between two looks at all files of a side.
///
/// A look takes longer the more files there are. The pause is at least nine times as long as the last look, so that
/// looks take at most a tenth of the time, and the transfers have the rest.
struct LookPause {
    /// The shortest pause.
    let interval: Duration
    private(set) var length: Duration

    init(atLeast interval: Duration) { (self.interval, length) = (interval, interval) }

    /// Notes how long a look has taken.
    mutating func note(_ look: Duration) { length = max(interval, look * 9) }
}
