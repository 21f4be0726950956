import Foundation
import Testing

@testable import StrataPipeline

@Suite("Cron: daylight saving")
struct CronDaylightSavingTests {
    @Test(
        "Moments are right across the clock changes of Europe/Berlin",
        arguments: [
            // 29 March 2026, 01:00 UTC: from 2:00 to 3:00.
            ("30 2 * * *", "2026-03-28T12:00:00Z", ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]),
            ("0 2 * * *", "2026-03-28T12:00:00Z", ["2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"]),
            ("0,15,59 2 * * *", "2026-03-29T00:00:00Z", ["2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"]),
            ("0 2,3 * * *", "2026-03-29T00:00:00Z", ["2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"]),
            ("30 2,3 * * *", "2026-03-29T00:00:00Z", ["2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"]),
            ("30 2 29 3 *", "2026-01-01T00:00:00Z", ["2026-03-29T01:00:00Z", "2027-03-29T00:30:00Z"]),
            ("*/20 30 2 * * *", "2026-03-29T00:00:00Z", ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]),
            ("0/30 2 * * *", "2026-03-29T00:00:00Z", ["2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"]),
            ("30 2 * * *", "2026-03-29T00:59:59Z", ["2026-03-29T01:00:00Z"]),
            ("30 2 * * *", "2026-03-29T01:00:00Z", ["2026-03-30T00:30:00Z"]),
            ("*/30 2 * * *", "2026-03-28T12:00:00Z", ["2026-03-30T00:00:00Z", "2026-03-30T00:30:00Z"]),
            ("30 * * * *", "2026-03-29T00:00:00Z", ["2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"]),
            ("30 */2 * * *", "2026-03-28T23:30:00Z", ["2026-03-29T02:30:00Z"]),
            ("@hourly", "2026-03-29T00:00:00Z", ["2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"]),
            // 25 October 2026, 01:00 UTC: from 3:00 to 2:00.
            ("30 2 * * *", "2026-10-24T12:00:00Z", ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]),
            ("0 3 * * *", "2026-10-24T12:00:00Z", ["2026-10-25T02:00:00Z", "2026-10-26T02:00:00Z"]),
            ("0 2 * * *", "2026-10-24T12:00:00Z", ["2026-10-25T00:00:00Z", "2026-10-26T01:00:00Z"]),
            ("45 2 * * *", "2026-10-25T00:50:00Z", ["2026-10-26T01:45:00Z"]),
            ("45 2 * * *", "2026-10-25T01:10:00Z", ["2026-10-26T01:45:00Z"]),
            ("0,30 2,3 * * *", "2026-10-25T00:30:00Z", ["2026-10-25T02:00:00Z", "2026-10-25T02:30:00Z"]),
            (
                "*/30 2 * * *", "2026-10-24T12:00:00Z",
                [
                    "2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z", "2026-10-25T01:30:00Z",
                    "2026-10-26T01:00:00Z",
                ]
            ),
            ("10 * * * *", "2026-10-25T00:58:00Z", ["2026-10-25T01:10:00Z", "2026-10-25T02:10:00Z"]),
            ("10 */2 * * *", "2026-10-25T00:58:00Z", ["2026-10-25T01:10:00Z", "2026-10-25T03:10:00Z"]),
            (
                "@hourly", "2026-10-24T23:30:00Z",
                ["2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"]
            ),
            ("@daily", "2026-10-24T12:00:00Z", ["2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"]),
        ]
    )
    func berlin(text: String, start: String, moments: [String]) throws {
        try expect(text, after: start, in: "Europe/Berlin", moments)
    }

    @Test(
        "Moments are right across the clock changes of America/New_York",
        arguments: [
            ("30 2 * * *", "2026-03-07T12:00:00Z", ["2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"]),
            ("* 2 8 3 *", "2026-03-07T12:00:00Z", ["2027-03-08T07:00:00Z"]),
            ("30 1 * * *", "2026-10-31T12:00:00Z", ["2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"]),
            ("30 * * * *", "2026-11-01T05:00:00Z", ["2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z"]),
            ("0 0 * * *", "2026-10-31T12:00:00Z", ["2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"]),
        ]
    )
    func newYork(text: String, start: String, moments: [String]) throws {
        try expect(text, after: start, in: "America/New_York", moments)
    }

    @Test(
        "Moments are right in Australia/Lord_Howe, where the clock changes by half an hour",
        arguments: [
            // 4 October 2026, 2:00 to 2:30; 5 April 2026, 2:00 to 1:30.
            ("15 2 * * *", "2026-10-03T00:00:00Z", ["2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"]),
            ("30 2 * * *", "2026-10-03T00:00:00Z", ["2026-10-03T15:30:00Z", "2026-10-04T15:30:00Z"]),
            ("*/15 2 * * *", "2026-10-03T00:00:00Z", ["2026-10-03T15:30:00Z", "2026-10-03T15:45:00Z"]),
            ("45 1 * * *", "2026-04-04T00:00:00Z", ["2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"]),
            (
                "*/15 1 * * *", "2026-04-04T14:30:00Z",
                ["2026-04-04T14:45:00Z", "2026-04-04T15:00:00Z", "2026-04-04T15:15:00Z", "2026-04-05T14:30:00Z"]
            ),
        ]
    )
    func lordHowe(text: String, start: String, moments: [String]) throws {
        try expect(text, after: start, in: "Australia/Lord_Howe", moments)
    }

    @Test(
        "Moments are right in America/Sao_Paulo, where the clock changed at midnight",
        arguments: [
            // 4 November 2018, 0:00 to 1:00; 18 February 2018, 0:00 to 23:00 of the day before.
            ("@daily", "2018-11-03T12:00:00Z", ["2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"]),
            ("30 0 4 11 *", "2018-11-03T12:00:00Z", ["2018-11-04T03:00:00Z", "2019-11-04T03:30:00Z"]),
            ("* 0 4 11 *", "2018-11-03T12:00:00Z", ["2019-11-04T03:00:00Z"]),
            ("30 23 17 2 *", "2018-01-01T00:00:00Z", ["2018-02-18T01:30:00Z", "2019-02-18T02:30:00Z"]),
            ("30 * 17 2 *", "2018-02-18T01:00:00Z", ["2018-02-18T01:30:00Z", "2018-02-18T02:30:00Z"]),
            ("@daily", "2018-02-17T12:00:00Z", ["2018-02-18T03:00:00Z"]),
        ]
    )
    func saoPaulo(text: String, start: String, moments: [String]) throws {
        try expect(text, after: start, in: "America/Sao_Paulo", moments)
    }

    @Test(
        "Moments are right across changes that are not daylight saving",
        arguments: [
            ("Asia/Kathmandu", "0 9 * * *", "2026-01-01T00:00:00Z", ["2026-01-01T03:15:00Z"]),
            // 1 January 1986, 0:00 to 0:15.
            ("Asia/Kathmandu", "10 0 * * *", "1985-12-31T12:00:00Z", ["1985-12-31T18:30:00Z", "1986-01-01T18:25:00Z"]),
            ("Asia/Kathmandu", "*/10 0 * * *", "1985-12-31T12:00:00Z", ["1985-12-31T18:35:00Z"]),
            // Samoa left out 30 December 2011.
            ("Pacific/Apia", "0 12 30 12 *", "2011-12-29T23:00:00Z", ["2011-12-30T10:00:00Z", "2012-12-29T22:00:00Z"]),
            ("Pacific/Apia", "0 12 * * *", "2011-12-29T23:00:00Z", ["2011-12-30T10:00:00Z", "2011-12-30T22:00:00Z"]),
            ("Pacific/Apia", "0 * * * *", "2011-12-30T08:30:00Z", ["2011-12-30T09:00:00Z", "2011-12-30T10:00:00Z"]),
            ("Pacific/Apia", "* * 30 12 *", "2011-12-29T23:00:00Z", ["2012-12-29T10:00:00Z"]),
            // Kwajalein went back by 23 hours at the end of 30 September 1969.
            ("Pacific/Kwajalein", "0 9 * * *", "1969-09-30T00:00:00Z", ["1969-10-01T21:00:00Z"]),
        ]
    )
    func standardTime(identifier: String, text: String, start: String, moments: [String]) throws {
        try expect(text, after: start, in: identifier, moments)
    }

    @Test("A moment that the zone always skips never comes")
    func alwaysSkipped() throws {
        // The last Sunday of March, when Berlin has no 2 o'clock.
        let expression = try CronExpression("* 2 31 3 */7")
        let start = try moment("2026-01-01T00:00:00Z")
        #expect(try expression.next(after: start, in: zone("Europe/Berlin")) == nil)
        #expect(try expression.moments(after: "2026-01-01T00:00:00Z", count: 1) == ["2030-03-31T02:00:00Z"])
    }

    private func expect(_ text: String, after start: String, in identifier: String, _ moments: [String]) throws {
        let found = try CronExpression(text).moments(after: start, in: zone(identifier), count: moments.count)
        #expect(found == moments)
    }
}
