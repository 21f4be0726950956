/// A second in the calendar of ISO 8601, which is Gregorian for all years, even before its introduction in 1582.
///
/// Foundation's calendar counts days before 15 October 1582 in the Julian calendar, and reads 30 February as 2 March.
struct CalendarSecond {
    /// From 0 to 9999.
    private let year: Int64
    private let month: Int64
    private let day: Int64
    private let hour: Int64
    private let minute: Int64
    private let second: Int64

    private static let secondsOfDay: Int64 = 86_400
    /// The number of days from 1 March of the year 0 to 1 January 2001. A year that begins in March has its leap day at
    /// the end.
    private static let daysUntil2001: Int64 = 730_791
    private static let daysOf400Years: Int64 = 146_097

    /// Reads a time such as `2026-11-22T08:26:02` from the beginning of a text; nil if there is no such text, or no
    /// such second.
    init?(_ text: inout Substring) {
        let pattern = Array("0000-00-00T00:00:00".utf8)
        let bytes = Array(text.utf8.prefix(pattern.count))
        guard bytes.count == pattern.count else { return nil }
        var numbers: [Int64] = [0]
        for (byte, expected) in zip(bytes, pattern) {
            if expected == UInt8(ascii: "0") {
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
                numbers[numbers.count - 1] = numbers[numbers.count - 1] * 10 + Int64(byte - UInt8(ascii: "0"))
            } else {
                guard byte == expected else { return nil }
                numbers.append(0)
            }
        }
        (year, month, day) = (numbers[0], numbers[1], numbers[2])
        (hour, minute, second) = (numbers[3], numbers[4], numbers[5])
        guard (1...12).contains(month), (1...Self.days(of: month, year)).contains(day), hour < 24, minute < 60,
            second < 60
        else { return nil }
        text = text[text.utf8.index(text.startIndex, offsetBy: pattern.count)...]
    }

    /// Nil if the year is not between 0 and 9999.
    init?(secondsSince2001 seconds: Int64) {
        let (days, rest) = seconds.quotientAndRemainder(roundingDownBy: Self.secondsOfDay)
        (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60)
        // Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": civil_from_days.
        let (era, dayOfEra) = (days + Self.daysUntil2001).quotientAndRemainder(roundingDownBy: Self.daysOf400Years)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        guard (0...9999).contains(year) else { return nil }
    }

    /// The seconds since the beginning of 2001, in the same time zone.
    var secondsSince2001: Int64 {
        // days_from_civil from the same source.
        let yearFromMarch = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = yearFromMarch.quotientAndRemainder(roundingDownBy: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * Self.daysOf400Years + dayOfEra - Self.daysUntil2001
        return days * Self.secondsOfDay + hour * 3600 + minute * 60 + second
    }

    /// The text, such as `2026-11-22T08:26:02`.
    var text: String {
        func digits(_ number: Int64, _ count: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: count - text.utf8.count) + text
        }
        let date = "\(digits(year, 4))-\(digits(month, 2))-\(digits(day, 2))"
        return date + "T\(digits(hour, 2)):\(digits(minute, 2)):\(digits(second, 2))"
    }

    private static func days(of month: Int64, _ year: Int64) -> Int64 {
        if month == 2 { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28 }
        return [4, 6, 9, 11].contains(month) ? 30 : 31
    }
}

extension Int64 {
    /// Like `quotientAndRemainder(dividingBy:)`, but the remainder is never negative.
    fileprivate func quotientAndRemainder(roundingDownBy divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
