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
        guard abs(seconds) < 1e12, parts.count == 2, isDigits(parts[1]),
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
        var rest = Substring(text)
        guard let second = CalendarSecond(&rest) else { return nil }
        var digits = Substring()
        if rest.utf8.first == UInt8(ascii: ".") {
            digits = rest.dropFirst().prefix { isDigits($0.description) }
            rest = rest.dropFirst(digits.count + 1)
            guard !digits.isEmpty else { return nil }
        }
        guard let zone = offset(rest) else { return nil }
        let whole = second.secondsSince2001 - zone
        guard digits.contains(where: { $0 != "0" }) else { return Double(whole) }
        return Double(whole < 0 ? "-\(-whole - 1).\(self.rest(of: digits))" : "\(whole).\(digits)")
    }

    /// The seconds by which a time zone is ahead of UTC. Accepts `Z`, `+01:00`, `+0100` or `+01`.
    private static func offset(_ text: Substring) -> Int? {
        let bytes = Array(text.utf8)
        if bytes == [UInt8(ascii: "Z")] { return 0 }
        guard let sign = bytes.first.flatMap({ [UInt8(ascii: "+"): Int(1), UInt8(ascii: "-"): -1][$0] }) else {
            return nil
        }
        var digits = Array(bytes.dropFirst())
        if digits.count == 5, digits[2] == UInt8(ascii: ":") { digits.remove(at: 2) }
        guard [2, 4].contains(digits.count), isDigits(String(decoding: digits, as: UTF8.self)) else { return nil }
        let numbers = digits.map { Int($0 - UInt8(ascii: "0")) }
        let hours = numbers[0] * 10 + numbers[1]
        let minutes = numbers.count == 4 ? numbers[2] * 10 + numbers[3] : 0
        return hours < 24 && minutes < 60 ? sign * (hours * 3600 + minutes * 60) : nil
    }

    private static func isDigits(_ text: some StringProtocol) -> Bool {
        text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    /// The digits of 1 minus a fraction that is not 0.
    private static func rest(of digits: Substring) -> String {
        let zeros = digits.utf8.reversed().prefix { $0 == UInt8(ascii: "0") }.count
        let values = digits.utf8.dropLast(zeros).map { Int($0 - UInt8(ascii: "0")) }
        return values.enumerated().map { "\((($0 == values.count - 1) ? 10 : 9) - $1)" }.joined()
    }
}
