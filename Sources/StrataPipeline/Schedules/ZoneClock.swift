import Foundation

/// The wall clock of a time zone, in whole seconds since 1970.
///
/// It uses only `secondsFromGMT(for:)`, so that every change of the offset counts, whether it is daylight saving or
/// not.
struct ZoneClock {
    /// A duration longer than any step back of a clock in the zone database. The longest one is a day.
    static let longestStepBack = 26 * 3600

    /// The largest offset that `TimeZone` accepts: 18 hours.
    private static let largestOffset = 18 * 3600
    /// The distance of probes. The two closest changes of one zone in the zone database lie four days apart.
    private static let probe = 48 * 3600

    let zone: TimeZone

    /// The seconds by which the clock is ahead of UTC.
    func offset(at instant: Int) -> Int { zone.secondsFromGMT(for: Date(secondsSince1970: instant)) }

    /// The first instant after `instant`, up to and including `limit`, at which another offset comes into force.
    func change(after instant: Int, upTo limit: Int) -> Int? {
        let current = offset(at: instant)
        var low = instant
        while low < limit {
            var high = min(low + Self.probe, limit)
            if offset(at: high) == current {
                low = high
                continue
            }
            while high - low > 1 {
                let middle = low + (high - low) / 2
                if offset(at: middle) == current { low = middle } else { high = middle }
            }
            return high
        }
        return nil
    }

    /// The first instant at which the clock shows `local` or later: its first occurrence, or the end of its gap.
    func firstInstant(showing local: Int) -> Int {
        var instant = local - Self.largestOffset
        while true {
            let candidate = local - offset(at: instant)
            if candidate <= instant { return instant }
            guard let change = change(after: instant, upTo: candidate) else { return candidate }
            instant = change
        }
    }

    /// The latest local second that the clock has shown up to and including `instant`.
    func latestShown(upTo instant: Int) -> Int {
        var from = instant - Self.longestStepBack
        var latest = from + offset(at: from)
        while let change = change(after: from, upTo: instant) {
            latest = max(latest, change - 1 + offset(at: from))
            from = change
        }
        return max(latest, instant + offset(at: instant))
    }
}

extension Date {
    /// The seconds from 1970 to 2001, the reference date. This conversion is exact, whereas `timeIntervalSince1970`
    /// rounds.
    private static let referenceOffset = 978_307_200

    init(secondsSince1970 seconds: Int) {
        self.init(timeIntervalSinceReferenceDate: TimeInterval(seconds - Self.referenceOffset))
    }

    /// The last whole second since 1970 that is not after the date, or `nil` for a date outside the years 0 to 9999.
    var wholeSecondsSince1970: Int? {
        let seconds = timeIntervalSinceReferenceDate.rounded(.down) + TimeInterval(Self.referenceOffset)
        guard seconds >= -62_167_219_200, seconds < 253_402_300_800 else { return nil }
        return Int(seconds)
    }
}
