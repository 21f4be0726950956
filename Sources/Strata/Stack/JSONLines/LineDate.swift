import Foundation

/// Dates as texts that represent exactly the same number of seconds.
///
/// A `Date` is a binary fraction of seconds since 2001. The shortest decimal number that identifies this fraction has
/// up to nine digits after the decimal point for dates of this century. In ISO 8601, all of them are kept as a fraction
/// of a second. They are handled as digits, because arithmetic would round them.
enum LineDate {
    /// The date as a text such as `2026-11-22T08:26:02.1250001Z`; nil if this notation cannot represent the date
    /// exactly.
    ///
    /// Such dates are, for example, dates before the year 0 or after the year 9999, or less than a ten-thousandth of a
    /// second from the beginning of 2001.
    static func text(_ seconds: Double) -> String? {
        let parts = seconds.description.split(separator: ".")
        guard abs(seconds) < 1e12, parts.count == 2, parts[1].utf8.allSatisfy(\.isDigit),
            var text = CalendarSecond(secondsSince2001: Int(seconds.rounded(.down)))?.text
        else { return nil }
        if parts[1] != "0" { text += "." + (seconds < 0 ? rest(of: parts[1]) : String(parts[1])) }
        text += "Z"
        return self.seconds(text) == seconds ? text : nil
    }

    /// The seconds since 2001 of an ISO 8601 text, with or without a fraction of a second.
    ///
    /// Nil for other texts, and for dates and times that do not exist.
    static func seconds(_ text: String) -> Double? {
        // Reading the bytes in place allocates no memory.
        var text = text
        return text.withUTF8 { seconds(of: $0) }
    }

    private static func seconds(of text: UnsafeBufferPointer<UInt8>) -> Double? {
        guard let second = CalendarSecond(text) else { return nil }
        var end = CalendarSecond.textCount
        var fraction = end..<end
        if end < text.count, text[end] == UInt8(ascii: ".") {
            let start = end + 1
            end = text[start...].firstIndex { !$0.isDigit } ?? text.count
            fraction = start..<end
            guard !fraction.isEmpty else { return nil }
        }
        guard let zone = offset(UnsafeBufferPointer(rebasing: text[end...])) else { return nil }
        let whole = second.secondsSince2001 - zone
        guard text[fraction].contains(where: { $0 != UInt8(ascii: "0") }) else { return Double(whole) }
        let digits = String(decoding: text[fraction], as: UTF8.self)
        return Double(whole < 0 ? "-\(-whole - 1).\(rest(of: digits[...]))" : "\(whole).\(digits)")
    }

    /// The seconds by which a time zone is ahead of UTC. Accepts `Z`, `+01:00`, `+0100` or `+01`.
    private static func offset(_ text: UnsafeBufferPointer<UInt8>) -> Int? {
        guard let first = text.first else { return nil }
        let sign: Int
        switch first {
        case UInt8(ascii: "Z"): return text.count == 1 ? 0 : nil
        case UInt8(ascii: "+"): sign = 1
        case UInt8(ascii: "-"): sign = -1
        default: return nil
        }
        let minutes: Range<Int>
        switch text.count {
        case 3: minutes = 3..<3
        case 5: minutes = 3..<5
        case 6 where text[3] == UInt8(ascii: ":"): minutes = 4..<6
        default: return nil
        }
        guard let hour = text.number(1..<3), let minute = text.number(minutes), hour < 24, minute < 60 else {
            return nil
        }
        return sign * (hour * 3600 + minute * 60)
    }

    /// The digits of 1 minus a fraction that is not 0.
    private static func rest(of digits: Substring) -> String {
        let zeros = digits.utf8.reversed().prefix { $0 == UInt8(ascii: "0") }.count
        let values = digits.utf8.dropLast(zeros).map { Int($0 - UInt8(ascii: "0")) }
        return values.enumerated().map { "\((($0 == values.count - 1) ? 10 : 9) - $1)" }.joined()
    }
}
