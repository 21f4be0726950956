/// A day of the proleptic Gregorian calendar, which is Gregorian for all years, even before its introduction in 1582.
///
/// The conversions are `civil_from_days` and `days_from_civil` from Howard Hinnant, "chrono-Compatible Low-Level Date
/// Algorithms" (2014). They count in years that begin in March, so that the leap day comes last.
package struct CivilDate: Sendable {
    package var year: Int
    /// From 1 to 12.
    package var month: Int
    /// From 1. A day after the end of the month counts on into the next month.
    package var day: Int

    package init(year: Int, month: Int, day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }

    package init(daysSince1970 days: Int) {
        let (cycle, dayOfCycle) = (days + Self.daysFromMarchOfYear0).flooredQuotientAndRemainder(by: Self.daysPerCycle)
        // Takes out the leap days before this one: every 4 years, but not every 100, and the last one of the cycle.
        let leapDays = dayOfCycle / 1460 - dayOfCycle / 36_524 + dayOfCycle / (Self.daysPerCycle - 1)
        let yearOfCycle = (dayOfCycle - leapDays) / 365
        let dayOfYear = dayOfCycle - (365 * yearOfCycle + yearOfCycle / 4 - yearOfCycle / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
        month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        year = cycle * 400 + yearOfCycle + (month <= 2 ? 1 : 0)
    }

    package var daysSince1970: Int {
        let (cycle, yearOfCycle) = (month <= 2 ? year - 1 : year).flooredQuotientAndRemainder(by: 400)
        let marchMonth = month > 2 ? month - 3 : month + 9
        let dayOfYear = (153 * marchMonth + 2) / 5 + day - 1
        let dayOfCycle = 365 * yearOfCycle + yearOfCycle / 4 - yearOfCycle / 100 + dayOfYear
        return cycle * Self.daysPerCycle + dayOfCycle - Self.daysFromMarchOfYear0
    }

    /// The day of the week, from 0 for Sunday.
    package var weekday: Int {
        // 1 January 1970 was a Thursday.
        (daysSince1970 + 4).flooredQuotientAndRemainder(by: 7).remainder
    }

    /// The number of days of a month.
    package static func length(ofMonth month: Int, year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private static let daysPerCycle = 146_097
    private static let daysFromMarchOfYear0 = 719_468
}

extension Int {
    /// Division that rounds down, so that the remainder is never negative.
    package func flooredQuotientAndRemainder(by divisor: Int) -> (quotient: Int, remainder: Int) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
