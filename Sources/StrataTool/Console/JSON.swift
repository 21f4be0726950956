import Foundation
import Strata
import StrataInspection

/// A value of JSON whose objects keep the order of their fields.
enum JSON: Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case text(String)
    case array([JSON])
    case object([(name: String, value: JSON)])

    /// A text, or `null`.
    static func orNull(_ text: String?) -> JSON { text.map { JSON.text($0) } ?? .null }

    /// An integer, or `null`.
    static func orNull(_ number: Int?) -> JSON { number.map { JSON.integer(Int64($0)) } ?? .null }

    /// An integer, or `null`.
    static func orNull(_ number: Int64?) -> JSON { number.map { JSON.integer($0) } ?? .null }

    /// A number, or `null`, also for an infinite one.
    static func orNull(_ number: Double?) -> JSON {
        guard let number, number.isFinite else { return .null }
        return .number(number)
    }

    static func count(_ number: Int) -> JSON { .integer(Int64(number)) }

    /// The value on one line. Control characters and invisible characters are escaped.
    ///
    /// - Precondition: numbers are finite.
    var line: String {
        var line = ""
        write(to: &line)
        return line
    }

    private func write(to text: inout String) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .integer(let value): text += "\(value)"
        case .number(let value): text += "\(value)"
        case .text(let value): Self.write(value, to: &text)
        case .array(let values):
            text += "["
            for (index, value) in values.enumerated() {
                if index > 0 { text += "," }
                value.write(to: &text)
            }
            text += "]"
        case .object(let fields):
            text += "{"
            for (index, field) in fields.enumerated() {
                if index > 0 { text += "," }
                Self.write(field.name, to: &text)
                text += ":"
                field.value.write(to: &text)
            }
            text += "}"
        }
    }

    private static func write(_ value: String, to text: inout String) {
        text += "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case _ where TerminalText.isEscaped(scalar):
                for unit in scalar.utf16 {
                    let digits = String(unit, radix: 16)
                    text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}

extension JSON {
    /// A value of the store. Bytes and infinite numbers, which JSON does not have, are objects with one field.
    init(_ value: StoredValue) {
        switch value {
        case .null: self = .null
        case .integer(let number): self = .integer(number)
        case .real(let number):
            self = number.isFinite ? .number(number) : .object([("real", .text(number > 0 ? "inf" : "-inf"))])
        case .text(let text): self = .text(text)
        case .blob(let bytes): self = .object([("base64", .text(bytes.base64EncodedString()))])
        }
    }

    /// A time in UTC, in the form of ISO 8601.
    static func time(_ date: Date?) -> JSON { .orNull(Timestamp.text(date)) }
}
