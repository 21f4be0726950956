import Foundation
import Strata

/// Parses dates in the format of HTTP (RFC 9110, 5.6.7) and of S3's XML (ISO 8601).
enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Parses `Sun, 06 Nov 1994 08:49:37 GMT` and the two obsolete formats that servers may still send. Returns nil for
    /// other texts.
    static func parse(_ text: String) -> Date? {
        let words = text.utf8.split { " ,-".utf8.contains($0) }.map { String(decoding: $0, as: UTF8.self) }
        if words.count == 6, let day = Int(words[1]), let month = months.firstIndex(of: words[2]),
            let year = Int(words[3])
        {
            // A year of two digits is in this century if it is below 70, otherwise in the previous century.
            let century = year < 100 ? (year < 70 ? 2000 : 1900) : 0
            return moment(year: year + century, month: month + 1, day: day, time: words[4])
        }
        if words.count == 5, let month = months.firstIndex(of: words[1]), let day = Int(words[2]),
            let year = Int(words[4])
        {
            return moment(year: year, month: month + 1, day: day, time: words[3])
        }
        return nil
    }

    /// Parses `2026-01-02T03:04:05.678Z`. Returns nil for other texts.
    static func parseISO8601(_ text: String) -> Date? {
        (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
            ?? (try? Date(text, strategy: .iso8601))
    }

    private static func moment(year: Int, month: Int, day: Int, time: String) -> Date? {
        let parts = time.split(atBytes: ":").compactMap { Int($0) }
        guard parts.count == 3, (1...31).contains(day), (1...9999).contains(year) else { return nil }
        guard (0..<24).contains(parts[0]), (0..<60).contains(parts[1]), (0...60).contains(parts[2]) else { return nil }
        let days = CivilDate(year: year, month: month, day: day).daysSince1970
        return Date(timeIntervalSince1970: Double(days * 86400 + parts[0] * 3600 + parts[1] * 60 + parts[2]))
    }
}
