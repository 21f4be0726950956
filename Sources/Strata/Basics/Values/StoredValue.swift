public import Foundation

/// A value in the form in which SQLite keeps it.
///
/// Attribute types, predicates and conflict reports exchange values in this form. The cases are SQLite's five storage
/// classes; nothing else of SQLite is visible. Like SQLite, this type considers two texts equal if their bytes are
/// equal.
public enum StoredValue: Sendable, Hashable {
    /// No value.
    case null
    /// A signed integer. Booleans are stored as 0 and 1, and references as integers.
    case integer(Int64)
    /// A floating-point number. Dates are stored as seconds since 2001.
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
    /// Whether both values have the same storage class and are equal. Texts and blobs are compared by their bytes.
    public static func == (left: StoredValue, right: StoredValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.integer(let left), .integer(let right)): left == right
        case (.real(let left), .real(let right)): left == right
        case (.text(let left), .text(let right)): String.isSame(left, right)
        case (.blob(let left), .blob(let right)): left == right
        default: false
        }
    }

    /// Hashes consistently with `==`: texts by their bytes.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0 as UInt8)
        case .integer(let value):
            hasher.combine(1 as UInt8)
            hasher.combine(value)
        case .real(let value):
            hasher.combine(2 as UInt8)
            hasher.combine(value)
        case .text(let value):
            hasher.combine(3 as UInt8)
            value.hashBytes(into: &hasher)
        case .blob(let value):
            hasher.combine(4 as UInt8)
            hasher.combine(value)
        }
    }
}

extension StoredValue: CustomStringConvertible {
    /// The value as it would be written in SQL. A blob is shown by its size.
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
