import Strata

/// A set of numbers from 0 to 63, one bit each.
struct BitSet: Hashable, Sendable {
    private(set) var bits: UInt64 = 0

    init(bits: UInt64 = 0) { self.bits = bits }

    /// The smallest member. The set must not be empty.
    var first: Int { bits.trailingZeroBitCount }

    func contains(_ value: Int) -> Bool { bits >> UInt64(value) & 1 == 1 }

    /// The smallest member that is at least `value`.
    func first(atLeast value: Int) -> Int? {
        let rest = bits & (~0 << value)
        return rest == 0 ? nil : rest.trailingZeroBitCount
    }

    mutating func insert(_ value: Int) { bits |= 1 << UInt64(value) }
}

/// The values that the fields of an expression allow.
struct CronFields: Hashable, Sendable {
    /// The number of years that a search looks ahead. 29 February comes on a given day of the week at least every 40
    /// years.
    static let horizon = 41

    private static let secondsPerDay = 86_400

    var seconds: BitSet
    var minutes: BitSet
    var hours: BitSet
    var days: BitSet
    var months: BitSet
    var weekdays: BitSet
    /// Whether a day needs to match only one of `days` and `weekdays`.
    var eitherDaySuffices: Bool

    /// The first local second at or after `local` that the fields allow, or `nil` beyond ``horizon`` years.
    ///
    /// Local seconds count from 1970 on a clock without a time zone.
    ///
    /// **Complexity**: one step per month at worst.
    func firstMatch(atOrAfter local: Int) -> Int? {
        let (day, second) = local.flooredQuotientAndRemainder(by: Self.secondsPerDay)
        let start = CivilDate(daysSince1970: day)
        let isAllowed = allows(start)
        if isAllowed, let time = firstTime(atOrAfter: second) { return day * Self.secondsPerDay + time }
        let from = isAllowed ? start.day + 1 : start.day
        for year in start.year...(start.year + Self.horizon) {
            var month = months.first(atLeast: year == start.year ? start.month : 1)
            while let current = month {
                let isStart = year == start.year && current == start.month
                let allowed = allowedDays(year: year, month: current)
                if let match = allowed.first(atLeast: isStart ? from : 1) {
                    let date = CivilDate(year: year, month: current, day: match)
                    let earliest = hours.first * 3600 + minutes.first * 60 + seconds.first
                    return date.daysSince1970 * Self.secondsPerDay + earliest
                }
                month = months.first(atLeast: current + 1)
            }
        }
        return nil
    }

    private func allows(_ date: CivilDate) -> Bool {
        months.contains(date.month) && allowedDays(year: date.year, month: date.month).contains(date.day)
    }

    /// The days of one month that match by their number and their day of the week.
    private func allowedDays(year: Int, month: Int) -> BitSet {
        let existing: UInt64 = (1 << UInt64(CivilDate.length(ofMonth: month, year: year) + 1)) - 2
        let firstWeekday = CivilDate(year: year, month: month, day: 1).weekday
        // Six weeks in a row, shifted so that bit 1 is the weekday of the first of the month.
        let weeks = (0..<6).reduce(into: UInt64(0)) { $0 |= weekdays.bits << UInt64(7 * $1) }
        let byWeekday = weeks >> UInt64((firstWeekday + 6) % 7)
        let matching = eitherDaySuffices ? days.bits | byWeekday : days.bits & byWeekday
        return BitSet(bits: matching & existing)
    }

    /// The first allowed second of a day at or after `second`.
    private func firstTime(atOrAfter second: Int) -> Int? {
        let (hour, minute) = (second / 3600, second / 60 % 60)
        if hours.contains(hour) {
            if minutes.contains(minute), let match = seconds.first(atLeast: second % 60) {
                return hour * 3600 + minute * 60 + match
            }
            if let match = minutes.first(atLeast: minute + 1) { return hour * 3600 + match * 60 + seconds.first }
        }
        guard let match = hours.first(atLeast: hour + 1) else { return nil }
        return match * 3600 + minutes.first * 60 + seconds.first
    }
}
