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
        #expect(LineDate.seconds("2000-12-31T23:59:59.999Z") == -0.001)
        #expect(LineDate.seconds("2001-01-01T00:00:00.5-00:30") == 1800.5)
        #expect(LineDate.seconds("2000-12-31T23:59:59.000Z") == -1)
    }

    @Test("Texts that only resemble dates are refused")
    func refusedTexts() {
        let texts = [
            "2026-11-22T08:26:02.5", "2026-11-22T08:26:02.Z", "2026-11-22T08:26:02,5Z", "2026-11-22T08:26:02.5.5Z",
            "2026-11-22T08:26:02z", "2026-11-22t08:26:02Z", "2026-11-22 08:26:02Z", "2026-11-22T08:26:02Z ",
            " 2026-11-22T08:26:02Z", "2026-11-22T08:26:02+1", "2026-11-22T08:26:02+010", "2026-11-22T08:26:02+01:0",
            "2026-11-22T08:26:02+01-00", "2026-11-22T08:26:02+01:00Z", "2026-11-22T08:26:02++1:00",
            "2026-11-22T08:26:02.\u{0663}Z", "2026-11-22T08:26:02.\u{0301}5Z", "2026-11-22T08:26:02.5\u{0301}Z",
            "2026-11-22T08:26:02Z\u{0301}", "2026-11-2\u{0662}T08:26:02Z", "2026-11-22T08:26:0",
        ]
        for text in texts { #expect(LineDate.seconds(text) == nil, "\(text)") }
    }

    @Test("Random texts of all forms are the same dates as for a simpler reader")
    func random() {
        let seed = SeededGenerator.seed
        var generator = SeededGenerator(seed: seed)
        var faults: [String] = []
        var validCount = 0
        for _ in 0..<20_000 {
            let text = Self.text(&generator)
            let (read, expected) = (LineDate.seconds(text), DigitsLineDate.seconds(text))
            if expected != nil { validCount += 1 }
            if read?.bitPattern != expected?.bitPattern { faults.append(text) }
        }
        #expect(faults.isEmpty, "seed \(seed), \(faults.count): \(faults.prefix(5))")
        #expect((4000..<16_000).contains(validCount), "seed \(seed)")
    }

    /// A text with the form of a date. Some of these dates do not exist, and some texts have a wrong byte.
    private static func text(_ generator: inout SeededGenerator) -> String {
        func digits(_ number: Int, _ count: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: count - text.utf8.count) + text
        }
        // Most parts are valid.
        func part(_ valid: ClosedRange<Int>, _ all: ClosedRange<Int>, _ generator: inout SeededGenerator) -> String {
            digits(.random(in: Int.random(in: 0..<20, using: &generator) == 0 ? all : valid, using: &generator), 2)
        }
        let years = [0, 1, 1582, 1900, 1999, 2000, 2001, 2004, 2026, 9999, Int.random(in: 0...9999, using: &generator)]
        let year = digits(years.randomElement(using: &generator)!, 4)
        let leapDay = Int.random(in: 0..<10, using: &generator) == 0
        let date = leapDay ? "02-29" : part(1...12, 0...13, &generator) + "-" + part(1...31, 0...32, &generator)
        let hour = part(0...23, 0...25, &generator)
        let minute = part(0...59, 0...61, &generator)
        let second = part(0...59, 0...61, &generator)
        var text = "\(year)-\(date)T\(hour):\(minute):\(second)"
        if Bool.random(using: &generator) {
            let count = Int.random(in: 1...20, using: &generator)
            text += "." + (0..<count).map { _ in "001234567899".randomElement(using: &generator)!.description }.joined()
        }
        let sign = Bool.random(using: &generator) ? "+" : "-"
        let (hours, minutes) = (part(0...23, 0...25, &generator), part(0...59, 0...61, &generator))
        let zones = ["Z", "\(sign)\(hours)", "\(sign)\(hours)\(minutes)", "\(sign)\(hours):\(minutes)", ""]
        text += zones.randomElement(using: &generator)!
        guard Int.random(in: 0..<5, using: &generator) == 0 else { return text }
        var bytes = Array(text.utf8)
        let place = Int.random(in: bytes.indices, using: &generator)
        let byte = Array("0123456789-+:.,TZz /".utf8).randomElement(using: &generator)!
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: bytes.remove(at: place)
        case 1: bytes.insert(byte, at: place)
        default: bytes[place] = byte
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
