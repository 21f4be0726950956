/// A second in the calendar of ISO 8601, whose days are those of ``CivilDate``.
///
/// Foundation's calendar counts days before 15 October 1582 in the Julian calendar, and reads 30 February as 2 March.
struct CalendarSecond {
    /// The year is from 0 to 9999.
    private let date: CivilDate
    private let hour: Int
    private let minute: Int
    private let second: Int

    private static let secondsOfDay = 86_400
    private static let daysFrom1970Until2001 = 11_323

    /// Reads a time such as `2026-11-22T08:26:02` from the beginning of a text; nil if there is no such text, or no
    /// such second.
    init?(_ text: inout Substring) {
        let pattern = Array("0000-00-00T00:00:00".utf8)
        let bytes = Array(text.utf8.prefix(pattern.count))
        guard bytes.count == pattern.count else { return nil }
        var numbers = [0]
        for (byte, expected) in zip(bytes, pattern) {
            if expected == UInt8(ascii: "0") {
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
                numbers[numbers.count - 1] = numbers[numbers.count - 1] * 10 + Int(byte - UInt8(ascii: "0"))
            } else {
                guard byte == expected else { return nil }
                numbers.append(0)
            }
        }
        date = CivilDate(year: numbers[0], month: numbers[1], day: numbers[2])
        (hour, minute, second) = (numbers[3], numbers[4], numbers[5])
        guard (1...12).contains(date.month),
            (1...CivilDate.length(ofMonth: date.month, year: date.year)).contains(date.day),
            hour < 24, minute < 60, second < 60
        else { return nil }
        text = text[text.utf8.index(text.startIndex, offsetBy: pattern.count)...]
    }

    /// Nil if the year is not between 0 and 9999.
    init?(secondsSince2001 seconds: Int) {
        let (days, rest) = seconds.flooredQuotientAndRemainder(by: Self.secondsOfDay)
        date = CivilDate(daysSince1970: days + Self.daysFrom1970Until2001)
        (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60)
        guard (0...9999).contains(date.year) else { return nil }
    }

    /// The seconds since the beginning of 2001, in the same time zone.
    var secondsSince2001: Int {
        (date.daysSince1970 - Self.daysFrom1970Until2001) * Self.secondsOfDay + hour * 3600 + minute * 60 + second
    }

    /// The text, such as `2026-11-22T08:26:02`.
    var text: String {
        func digits(_ number: Int, _ count: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: count - text.utf8.count) + text
        }
        let day = "\(digits(date.year, 4))-\(digits(date.month, 2))-\(digits(date.day, 2))"
        return day + "T\(digits(hour, 2)):\(digits(minute, 2)):\(digits(second, 2))"
    }
}
