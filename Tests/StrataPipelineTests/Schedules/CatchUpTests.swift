import Foundation
import Testing

@testable import StrataPipeline

@Suite("Due times that a schedule makes up for", .timeLimit(.minutes(1))) struct CatchUpTests {
    private func dates(_ texts: [String]) throws -> [Date] { try texts.map { try Date($0, strategy: .iso8601) } }

    @Test(
        "Across the clock changes of Europe/Berlin, each due time counts once",
        arguments: [
            // 29 March 2026, 01:00 UTC: from 2:00 to 3:00.
            (
                ["2026-03-28T01:30:00Z", "2026-03-31T12:00:00Z"], CatchUp.all(limit: 10),
                ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z", "2026-03-31T00:30:00Z"]
            ),
            (
                ["2026-03-28T01:30:00Z", "2026-03-30T12:00:00Z"], CatchUp.all(limit: 2),
                ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]
            ),
            (["2026-03-28T01:30:00Z", "2026-03-29T01:00:59Z"], CatchUp.none, ["2026-03-29T01:00:00Z"]),
            (["2026-03-28T01:30:00Z", "2026-03-29T01:01:01Z"], CatchUp.none, []),
            (["2026-03-28T01:30:00Z", "2026-03-31T12:00:00Z"], CatchUp.one, ["2026-03-28T01:30:00Z"]),
            // 25 October 2026, 01:00 UTC: from 3:00 to 2:00.
            (
                ["2026-10-24T00:30:00Z", "2026-10-27T00:00:00Z"], CatchUp.all(limit: 100),
                ["2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]
            ),
            (["2026-10-24T00:30:00Z", "2026-10-25T01:30:00Z"], CatchUp.all(limit: 1), ["2026-10-25T00:30:00Z"]),
        ] as [([String], CatchUp, [String])]
    )
    func daylightSaving(_ span: [String], _ catchUp: CatchUp, _ expected: [String]) throws {
        let zone = try #require(TimeZone(identifier: "Europe/Berlin"))
        let schedule = try Schedule.cron("30 2 * * *", in: zone)
        let span = try dates(span)
        let times = schedule.dueTimes(from: span[0], now: span[1], catchUp)
        let all = try dates(expected)
        #expect(times == all)
    }

    @Test("The newest times of a long absence are the last ones of all times")
    func longAbsence() throws {
        let start = Date(timeIntervalSinceReferenceDate: 800_000_000)
        let zone = try #require(TimeZone(identifier: "Europe/Berlin"))
        let schedules: [Schedule] = try [
            .every(.seconds(97)), .cron("*/5 * * * *"), .cron("0 9 1 * 1", in: zone), .cron("0 0 29 2 *"),
        ]
        for schedule in schedules {
            let first = try #require(schedule.next(after: start))
            let end = first.addingTimeInterval(30 * 86_400)
            var all = [first]
            while let time = schedule.next(after: all[all.count - 1], previous: first), time <= end { all.append(time) }
            for limit in [1, 5, 100] {
                #expect(schedule.dueTimes(from: first, now: end, .all(limit: limit)) == Array(all.suffix(limit)))
            }
        }
    }

    @Test("Of a schedule of each second of one month, the last seconds of the month are found ten days later")
    func unevenTimes() throws {
        let schedule = try Schedule.cron("* * * * 1 *")
        let span = try dates(["2026-01-01T00:00:00Z", "2026-02-10T00:00:00Z"])
        let times = schedule.dueTimes(from: span[0], now: span[1], .all(limit: 100))
        let end = try dates(["2026-02-01T00:00:00Z"])[0]
        #expect(times == (1...100).reversed().map { end.addingTimeInterval(-Double($0)) })
        #expect(schedule.dueTimes(from: span[0], now: span[1], .none) == [])
    }

    @Test("A second-long interval over years takes no longer than a few times the limit")
    func years() throws {
        let start = Date(timeIntervalSinceReferenceDate: 0)
        let end = start.addingTimeInterval(25 * 365 * 86_400)
        let times = try Schedule.every(.seconds(1)).dueTimes(from: start, now: end, .all(limit: 100))
        #expect(times.count == 100 && times.last == end)
    }
}
