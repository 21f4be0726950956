public import Foundation

/// A value in the form in which SQLite keeps it.
///
/// This is the meeting point of attribute types, predicates and conflict reports. It names SQLite's five storage
/// classes and nothing else of SQLite.
public enum StoredValue: Sendable, Hashable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob(Data)
}

/// The declared type of a column, from which SQLite derives its affinity.
public enum ColumnType: String, Sendable, Hashable, Codable {
    case integer = "INTEGER"
    case real = "REAL"
    case text = "TEXT"
    case blob = "BLOB"
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
