public import Foundation
public import Strata

/// The times at which a periodic operation is due.
public struct Schedule: RawRepresentable, Hashable, AttributeValue, CustomStringConvertible {
    private enum Kind {
        case cron(CronExpression, TimeZone)
        case interval(Double)
        /// A stored schedule whose time zone this machine does not know.
        case unknown(String)
    }

    private let kind: Kind

    /// A schedule at the times of a cron expression, by the wall clock of a time zone.
    ///
    /// The five fields are those of crontab(5): minute, hour, day of the month, month, day of the week. A sixth field
    /// in front sets the seconds. Lists, ranges, steps and names work as in crontab(5), and so do `@hourly`, `@daily`,
    /// `@weekly`, `@monthly` and `@yearly`. If both day fields are restricted, a day matches if either does. A time of
    /// day that the clock skips in spring comes at the instant of the jump, and one that the clock repeats in autumn
    /// comes once. If the minute or the hour begins with `*`, the schedule follows elapsed time instead.
    ///
    /// - Throws: ``PipelineError`` with `invalidSchedule` if the text is not a cron expression, or never comes, such as
    ///   on 30 February.
    public static func cron(_ text: String, in zone: TimeZone = .gmt) throws -> Schedule {
        do {
            return Schedule(kind: .cron(try CronExpression(text), zone))
        } catch {
            throw PipelineError(.invalidSchedule, "\(error)", underlying: error)
        }
    }

    /// A schedule with a fixed interval. The interval counts from when the engine first sees the schedule, and does not
    /// drift.
    ///
    /// - Throws: ``PipelineError`` with `invalidSchedule` for less than a millisecond.
    public static func every(_ interval: Duration) throws -> Schedule {
        guard interval >= .milliseconds(1) else {
            throw PipelineError(.invalidSchedule, "An interval must be at least 1 millisecond, not \(interval).")
        }
        return Schedule(kind: .interval(interval.seconds))
    }

    private init(kind: Kind) { self.kind = kind }

    /// Whether the texts of two schedules have the same bytes.
    public static func == (left: Schedule, right: Schedule) -> Bool { left.rawValue.hasSameBytes(as: right.rawValue) }

    /// The opposite of `==`. The standard library's operator for raw-representable types would compare characters.
    public static func != (left: Schedule, right: Schedule) -> Bool { !(left == right) }

    /// As `==`, by the bytes.
    public func hash(into hasher: inout Hasher) { rawValue.hashBytes(into: &hasher) }

    /// Whether this machine can follow the schedule. It cannot if it does not know the schedule's time zone.
    var isKnown: Bool { if case .unknown = kind { false } else { true } }

    /// The next due moment after a date; nil if the schedule does not come again, or not until `Date.distantFuture`.
    ///
    /// - Parameters:
    ///   - date: the date after which the moment is.
    ///   - previous: the previous due moment, from which intervals are counted.
    public func next(after date: Date, previous: Date? = nil) -> Date? {
        switch kind {
        case .cron(let expression, let zone): return expression.next(after: date, in: zone)
        case .interval(let seconds):
            var next = date.addingTimeInterval(seconds)
            if let previous, previous <= date {
                let count = (date.timeIntervalSince(previous) / seconds).rounded(.down) + 1
                let exact = previous.addingTimeInterval(count * seconds)
                // Rounding may give the same moment again.
                if exact > date { next = exact }
            }
            // Later dates have no text form.
            return next <= .distantFuture ? next : nil
        case .unknown: return nil
        }
    }

    /// The complete schedule as text, for the store: `cron GMT 0 3 * * *`, `every 60.0`.
    public var rawValue: String {
        switch kind {
        case .cron(let expression, let zone): "cron \(zone.identifier) \(expression)"
        case .interval(let seconds): "every \(seconds)"
        case .unknown(let text): text
        }
    }

    /// Reads a schedule from its ``rawValue``; nil if the text is not a schedule. A schedule whose time zone is unknown
    /// here can be read, and is never due on this machine.
    public init?(rawValue: String) {
        let parts = rawValue.split(atBytes: " ", maxSplits: 2, omitsEmpty: false)
        switch (parts.first, parts.count) {
        case ("cron", 3):
            guard let expression = try? CronExpression(parts[2]) else { return nil }
            kind = TimeZone(identifier: parts[1]).map { .cron(expression, $0) } ?? .unknown(rawValue)
        case ("every", 2):
            guard let seconds = Double(parts[1]), seconds >= 0.001, seconds.isFinite else { return nil }
            kind = .interval(seconds)
        default: return nil
        }
    }

    /// The text for the store.
    public var description: String { rawValue }
}
