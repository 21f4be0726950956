import Strata

/// A parser of cron expressions.
struct CronParser {
    /// The text without leading and trailing blanks.
    let trimmed: String
    /// Whether the minute or the hour field begins with `*`. Known after ``parse()``.
    private(set) var hasWildcardTime = false

    private let text: String

    /// Blanks, tabs and line ends.
    private static let blanks: Set<Unicode.Scalar> = [
        " ", "\t", "\n", "\u{B}", "\u{C}", "\r", "\u{85}", "\u{2028}", "\u{2029}",
    ]

    init(_ text: String) {
        self.text = text
        let scalars = text.unicodeScalars
        let start = scalars.firstIndex { !Self.blanks.contains($0) } ?? scalars.endIndex
        let end = scalars.lastIndex { !Self.blanks.contains($0) }.map(scalars.index(after:)) ?? start
        trimmed = String(scalars[start..<end])
    }

    mutating func parse() throws(CronError) -> CronFields {
        var parts = try expandingMacro(trimmed.split(atBytes: "\t").flatMap { $0.split(atBytes: " ") })
        if parts.count == 5 { parts.insert("0", at: 0) }
        guard parts.count == 6 else {
            let count = parts.isEmpty ? "nothing" : parts.count == 1 ? "one field" : "\(parts.count) fields"
            let order = "minute hour day-of-month month day-of-week"
            throw error("five fields are needed, \(order), or six with the second first; found \(count)")
        }
        let fields = CronFields(
            seconds: try values(of: .second, in: parts[0]),
            minutes: try values(of: .minute, in: parts[1]),
            hours: try values(of: .hour, in: parts[2]),
            days: try values(of: .day, in: parts[3]),
            months: try values(of: .month, in: parts[4]),
            weekdays: try values(of: .weekday, in: parts[5]),
            eitherDaySuffices: !parts[3].hasBytePrefix("*") && !parts[5].hasBytePrefix("*")
        )
        guard fields.eitherDaySuffices || hasPossibleDay(fields) else {
            throw error("this day never comes, because no listed month is long enough", in: .day)
        }
        hasWildcardTime = parts[1].hasBytePrefix("*") || parts[2].hasBytePrefix("*")
        return fields
    }

    // MARK: Macros

    private static let macros = [
        "@yearly": "0 0 1 1 *",
        "@annually": "0 0 1 1 *",
        "@monthly": "0 0 1 * *",
        "@weekly": "0 0 * * 0",
        "@daily": "0 0 * * *",
        "@midnight": "0 0 * * *",
        "@hourly": "0 * * * *",
    ]

    private func expandingMacro(_ parts: [String]) throws(CronError) -> [String] {
        guard let macro = parts.first, macro.hasBytePrefix("@") else { return parts }
        guard parts.count == 1 else { throw error("nothing may follow \(macro)") }
        guard macro.utf8.allSatisfy({ $0 < 0x80 }), let expansion = Self.macros[macro.lowercased()] else {
            throw error("\(macro) is not one of \(Self.macros.keys.sorted().joined(separator: ", "))")
        }
        return expansion.split(atBytes: " ")
    }

    // MARK: Fields

    private struct Field {
        let name: String
        let range: ClosedRange<Int>
        /// The names of the values, from the lowest value on.
        var names: [String] = []

        /// Whether this is the field of the days of the week, in which 7 is Sunday too.
        var isWeekday: Bool { name == Self.weekday.name }
        var highestWritten: Int { isWeekday ? 7 : range.upperBound }

        static let second = Field(name: "second", range: 0...59)
        static let minute = Field(name: "minute", range: 0...59)
        static let hour = Field(name: "hour", range: 0...23)
        static let day = Field(name: "day-of-month", range: 1...31)
        static let month = Field(
            name: "month",
            range: 1...12,
            names: ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
        )
        static let weekday = Field(
            name: "day-of-week",
            range: 0...6,
            names: ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
        )
    }

