import Foundation
import StoreModels
import Testing

@testable import StrataPipeline

/// Compares random expressions with a model that walks through every minute or second by means of `Calendar`.
///
/// `STRATA_SEED` repeats a run, `CRON_EXPRESSIONS` sets the number of expressions for each place and time.
@Suite("Cron: against a slow model")
struct CronModelTests {
    @Test(
        "An expression agrees with the model at every minute of eight days",
        arguments: [
            ("UTC", "2028-02-26T00:00:00Z"), ("UTC", "2025-12-28T00:00:00Z"),
            ("Europe/Berlin", "2026-03-25T00:00:00Z"), ("Europe/Berlin", "2026-10-21T00:00:00Z"),
            ("America/New_York", "2026-10-28T00:00:00Z"), ("Australia/Lord_Howe", "2026-04-01T00:00:00Z"),
            ("America/Sao_Paulo", "2018-10-31T00:00:00Z"), ("Pacific/Apia", "2011-12-26T00:00:00Z"),
        ]
    )
    func minutes(identifier: String, start: String) throws {
        try compare(zone(identifier), from: moment(start), minutes: 8 * 24 * 60, step: 60)
    }

    @Test(
        "An expression agrees with the model at every second of three hours",
        arguments: [
            ("UTC", "2026-12-31T22:00:00Z"),
            ("Europe/Berlin", "2026-03-28T23:00:00Z"), ("Europe/Berlin", "2026-10-24T23:00:00Z"),
            ("Australia/Lord_Howe", "2026-10-03T14:00:00Z"),
        ]
    )
    func seconds(identifier: String, start: String) throws {
        try compare(zone(identifier), from: moment(start), minutes: 3 * 60, step: 1)
    }

    private func compare(_ zone: TimeZone, from start: Date, minutes: Int, step: Int) throws {
        let environment = ProcessInfo.processInfo.environment
        let seed = Dice.seed
        let expressions = environment["CRON_EXPRESSIONS"].flatMap { Int($0) } ?? 40
        print("STRATA_SEED=\(seed) \(zone.identifier) \(start.formatted(.iso8601))")
        var generator = Dice(seed: seed)
        let walk = WallClockWalk(zone: zone, start: start, steps: minutes * 60 / step, step: step)
        var moments = 0
        var compared = 0
        while compared < expressions {
            let schedule = RandomSchedule(hasSeconds: step == 1, using: &generator)
            let expression: CronExpression
            do {
                expression = try CronExpression(schedule.text)
            } catch {
                try #require(error.reason.contains("never comes"), "\(error), seed \(seed)")
                #expect(schedule.neverComes, "\(error), seed \(seed)")
                continue
            }
            compared += 1
            let expected = walk.moments(of: schedule)
            var found: [Date] = []
            var date = start
            while let next = expression.next(after: date, in: zone), next <= walk.end {
                found.append(next)
                date = next
                guard found.count <= expected.count else { break }
            }
            moments += found.count
            #expect(found == expected, "\(schedule.text) in \(zone.identifier), seed \(seed)")
        }
        #expect(moments > 100)
    }
}

/// The fields second, minute, hour, day, month and weekday of a moment on a wall clock.
private typealias WallTime = [Int]

/// The times that a wall clock shows, step by step.
private struct WallClockWalk {
    struct Tick {
        let instant: Date
        /// The wall time as a date of UTC.
        let wall: Date
        let time: WallTime
        /// The times that the clock left out right before this one.
        let skipped: [WallTime]
    }

    private(set) var ticks: [Tick] = []
    var end: Date { ticks.last?.instant ?? .distantPast }

    init(zone: TimeZone, start: Date, steps: Int, step: Int) {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        var universal = Calendar(identifier: .gregorian)
        universal.timeZone = .gmt
        for index in 0...steps {
            let instant = start + Double(index * step)
            let components = calendar.dateComponents(Self.units.union([.year]), from: instant)
            let wall = universal.date(from: components) ?? .distantPast
            var skipped: [WallTime] = []
            if let last = ticks.last {
                var missing = last.wall + Double(step)
                while missing < wall {
                    skipped.append(Self.time(universal.dateComponents(Self.units, from: missing)))
                    missing += Double(step)
                }
            }
            ticks.append(Tick(instant: instant, wall: wall, time: Self.time(components), skipped: skipped))
        }
    }

    private static let units: Set<Calendar.Component> = [.month, .day, .hour, .minute, .second, .weekday]

