import Foundation

/// A calendar month in UTC.
public struct Month: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let year: Int
    /// 1 to 12.
    public let month: Int

    public init(year: Int, month: Int) {
        self.year = year
        self.month = month
    }

    /// The month of a date. Uses only arithmetic, because a history needs a million conversions. The algorithm is
    /// `civil_from_days` from Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
    public init(of date: Date) {
        let days = Int((date.timeIntervalSince1970 / 86_400).rounded(.down)) + 719_468
        let era = (days >= 0 ? days : days - 146_096) / 146_097
        let dayOfEra = days - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        month = shifted < 10 ? shifted + 3 : shifted - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    public var next: Month { month == 12 ? Month(year: year + 1, month: 1) : Month(year: year, month: month + 1) }

    public static func < (left: Month, right: Month) -> Bool { (left.year, left.month) < (right.year, right.month) }

    /// The form `2024-03`.
    public var description: String { "\(year)-\(month < 10 ? "0" : "")\(month)" }
}
