import CStrataSQLite
public import Foundation

/// Reads the columns of a statement's current row, by position. Used by code that `@Model` generates.
@_documentation(visibility: internal)
public struct RowReader {
    let statement: OpaquePointer
    /// The store's fingerprint, shifted so that it can be combined with an id's number.
    let fingerprint: Int64

    init(statement: OpaquePointer, fingerprint: UInt16) {
        self.statement = statement
        self.fingerprint = Int64(bitPattern: UInt64(fingerprint) << 48)
    }

    // These functions look up the value of a column once. `sqlite3_column_type` followed by `sqlite3_column_int64`
    // looks it up twice, which takes twice as long.

    /// Reads an integer.
    ///
    /// - Throws: ``StrataError/Code/undecodable`` if the column holds a value of another type.
    public func read(_ type: Int64.Type, at column: Int32) throws -> Int64 {
        let value = sqlite3_column_value(statement, column)
        guard sqlite3_value_type(value) == SQLITE_INTEGER else { throw undecodable("Int64", at: column) }
        return sqlite3_value_int64(value)
    }

    /// Reads a number.
    ///
    /// - Throws: ``StrataError/Code/undecodable`` if the column holds a value of another type.
    public func read(_ type: Double.Type, at column: Int32) throws -> Double {
        let value = sqlite3_column_value(statement, column)
        guard Self.isNumber(value) else { throw undecodable("Double", at: column) }
        return sqlite3_value_double(value)
    }

    /// Reads a Boolean, stored as 0 or 1.
    ///
    /// - Throws: ``StrataError/Code/undecodable`` if the column holds another value.
    public func read(_ type: Bool.Type, at column: Int32) throws -> Bool {
        let value = sqlite3_column_value(statement, column)
        guard sqlite3_value_type(value) == SQLITE_INTEGER else { throw undecodable("Bool", at: column) }
        switch sqlite3_value_int64(value) {
        case 0: return false
        case 1: return true
        default: throw undecodable("Bool", at: column)
        }
    }

    /// Reads an integer.
    ///
    /// - Throws: ``StrataError/Code/undecodable`` if the column holds a value of another type.
    public func read(_ type: Int.Type, at column: Int32) throws -> Int {
        let value = sqlite3_column_value(statement, column)
        guard sqlite3_value_type(value) == SQLITE_INTEGER else { throw undecodable("Int", at: column) }
        return Int(truncatingIfNeeded: sqlite3_value_int64(value))
    }

    /// Reads a text.
    ///
    /// - Throws: ``StrataError/Code/undecodable`` if the column holds a value of another type.
    public func read(_ type: String.Type, at column: Int32) throws -> String {
        let value = sqlite3_column_value(statement, column)
        guard sqlite3_value_type(value) == SQLITE_TEXT else { throw undecodable("String", at: column) }
        return Self.string(value)
    }

    /// Reads a date, stored as seconds since 2001.
    ///
    /// - Throws: ``StrataError/Code/undecodable`` if the column holds a value of another type.
    public func read(_ type: Date.Type, at column: Int32) throws -> Date {
        let value = sqlite3_column_value(statement, column)
        guard Self.isNumber(value) else { throw undecodable("Date", at: column) }
        return Date(timeIntervalSinceReferenceDate: sqlite3_value_double(value))
    }

    /// Reads bytes, without the generic code of attribute types.
    ///
    /// - Throws: ``StrataError/Code/undecodable`` if the column holds a value of another type.
    package func read(_ type: Data.Type, at column: Int32) throws -> Data {
        guard case .blob(let data) = value(at: column) else { throw undecodable("Data", at: column) }
        return data
    }

    /// Reads a value from the form in which its type stores it.
    ///
    /// - Throws: ``StrataError/Code/undecodable`` if the stored value is not valid for the type.
    @inlinable
    public func read<Value: AttributeValue>(_ type: Value.Type, at column: Int32) throws -> Value {
        let stored = value(at: column)
        guard let value = Value(storedValue: stored) else { throw undecodable(Value.self, at: column) }
        return value
    }

    /// Reads a text; nil for NULL.
    ///
    /// - Throws: ``StrataError/Code/undecodable`` if the column holds a value of another type.
    public func read(_ type: String?.Type, at column: Int32) throws -> String? {
        let value = sqlite3_column_value(statement, column)
        switch sqlite3_value_type(value) {
        case SQLITE_TEXT: return Self.string(value)
        case SQLITE_NULL: return nil
        default: throw undecodable("String", at: column)
        }
    }

    /// Reads an integer; nil for NULL.
    ///
    /// - Throws: ``StrataError/Code/undecodable`` if the column holds a value of another type.
    public func read(_ type: Int64?.Type, at column: Int32) throws -> Int64? {
        let value = sqlite3_column_value(statement, column)
        switch sqlite3_value_type(value) {
        case SQLITE_INTEGER: return sqlite3_value_int64(value)
        case SQLITE_NULL: return nil
        default: throw undecodable("Int64", at: column)
        }
    }

