/// The pause between two looks at all files of a side.
///
/// A look takes longer the more files there are. The pause is about nine times as long as the last look, so that looks
/// take about a tenth of the time, and the transfers have the rest. After a minute the mirror looks again in any case.
struct LookPause {
    /// The shortest pause.
    let interval: Duration
    private(set) var length: Duration

    private static let longest = Duration.seconds(60)

    init(atLeast interval: Duration) { (self.interval, length) = (interval, interval) }

    /// Notes how long a look has taken.
    mutating func note(_ look: Duration) { length = max(interval, min(look * 9, Self.longest)) }
}
