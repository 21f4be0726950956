import Foundation

@testable import StrataPipeline

/// A moment written as in `2026-03-29T01:00:00Z`.
func moment(_ text: String) throws -> Date { try Date(text, strategy: .iso8601) }

func zone(_ identifier: String) throws -> TimeZone {
    guard let zone = TimeZone(identifier: identifier) else { throw UnknownZone(identifier: identifier) }
    return zone
}

struct UnknownZone: Error { let identifier: String }

extension CronExpression {
    /// The next moments after `start`, in the same notation.
    func moments(after start: String, in zone: TimeZone = .gmt, count: Int) throws -> [String] {
        var moments: [String] = []
        var date = try moment(start)
        while moments.count < count, let next = next(after: date, in: zone) {
            moments.append(next.formatted(.iso8601))
            date = next
        }
        return moments
    }
}
