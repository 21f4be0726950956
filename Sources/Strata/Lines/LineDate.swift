import Foundation

/// Dates as texts that stand for exactly the same number of seconds.
///
/// A `Date` is a binary fraction of seconds since 2001. The shortest decimal number that stands for it and for no other has up to
/// nine digits behind the point for dates of this century; as a fraction of a second in the notation of ISO 8601 all of them are kept.
/// They are handled as digits, since arithmetic would round them.
enum LineDate {
    private static let style = Date.ISO8601FormatStyle()

    /// `2026-11-22T08:26:02.1250001Z`; nil for a date that this notation does not keep exactly: one before the year 1 or after
    /// the year 9999, say, or less than a ten-thousandth of a second from the beginning of 2001.
    static func text(_ seconds: Double) -> String? {
        let parts = seconds.description.split(separator: ".")
        guard abs(seconds) < 1e12, parts.count == 2, isDigits(parts[1]) else { return nil }
        var text = style.format(Date(timeIntervalSinceReferenceDate: seconds.rounded(.down)))
        if parts[1] != "0" {
            text = text.dropLast() + "." + (seconds < 0 ? rest(of: parts[1]) : String(parts[1])) + "Z"
        }
        return self.seconds(text) == seconds ? text : nil
    }

    /// The seconds since 2001 of a text in the notation of ISO 8601, with or without a fraction of a second; nil for others.
    static func seconds(_ text: String) -> Double? {
        guard let point = text.firstIndex(of: ".") else {
            return (try? style.parse(text))?.timeIntervalSinceReferenceDate
        }
        let zone = text[point...].dropFirst().drop { isDigits($0.description) }
        let digits = text[point..<zone.startIndex].dropFirst()
        guard !digits.isEmpty, let start = try? style.parse(String(text[..<point] + zone)),
            let whole = Int64(exactly: start.timeIntervalSinceReferenceDate)
        else { return nil }
        guard digits.contains(where: { $0 != "0" }) else { return Double(whole) }
        return Double(whole < 0 ? "-\(-whole - 1).\(rest(of: digits))" : "\(whole).\(digits)")
    }

    private static func isDigits(_ text: some StringProtocol) -> Bool {
        text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    /// The digits of what a fraction, which is not 0, lacks of 1.
    private static func rest(of digits: Substring) -> String {
        let zeros = digits.utf8.reversed().prefix { $0 == UInt8(ascii: "0") }.count
        let values = digits.utf8.dropLast(zeros).map { Int($0 - UInt8(ascii: "0")) }
        return values.enumerated().map { "\((($0 == values.count - 1) ? 10 : 9) - $1)" }.joined()
    }
}
