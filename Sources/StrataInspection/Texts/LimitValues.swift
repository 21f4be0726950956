import Strata
import StrataPipeline

/// A limit of operations that run at once: a number from 1, or `none`.
package struct ConcurrencyLimit: Sendable {
    /// Nil for any number.
    package let count: Int?

    package init?(argument: String) {
        if argument.hasSameBytes(as: "none") {
            count = nil
        } else {
            guard let number = Int(argument), number > 0 else { return nil }
            count = number
        }
    }

    /// The limit as ``init(argument:)`` takes it.
    package static func text(_ count: Int?) -> String { count.map { "\($0)" } ?? "none" }
}

/// A limit of attempts that start in an interval, such as `10/1m`, or `none`.
package struct RateLimitValue: Sendable {
    /// Nil for any number.
    package let limit: RateLimit?

    package init?(argument: String) {
        if argument.hasSameBytes(as: "none") {
            limit = nil
        } else {
            guard let (count, interval) = argument.splitAtFirst("/"), let number = Int(count), number > 0,
                let span = TimeSpan(argument: interval)
            else { return nil }
            limit = RateLimit(number, per: .milliseconds(Int64((span.seconds * 1000).rounded())))
        }
    }

    /// The limit as ``init(argument:)`` takes it.
    package static func text(_ limit: RateLimit?) -> String {
        limit.map { "\($0.count)/\(TimeSpan.text($0.interval.seconds))" } ?? "none"
    }
}