    private func values(of field: Field, in list: String) throws(CronError) -> BitSet {
        var values = BitSet()
        for entry in list.split(atBytes: ",", omitsEmpty: false) {
            guard !entry.isEmpty else { throw error("the list \"\(list)\" has an empty entry", in: field) }
            let parts = entry.split(atBytes: "/", omitsEmpty: false)
            guard parts.count <= 2 else { throw error("\"\(entry)\" has more than one step", in: field) }
            let step = parts.count == 2 ? try self.step(parts[1], of: field) : nil
            let range = try range(parts[0], of: field, isOpen: step != nil)
            for value in stride(from: range.lowerBound, through: range.upperBound, by: step ?? 1) {
                values.insert(field.isWeekday ? value % 7 : value)
            }
        }
        return values
    }

    /// The values of an entry before its step. An open entry extends from a single value to the end of the field.
    private func range(_ entry: String, of field: Field, isOpen: Bool) throws(CronError) -> ClosedRange<Int> {
        if entry == "*" { return field.range }
        let bounds = entry.split(atBytes: "-", omitsEmpty: false)
        guard bounds.count <= 2 else { throw error("\"\(entry)\" has more than two bounds", in: field) }
        guard bounds.count == 2 else {
            let value = try value(entry, of: field)
            guard isOpen else { return value...value }
            return (field.isWeekday ? value % 7 : value)...field.range.upperBound
        }
        guard !bounds[0].isEmpty, !bounds[1].isEmpty else {
            throw error("the range \"\(entry)\" lacks a bound", in: field)
        }
        let first = try value(bounds[0], of: field)
        var last = try value(bounds[1], of: field)
        if field.isWeekday, last == 0, first > 0, bounds[1].uppercased() == "SUN" { last = 7 }
        guard first <= last else {
            let endsInSunday = field.isWeekday && last == 0
            let remedy = endsInSunday ? "write 7 for the Sunday at its end" : "list its two parts instead"
            throw error("the range \"\(entry)\" runs backwards; \(remedy)", in: field)
        }
        return first...last
    }

    private func value(_ text: String, of field: Field) throws(CronError) -> Int {
        guard !text.isEmpty else { throw error("a value is missing before the step", in: field) }
        guard let value = number(text) else {
            if text.utf8.allSatisfy({ $0 < 0x80 }), let index = field.names.firstIndex(of: text.uppercased()) {
                return field.range.lowerBound + index
            }
            guard let first = field.names.first, let last = field.names.last else {
                throw error("\"\(text)\" is not a number", in: field)
            }
            throw error("\"\(text)\" is neither a number nor a name from \(first) to \(last)", in: field)
        }
        let allowed = field.range.lowerBound...field.highestWritten
        guard allowed.contains(value) else {
            throw error("\(text) is not in \(allowed.lowerBound)-\(allowed.upperBound)", in: field)
        }
        return value
    }

    private func step(_ text: String, of field: Field) throws(CronError) -> Int {
        guard !text.isEmpty else { throw error("a step must follow the slash", in: field) }
        guard let step = number(text) else { throw error("the step \"\(text)\" is not a number", in: field) }
        guard step > 0 else { throw error("a step must be at least 1", in: field) }
        guard step <= field.range.count else {
            throw error("a field of \(field.range.count) values cannot have a step of \(text)", in: field)
        }
        return step
    }

    /// The number that ASCII digits spell, or `nil`. Large numbers are cut to at most 1000, which no field allows.
    private func number(_ text: String) -> Int? {
        var number = 0
        for byte in text.utf8 {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            number = min(number * 10 + Int(byte - UInt8(ascii: "0")), 1000)
        }
        return text.isEmpty ? nil : number
    }

    /// Whether at least one of the months is long enough for one of the days.
    private func hasPossibleDay(_ fields: CronFields) -> Bool {
        let leapYear = 2000
        return Field.month.range.contains { month in
            let length = CivilDate.length(ofMonth: month, year: leapYear)
            return fields.months.contains(month) && fields.days.first <= length
        }
    }

    private func error(_ reason: String, in field: Field? = nil) -> CronError {
        CronError(text: text, field: field?.name, reason: reason)
    }
}
