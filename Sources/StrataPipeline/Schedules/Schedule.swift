public import Foundation
public import Strata

/// When something is to be done, again and again.
public struct Schedule: RawRepresentable, Hashable, AttributeValue, CustomStringConvertible {
    private enum Kind {
        case cron(CronExpression, TimeZone)
        case interval(Double)
        /// A text that was stored where more time zones are known.
        case unknown(String)
    }

    private let kind: Kind

    /// At the times of a cron expression, by the wall clock of a time zone.
    ///
    /// Five fields as in crontab(5): minute, hour, day of the month, month, day of the week; a sixth one in front stands for seconds.
    /// Lists, ranges, steps and names are as there, and `@hourly`, `@daily`, `@weekly`, `@monthly` and `@yearly`. Where both days are given, either
    /// one suffices. A time of day that the clock skips in spring comes at the instant of the jump, and one that it repeats in
    /// autumn comes once, unless the minute or the hour begins with `*`: such a schedule follows the time that passes.
    ///
    /// - Throws: ``PipelineError`` with `invalidSchedule` where the text is no such expression, or never comes, as on 30 February.
    public static func cron(_ text: String, in zone: TimeZone = .gmt) throws -> Schedule {
        do {
            return Schedule(kind: .cron(try CronExpression(text), zone))
        } catch {
            throw PipelineError(.invalidSchedule, "\(error)", underlying: error)
        }
    }

    /// Each time that an interval has passed, counted from when the schedule was first seen, without drifting.
    ///
    /// - Throws: ``PipelineError`` with `invalidSchedule` for less than a millisecond.
    public static func every(_ interval: Duration) throws -> Schedule {
        guard interval >= .milliseconds(1) else {
            throw PipelineError(.invalidSchedule, "An interval is at least a millisecond, not \(interval).")
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

    /// Whether it can be followed here; not where its time zone is unknown to this machine.
    var isKnown: Bool { if case .unknown = kind { false } else { true } }

    /// The next moment after one; nil where there is none.
    ///
    /// - Parameter previous: the moment before, from which intervals are counted.
    public func next(after date: Date, previous: Date? = nil) -> Date? {
        switch kind {
        case .cron(let expression, let zone): return expression.next(after: date, in: zone)
        case .interval(let seconds):
            guard let previous, previous <= date else { return date.addingTimeInterval(seconds) }
            let count = (date.timeIntervalSince(previous) / seconds).rounded(.down) + 1
            let next = previous.addingTimeInterval(count * seconds)
            // Rounding may have it fall on the same moment.
            return next > date ? next : date.addingTimeInterval(seconds)
        case .unknown: return nil
        }
    }

    /// A text that says all of it, for the store: `cron GMT 0 3 * * *`, `every 60.0`.
    public var rawValue: String {
        switch kind {
        case .cron(let expression, let zone): "cron \(zone.identifier) \(expression)"
        case .interval(let seconds): "every \(seconds)"
        case .unknown(let text): text
        }
    }

    /// A schedule by what ``rawValue`` gave; nil where it is none. One of a time zone that is not known here is read, and never due here.
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