    /// Reads an integer; nil for NULL.
    ///
    /// - Throws: ``StrataError/Code/undecodable`` if the column holds a value of another type.
    public func read(_ type: Int?.Type, at column: Int32) throws -> Int? {
        try read(Int64?.self, at: column).map { Int(truncatingIfNeeded: $0) }
    }

    /// Reads a number; nil for NULL.
    ///
    /// - Throws: ``StrataError/Code/undecodable`` if the column holds a value of another type.
    public func read(_ type: Double?.Type, at column: Int32) throws -> Double? {
        let value = sqlite3_column_value(statement, column)
        switch sqlite3_value_type(value) {
        case SQLITE_FLOAT, SQLITE_INTEGER: return sqlite3_value_double(value)
        case SQLITE_NULL: return nil
        default: throw undecodable("Double", at: column)
        }
    }

    /// Reads a date, stored as seconds since 2001, without the generic code of attribute types; nil for NULL.
    ///
    /// - Throws: ``StrataError/Code/undecodable`` if the column holds a value of another type.
    package func read(_ type: Date?.Type, at column: Int32) throws -> Date? {
        let value = sqlite3_column_value(statement, column)
        switch sqlite3_value_type(value) {
        case SQLITE_FLOAT, SQLITE_INTEGER: return Date(timeIntervalSinceReferenceDate: sqlite3_value_double(value))
        case SQLITE_NULL: return nil
        default: throw undecodable("Date", at: column)
        }
    }

    /// Reads a value from the form in which its type stores it; nil for NULL.
    ///
    /// - Throws: ``StrataError/Code/undecodable`` if the stored value is not valid for the type.
    @inlinable
    public func read<Value: AttributeValue>(_ type: Value?.Type, at column: Int32) throws -> Value? {
        isNull(at: column) ? nil : try read(Value.self, at: column)
    }

    /// Reads the id of the destination of a relationship; nil for NULL.
    ///
    /// - Throws: ``StrataError/Code/undecodable`` if the column does not hold an id.
    public func read<Object: Model>(_ type: Object?.Type, at column: Int32) throws -> ObjectID<Object>? {
        guard let number = try read(Int64?.self, at: column) else { return nil }
        guard ObjectIDRawValues.all.contains(number) else { throw undecodable("id", at: column) }
        return ObjectID(packed: fingerprint | number)
    }

    /// Reads the id of a row. SQLite always stores it as an integer.
    public func read<Object: Model>(_ type: ObjectID<Object>.Type, at column: Int32) -> ObjectID<Object> {
        ObjectID(packed: fingerprint | sqlite3_column_int64(statement, column))
    }

    /// Adds the affected object to an error from reading this row. For the rows that `@Model` generates, whose first
    /// column is the id.
    public func _$locate<Object: Model>(_ error: any Error, in model: Object.Type) -> any Error {
        guard let found = (error as? StrataError)?.underlying as? UndecodableValue else { return error }
        return found.error(of: Object._$schema, number: read(ObjectID<Object>.self, at: 0).rawValue)
    }

    @usableFromInline
    func isNull(at column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }

    func string(at column: Int32) -> String { Self.string(sqlite3_column_value(statement, column)) }

    private static func string(_ value: OpaquePointer?) -> String {
        guard let text = sqlite3_value_text(value) else { return "" }
        let count = Int(sqlite3_value_bytes(value))
        return String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self)
    }

    private static func isNumber(_ value: OpaquePointer?) -> Bool {
        let type = sqlite3_value_type(value)
        return type == SQLITE_FLOAT || type == SQLITE_INTEGER
    }

    @inline(never) @usableFromInline
    func undecodable<Value>(_ type: Value.Type, at column: Int32) -> StrataError {
        undecodable("\(Value.self)", at: column)
    }

    @inline(never)
    private func undecodable(_ type: String, at column: Int32) -> StrataError {
        UndecodableValue(value: value(at: column), type: type, column: name(of: column)).error
    }

    @usableFromInline
    func value(at column: Int32) -> StoredValue { Self.value(sqlite3_column_value(statement, column)) }

    /// Converts a value from SQLite.
    static func value(_ value: OpaquePointer?) -> StoredValue {
        switch sqlite3_value_type(value) {
        case SQLITE_INTEGER: return .integer(sqlite3_value_int64(value))
        case SQLITE_FLOAT: return .real(sqlite3_value_double(value))
        case SQLITE_TEXT: return .text(string(value))
        case SQLITE_BLOB:
            let count = Int(sqlite3_value_bytes(value))
            guard count > 0, let bytes = sqlite3_value_blob(value) else { return .blob(Data()) }
            return .blob(Data(bytes: bytes, count: count))
        default: return .null
        }
    }

    /// The total size of the texts and blobs of the row, in bytes.
    var size: Int {
        (0..<sqlite3_column_count(statement)).reduce(0) { size, column in
            switch sqlite3_column_type(statement, column) {
            // For a number, `sqlite3_column_bytes` would convert the value to a text.
            case SQLITE_TEXT, SQLITE_BLOB: size + Int(sqlite3_column_bytes(statement, column))
            default: size
            }
        }
    }

    func name(of column: Int32) -> String {
        sqlite3_column_name(statement, column).map { String(cString: $0) } ?? "\(column)"
    }
}
