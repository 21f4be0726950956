import Foundation
import Strata
import Testing

@testable import StrataPipeline

@Suite("Cron: next moments")
struct CronNextTests {
    @Test(
        "Known moments in UTC are found",
        arguments: [
            ("* * * * *", "2026-01-31T23:59:59Z", ["2026-02-01T00:00:00Z", "2026-02-01T00:01:00Z"]),
            ("*/5 * * * *", "2026-06-01T12:00:00Z", ["2026-06-01T12:05:00Z", "2026-06-01T12:10:00Z"]),
            ("30 4 * * *", "2026-06-01T04:29:59Z", ["2026-06-01T04:30:00Z", "2026-06-02T04:30:00Z"]),
            ("30 4 * * *", "2026-06-01T04:30:00Z", ["2026-06-02T04:30:00Z"]),
            ("59 23 31 12 *", "2026-12-31T23:59:00Z", ["2027-12-31T23:59:00Z"]),
            ("0 9-17/4 * * MON-FRI", "2026-11-20T14:00:00Z", ["2026-11-20T17:00:00Z", "2026-11-23T09:00:00Z"]),
            ("@hourly", "2026-01-01T00:00:00Z", ["2026-01-01T01:00:00Z"]),
            ("@weekly", "2026-11-23T00:00:00Z", ["2026-11-29T00:00:00Z", "2026-12-06T00:00:00Z"]),
            ("@yearly", "2026-01-01T00:00:00Z", ["2027-01-01T00:00:00Z"]),
            ("*/20 59 23 * * *", "2026-01-01T23:59:39Z", ["2026-01-01T23:59:40Z", "2026-01-02T23:59:00Z"]),
            ("15 * * * * *", "2026-01-01T23:59:15Z", ["2026-01-02T00:00:15Z", "2026-01-02T00:01:15Z"]),
            // Month ends
            ("0 0 31 * *", "2026-01-31T00:00:00Z", ["2026-03-31T00:00:00Z", "2026-05-31T00:00:00Z"]),
            ("0 0 30 * *", "2026-01-30T00:00:00Z", ["2026-03-30T00:00:00Z", "2026-04-30T00:00:00Z"]),
            ("0 0 30,31 2,3 *", "2026-02-01T00:00:00Z", ["2026-03-30T00:00:00Z", "2026-03-31T00:00:00Z"]),
            ("0 0 28-31 2 *", "2027-02-28T00:00:00Z", ["2028-02-28T00:00:00Z", "2028-02-29T00:00:00Z"]),
            // Leap years
            ("0 0 29 2 *", "2026-01-01T00:00:00Z", ["2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"]),
            ("0 0 29 2 *", "2096-02-29T00:00:00Z", ["2104-02-29T00:00:00Z"]),
            ("0 0 29 2 *", "1996-03-01T00:00:00Z", ["2000-02-29T00:00:00Z"]),
            ("0 0 29 FEB */7", "2026-01-01T00:00:00Z", ["2032-02-29T00:00:00Z", "2060-02-29T00:00:00Z"]),
            ("0 0 29 FEB */7", "1880-03-01T00:00:00Z", ["1920-02-29T00:00:00Z"]),
            // Before 1970
            ("0 0 * * *", "1969-12-31T23:59:59Z", ["1970-01-01T00:00:00Z"]),
            ("0 12 * * SUN", "1900-02-28T00:00:00Z", ["1900-03-04T12:00:00Z"]),
        ]
    )
    func known(text: String, start: String, moments: [String]) throws {
        #expect(try CronExpression(text).moments(after: start, count: moments.count) == moments)
    }

