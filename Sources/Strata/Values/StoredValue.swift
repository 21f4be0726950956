public import Foundation

/// A value in the form in which SQLite keeps it.
///
/// This is the meeting point of attribute types, predicates and conflict reports. It names SQLite's five storage
/// classes and nothing else of SQLite.
public enum StoredValue: Sendable, Hashable {
    /// No value.
    case null
    /// A signed integer; also truth values, as 0 and 1, and references.
    case integer(Int64)
    /// A floating-point number; also dates, in seconds since 2001.
    case real(Double)
    /// A text, in UTF-8.
    case text(String)
    /// Bytes.
    case blob(Data)
}

/// The declared type of a column, from which SQLite derives its affinity.
public enum ColumnType: String, Sendable, Hashable, Codable {
    /// Integers.
    case integer = "INTEGER"
    /// Floating-point numbers.
    case real = "REAL"
    /// Texts.
    case text = "TEXT"
    /// Bytes.
    case blob = "BLOB"
}

extension StoredValue {
    /// Whether two values are equal to SQLite, which compares texts by their bytes.
    func isSame(as other: StoredValue) -> Bool {
        if case (.text(let left), .text(let right)) = (self, other) { return String.isSame(left, right) }
        return self == other
    }
}

extension StoredValue: CustomStringConvertible {
    /// The value as it would stand in SQL; a blob is shown by its size.
    public var description: String {
        switch self {
        case .null: "NULL"
        case .integer(let value): String(value)
        case .real(let value): String(value)
        case .text(let value): "'\(value)'"
        case .blob(let value): "\(value.count) bytes"
        }
    }
}
