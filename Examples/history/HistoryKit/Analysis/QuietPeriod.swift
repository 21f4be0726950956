import Foundation

/// A period without commits.
public struct QuietPeriod: Sendable, Equatable {
    public let start: Date
    public let end: Date

    public var seconds: Double { end.timeIntervalSince(start) }

    /// The longest gaps between sorted dates, the longest first.
    public static func longest(_ count: Int, between dates: [Date]) -> [QuietPeriod] {
        let gaps = zip(dates, dates.dropFirst()).map { QuietPeriod(start: $0, end: $1) }
        return Array(
            gaps.filter { $0.seconds > 0 }.sorted { ($1.seconds, $0.start) < ($0.seconds, $1.start) }.prefix(count)
        )
    }
}