    @Test(
        "If both day fields are restricted, a day matches if either field does",
        arguments: [
            // November 2026 begins on a Sunday.
            ("0 0 1,15 11 5", [1, 6, 13, 15, 20, 27]),
            ("0 0 13 11 5", [6, 13, 20, 27]),
            ("0 0 * 11 5", [6, 13, 20, 27]),
            ("0 0 1,15 11 *", [1, 15]),
            // A field that begins with `*` is not restricted, and both must match.
            ("0 0 */7 11 SUN", [1, 8, 15, 22, 29]),
            ("0 0 */2 11 MON", [9, 23]),
            ("0 0 9-20 11 */3", [11, 14, 15, 18]),
            ("0 0 *,1 11 MON", [2, 9, 16, 23, 30]),
            // A field that allows all values in another way is restricted.
            ("0 0 1-31 11 MON", Array(1...30)),
            ("0 0 2 11 0-7", Array(1...30)),
            ("0 0 31 11 TUE", [3, 10, 17, 24]),
        ]
    )
    func dayRule(text: String, days: [Int]) throws {
        let expression = try CronExpression(text)
        let moments = try expression.moments(after: "2026-10-31T12:00:00Z", count: days.count)
        let start = try moment("2026-11-01T00:00:00Z")
        #expect(moments == days.map { (start + Double($0 - 1) * 86_400).formatted(.iso8601) })
        let next = try expression.next(after: moment(#require(moments.last)))
        #expect(try #require(next) >= moment("2026-12-01T00:00:00Z"))
    }

    @Test("The next moment is strictly later, to the fraction of a second")
    func strictlyAfter() throws {
        let expression = try CronExpression("* * * * * *")
        let second = try moment("2026-06-01T12:00:00Z")
        let reference = second.timeIntervalSinceReferenceDate
        let before = Date(timeIntervalSinceReferenceDate: reference.nextDown)
        let after = Date(timeIntervalSinceReferenceDate: reference.nextUp)
        #expect(expression.next(after: before) == second)
        #expect(expression.next(after: second) == second + 1)
        #expect(expression.next(after: after) == second + 1)
    }

    @Test(
        "The next moment after an extreme date is later or nil",
        arguments: [
            "* * * * *", "0 0 * * *", "* * * * * *", "0 0 29 2 */7", "* 2 31 3 */7", "@yearly",
        ],
        ["UTC", "Europe/Berlin", "America/New_York", "Asia/Manila", "Pacific/Apia"]
    )
    func extremes(text: String, identifier: String) throws {
        let expression = try CronExpression(text)
        let zone = try zone(identifier)
        let absurd: [Double] = [.nan, .signalingNaN, .infinity, -.infinity, 1e300, -1e300, 1e18, -1e18, 1e12, -1e12]
        for seconds in absurd {
            #expect(expression.next(after: Date(timeIntervalSince1970: seconds), in: zone) == nil)
        }
        let edges: [Double] = [-62_167_219_200, 253_402_300_799.5, 0, -0.5]
        for date in [.distantPast, .distantFuture] + edges.map(Date.init(timeIntervalSince1970:)) {
            let next = expression.next(after: date, in: zone)
            #expect(next.map { $0 > date } ?? true)
            if text != "* 2 31 3 */7" { #expect(next != nil) }
        }
        #expect(expression.next(after: Date(timeIntervalSince1970: 253_402_300_800), in: zone) == nil)
        #expect(expression.next(after: Date(timeIntervalSince1970: -62_167_219_200.5), in: zone) == nil)
    }

    @Test("The next moment is right for fixed offsets of up to 18 hours")
    func fixedOffsets() throws {
        let expression = try CronExpression("0 6 * * *")
        for hours in -18...18 {
            let zone = try #require(TimeZone(secondsFromGMT: hours * 3600))
            let next = try #require(expression.next(after: moment("2026-06-01T00:00:00Z"), in: zone))
            let expected = (6 - hours).flooredQuotientAndRemainder(by: 24).remainder
            let date = try moment("2026-06-01T00:00:00Z") + Double(expected == 0 ? 24 : expected) * 3600
            #expect(next == date, "\(hours) hours")
        }
    }
}
