import Foundation

/// Sums up commits and lines by month.
public struct Growth: Sendable {
    /// The figures of a month or a year.
    public struct Period: Sendable, Equatable {
        public let name: String
        public var commits = 0
        public var added = 0
        public var deleted = 0
    }

    private var months: [Month: Period] = [:]

    public init() {}

    public mutating func add(_ date: Date, added: Int, deleted: Int) {
        let month = Month(of: date)
        var period = months[month] ?? Period(name: month.description)
        period.commits += 1
        period.added += added
        period.deleted += deleted
        months[month] = period
    }

    /// The months from the first to the last, including empty ones. If there are more than `limit` months, the years.
    ///
    /// Years without commits are left out, because a single wrong date would add many years.
    public func periods(atMost limit: Int) -> [Period] {
        guard let first = months.keys.min(), let last = months.keys.max() else { return [] }
        if (last.year - first.year) * 12 + last.month - first.month < limit {
            return sequence(first: first) { $0 < last ? $0.next : nil }
                .map { months[$0] ?? Period(name: $0.description) }
        }
        return Dictionary(grouping: months.keys, by: \.year).sorted { $0.key < $1.key }.map { year, members in
            members.compactMap { months[$0] }.reduce(into: Period(name: String(year))) {
                $0.commits += $1.commits
                $0.added += $1.added
                $0.deleted += $1.deleted
            }
        }
    }
}
