import Foundation

/// Times for people and scripts.
package enum Timestamp {
    /// The time in UTC, in the form of ISO 8601; nil if the time is unknown or not in the years from 1 to 9999.
    package static func text(_ date: Date?) -> String? {
        guard let date, (-62_135_596_800..<253_402_300_800).contains(date.timeIntervalSince1970) else { return nil }
        return date.formatted(.iso8601)
    }

    /// The time since a date in its largest unit, such as `12 s`. A clock that was set back gives zero.
    package static func age(since date: Date, at time: Date) -> String {
        let seconds = max(time.timeIntervalSince(date), 0)
        return switch seconds {
        case ..<120: "\(Int(seconds)) s"
        case ..<7200: "\(Int(seconds / 60)) min"
        case ..<172_800: "\(Int(seconds / 3600)) h"
        // A store may contain any date.
        default: "\(Int(min(seconds / 86400, 1e9))) d"
        }
    }
}
