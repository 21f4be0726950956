import Foundation

/// A schedule in the notation of crontab(5).
///
/// An expression has five fields, separated by spaces or tabs, or six with the seconds in front:
///
/// | field        | values                    |
/// | ------------ | ------------------------- |
/// | second       | 0-59; 0 if left out       |
/// | minute       | 0-59                      |
/// | hour         | 0-23                      |
/// | day-of-month | 1-31                      |
/// | month        | 1-12 or JAN-DEC           |
/// | day-of-week  | 0-7 or SUN-SAT; 0 and 7 are Sunday |
///
/// A field is a list, separated by commas, of `*`, values and ranges such as `10-40`. A step picks every n-th value:
/// `*/5`, `10-40/5`, and `7/10` for every tenth value from 7 to the end of the field. For days of the week, the end of
/// the field is Saturday. Names are allowed instead of values everywhere except in steps, in upper or lower case.
/// Ranges do not wrap around. Only a range of days of the week may end in Sunday, as in `FRI-SUN` and `5-7`. `@yearly`,
/// `@annually`, `@monthly`, `@weekly`, `@daily`, `@midnight` and `@hourly` are abbreviations of the five fields that
/// crontab(5) lists for them.
///
/// **Days**: if both day fields are restricted, that is, neither begins with `*`, a day matches if either field
/// matches. Otherwise both fields must match. So `0 0 1 * MON` comes on the first and on each Monday, but `0 0 */2 *
/// MON` comes on Mondays with an odd number.
///
/// **Daylight saving**: an expression whose minute or hour field begins with `*` follows elapsed time. It comes again
/// in an hour that the clock repeats, and does not come in a skipped hour. Any other expression names times of day, and
/// each time comes once. A time that the clock skips comes at the instant of the jump, together with all other times of
/// the same gap. A time that the clock repeats comes only the first time. The seconds field does not affect this rule.
/// A change of the zone's standard time counts like daylight saving, however large.
///
/// The notation and the day rule are those of crontab(5). The rule for daylight saving is that of Vixie's cron(8),
/// which treats jobs "with '*' in the hour or minute specifier" separately. Vixie's rule ends at changes of three
/// hours; this one does not.
///
/// Two expressions are equal if they are written the same.
struct CronExpression: Sendable, Hashable, CustomStringConvertible {
    /// The text as written, without leading and trailing blanks.
    let description: String

    private let fields: CronFields
    /// Whether each matching second counts, including a second that the clock shows again.
    private let followsRealTime: Bool

    /// Parses an expression.
    ///
    /// - Throws: ``CronError`` if the text is not a cron expression, or never comes, such as `0 0 30 2 *`.
    init(_ text: String) throws(CronError) {
        var parser = CronParser(text)
        fields = try parser.parse()
        followsRealTime = parser.hasWildcardTime
        description = parser.trimmed
    }

    /// The first moment strictly after `date` on the wall clock of `zone`, always a whole second.
    ///
    /// Days are those of the Gregorian calendar, also before its introduction. The result is `nil` in two cases only:
    /// no moment comes within 41 years, or `date` is not in the years 0 to 9999. The first case requires an expression
    /// that falls only into hours that the zone skips.
    ///
    /// - Complexity: skips from match to match. This takes a few lookups of the zone's offset, some dozens near a
    ///   change of the offset, and a step for each month without a match.
    func next(after date: Date, in zone: TimeZone = .gmt) -> Date? {
        guard let second = date.wholeSecondsSince1970 else { return nil }
        let clock = ZoneClock(zone: zone)
        let next = followsRealTime ? nextMatch(from: second + 1, on: clock) : nextTime(after: second, on: clock)
        return next.map(Date.init(secondsSince1970:))
    }

    /// The next named time of day: the first one later than any time that the clock has shown.
    private func nextTime(after second: Int, on clock: ZoneClock) -> Int? {
        fields.firstMatch(atOrAfter: clock.latestShown(upTo: second) + 1).map(clock.firstInstant(showing:))
    }

    /// The first instant at or after `start` at which the clock shows a match.
    private func nextMatch(from start: Int, on clock: ZoneClock) -> Int? {
        let last = start + CronFields.horizon * 366 * 86_400
        var instant = start
        while instant <= last {
            let offset = clock.offset(at: instant)
            guard let local = fields.firstMatch(atOrAfter: instant + offset) else { return nil }
            let candidate = local - offset
            let near = min(candidate, instant + ZoneClock.longestStepBack)
            if let change = clock.change(after: instant, upTo: near) {
                instant = change
            } else if candidate == near {
                return candidate
            } else {
                // A later step back is too short to show a match before this one.
                instant = max(near, clock.firstInstant(showing: local))
            }
        }
        return nil
    }
}
