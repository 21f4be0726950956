import Foundation
import Testing

@testable import Strata

@Model final class Event {
    var name: String
    var at: Date
}

@Suite("Dates in lines, in the calendar of ISO 8601") struct JSONLinesDateTests {
    @Test(
        "Dates and times that do not exist are refused with the line and the property",
        arguments: [
            "2026-02-30T00:00:00Z", "2025-02-29T12:00:00Z", "1900-02-29T00:00:00Z", "2026-04-31T00:00:00Z",
            "2026-00-10T00:00:00Z",
            "2026-13-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-01T25:00:00Z", "2026-01-01T24:00:00Z",
            "2026-01-01T10:61:00Z", "2026-01-01T10:00:60Z", "2026-01-01T10:00:00+24:00", "2026-01-01T10:00:00+01:60",
            "2026-01-01T10:00:00", "2026-01-01", "2026-1-1T10:00:00Z", "+2026-01-01T10:00:00Z", "2026-01-01T10:00:00ZZ",
        ]
    )
    func refusals(text: String) async throws {
        #expect(LineDate.seconds(text) == nil)
        let stack = try await ContextStack.open(.inMemory, models: [Event.self], stack: .rootOnly)
        let line = #"{"$model":"Event","name":"n","at":"\#(text)"}"#
        let error = await #expect(throws: StrataError.self) { try await stack.importJSONLines([line]) }
        #expect(error?.code == .invalidImport)
        #expect(error?.message.contains("line 1, Event.at cannot be read") == true, "\(error?.message ?? "")")
        #expect(try await stack.background { try $0.count(Event.all) } == 0)
        try await stack.close()
    }

    @Test("Every day of 10,000 years is the same as in SQLite, in both directions")
    func days() async throws {
        let stack = try await ContextStack.open(.inMemory, models: [Event.self], stack: .rootOnly)
        // Every eleventh day covers each date of a year. Every single day is checked around the dates on which
        // calendars differ.
        let days = Array(stride(from: -730_485, through: 2_921_573, by: 11)) + Array(-153_000 ..< -152_000)
        let list = days.map(String.init).joined(separator: ",")
        let texts = try await stack.background { context in
            let list = "[\(list)]"
            let sql: SQL = """
                SELECT strftime('%Y-%m-%dT00:00:00Z', value * 86400 + 978307200, 'unixepoch') AS day FROM json_each(\(list))
                """
            return try context.rows(sql).map { try $0.value(String.self, "day") }
        }
        #expect(texts.count == days.count)
        var faults: [String] = []
        for (day, text) in zip(days, texts) {
            let seconds = Double(day) * 86_400
            if LineDate.text(seconds) != text || LineDate.seconds(text) != seconds { faults.append("\(day) \(text)") }
        }
        #expect(faults.isEmpty, "\(faults.count): \(faults.prefix(5))")
        try await stack.close()
    }

    @Test("Times, fractions and time zones are read and written correctly")
    func times() {
        #expect(LineDate.seconds("1500-06-01T00:00:00Z").flatMap(LineDate.text) == "1500-06-01T00:00:00Z")
        #expect(LineDate.seconds("1582-10-10T00:00:00Z").flatMap(LineDate.text) == "1582-10-10T00:00:00Z")
        #expect(LineDate.seconds("2001-01-01T01:00:00+01:00") == 0)
        #expect(LineDate.seconds("2001-01-01T01:30:00+0130") == 0)
        #expect(LineDate.seconds("2000-12-31T19:00:00-05") == 0)
        #expect(LineDate.seconds("2000-02-29T23:59:59.5Z").flatMap(LineDate.text) == "2000-02-29T23:59:59.5Z")
        #expect(LineDate.text(-0.5) == "2000-12-31T23:59:59.5Z")
        #expect(LineDate.seconds("0000-01-01T00:00:00Z").flatMap(LineDate.text) == "0000-01-01T00:00:00Z")
        #expect(LineDate.seconds("9999-12-31T23:59:59Z").flatMap(LineDate.text) == "9999-12-31T23:59:59Z")
    }
}
