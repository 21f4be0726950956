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

    /// The number of bytes of a text such as `2026-11-22T08:26:02`.
    static let textCount = 19

    /// Reads a time such as `2026-11-22T08:26:02` from the beginning of a text; nil if there is no such text, or no
    /// such second.
    init?(_ text: UnsafeBufferPointer<UInt8>) {
        guard text.count >= Self.textCount,
            text[4] == UInt8(ascii: "-"), text[7] == UInt8(ascii: "-"), text[10] == UInt8(ascii: "T"),
            text[13] == UInt8(ascii: ":"), text[16] == UInt8(ascii: ":"),
            let year = text.number(0..<4), let month = text.number(5..<7), let day = text.number(8..<10),
            let hour = text.number(11..<13), let minute = text.number(14..<16), let second = text.number(17..<19),
            (1...12).contains(month), (1...CivilDate.length(ofMonth: month, year: year)).contains(day),
            hour < 24, minute < 60, second < 60
        else { return nil }
        date = CivilDate(year: year, month: month, day: day)
        (self.hour, self.minute, self.second) = (hour, minute, second)
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

extension UnsafeBufferPointer<UInt8> {
    /// The number that these bytes form as decimal digits; nil if one of them is not a digit.
    ///
    /// - Precondition: the range is inside of the buffer and has at most 18 bytes.
    func number(_ range: Range<Int>) -> Int? {
        var number = 0
        for byte in self[range] {
            guard byte.isDigit else { return nil }
            number = number * 10 + Int(byte - UInt8(ascii: "0"))
        }
        return number
    }
}

extension UInt8 {
    /// Whether the byte is a decimal digit in ASCII.
    var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
}