    private static func time(_ parts: DateComponents) -> WallTime {
        let fields = [parts.second, parts.minute, parts.hour, parts.day, parts.month, parts.weekday.map { $0 - 1 }]
        return fields.map { $0 ?? -1 }
    }

    /// The moments after the first tick.
    func moments(of schedule: RandomSchedule) -> [Date] {
        var moments: [Date] = []
        var latest = ticks[0].wall
        for tick in ticks.dropFirst() {
            let isNew = tick.wall > latest
            latest = max(latest, tick.wall)
            let matches = schedule.matches(tick.time)
            if schedule.isWildcard {
                if matches { moments.append(tick.instant) }
            } else if isNew, matches || tick.skipped.contains(where: schedule.matches) {
                moments.append(tick.instant)
            }
        }
        return moments
    }
}

/// A random expression together with the values that it represents.
private struct RandomSchedule {
    private(set) var texts: [String] = []
    private(set) var values: [Set<Int>] = []
    let hasSeconds: Bool

    var text: String { (hasSeconds ? texts : Array(texts.dropFirst())).joined(separator: " ") }
    var isWildcard: Bool { texts[1].first == "*" || texts[2].first == "*" }
    private var isEitherDay: Bool { texts[3].first != "*" && texts[5].first != "*" }

    /// Whether no leap year has such a day.
    var neverComes: Bool {
        let lengths = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        return !isEitherDay && !values[4].contains { month in values[3].contains { $0 <= lengths[month - 1] } }
    }

    func matches(_ time: WallTime) -> Bool {
        guard values[1].contains(time[1]), values[2].contains(time[2]), values[4].contains(time[4]),
            values[0].contains(time[0])
        else { return false }
        let (day, weekday) = (values[3].contains(time[3]), values[5].contains(time[5]))
        return isEitherDay ? day || weekday : day && weekday
    }

    init(hasSeconds: Bool, using generator: inout Dice) {
        self.hasSeconds = hasSeconds
        let ranges = [0...59, 0...59, 0...23, 1...31, 1...12, 0...6]
        // The share of plain stars, in per cent. Otherwise months, and hours among seconds, would rarely match.
        let stars = [30, hasSeconds ? 50 : 20, hasSeconds ? 60 : 30, 50, 75, 50]
        for (index, range) in ranges.enumerated() {
            if index == 0, !hasSeconds {
                texts.append("0")
                values.append([0])
            } else if Int.random(in: 0..<100, using: &generator) < stars[index] {
                texts.append("*")
                values.append(Set(range))
            } else {
                let count = [1, 1, 1, 2, 3].randomElement(using: &generator) ?? 1
                let entries = (0..<count).map { _ in Self.entry(field: index, range: range, using: &generator) }
                texts.append(entries.map(\.text).joined(separator: ","))
                values.append(entries.reduce(into: []) { $0.formUnion($1.values) })
            }
        }
    }

    private static func entry(
        field: Int,
        range: ClosedRange<Int>,
        using generator: inout Dice
    ) -> (text: String, values: Set<Int>) {
        let bounds = [Int.random(in: range, using: &generator), Int.random(in: range, using: &generator)].sorted()
        let step = Int.random(in: 1...max(2, range.count / 3), using: &generator)
        let names = bounds.map { name(of: $0, field: field, using: &generator) }
        switch Int.random(in: 0..<6, using: &generator) {
        case 0: return ("*/\(step)", Set(stride(from: range.lowerBound, through: range.upperBound, by: step)))
        case 1: return ("\(names[0])/\(step)", Set(stride(from: bounds[0], through: range.upperBound, by: step)))
        case 2: return ("\(names[0])-\(names[1])", Set(bounds[0]...bounds[1]))
        case 3:
            let values = Set(stride(from: bounds[0], through: bounds[1], by: step))
            return ("\(names[0])-\(names[1])/\(step)", values)
        case 4 where field == 5:
            let end = ["7", "SUN", "sun"][bounds[1] % 3]
            return ("\(max(bounds[0], 1))-\(end)", Set((max(bounds[0], 1)...7).map { $0 % 7 }))
        default: return (names[0], [bounds[0]])
        }
    }

    private static func name(of value: Int, field: Int, using generator: inout Dice) -> String {
        let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
        let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        guard field >= 4, Bool.random(using: &generator) else { return String(value) }
        return field == 4 ? months[value - 1] : weekdays[value]
    }
}
