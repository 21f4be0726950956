import CStrataSQLite
public import Foundation

/// Reads the columns of the row that a statement stands on, by position. Used by code that `@Model` generates.
public struct RowReader {
    let statement: OpaquePointer
    /// The store's fingerprint, in place to be combined with an id's number.
    let fingerprint: Int64

    init(statement: OpaquePointer, fingerprint: UInt16) {
        self.statement = statement
        self.fingerprint = Int64(bitPattern: UInt64(fingerprint) << 48)
    }

    /// Reads an integer.
    public func read(_ type: Int64.Type, at column: Int32) throws -> Int64 { sqlite3_column_int64(statement, column) }
    /// Reads a number.
    public func read(_ type: Double.Type, at column: Int32) throws -> Double {
        sqlite3_column_double(statement, column)
    }
    /// Reads a truth value: all but 0 is true.
    public func read(_ type: Bool.Type, at column: Int32) throws -> Bool {
        sqlite3_column_int64(statement, column) != 0
    }

    /// Reads an integer.
    public func read(_ type: Int.Type, at column: Int32) throws -> Int {
        Int(truncatingIfNeeded: sqlite3_column_int64(statement, column))
    }

    /// Reads a text.
    public func read(_ type: String.Type, at column: Int32) throws -> String { string(at: column) }

    /// Reads a date, stored as seconds since 2001.
    public func read(_ type: Date.Type, at column: Int32) throws -> Date {
        Date(timeIntervalSinceReferenceDate: sqlite3_column_double(statement, column))
    }

    /// Reads a value from the form in which its type stores it.
    ///
    /// - Throws: ``StrataError/Code/undecodable`` where it is none of that type.
    public func read<Value: AttributeValue>(_ type: Value.Type, at column: Int32) throws -> Value {
        let stored = value(at: column)
        guard let value = Value(storedValue: stored) else {
            throw UndecodableValue(value: stored, type: "\(Value.self)", column: name(of: column)).error
        }
        return value
    }

    /// Reads a text; nil for NULL.
    public func read(_ type: String?.Type, at column: Int32) throws -> String? {
        isNull(at: column) ? nil : string(at: column)
    }

    /// Reads an integer; nil for NULL.
    public func read(_ type: Int64?.Type, at column: Int32) throws -> Int64? {
        isNull(at: column) ? nil : sqlite3_column_int64(statement, column)
    }

    /// Reads an integer; nil for NULL.
    public func read(_ type: Int?.Type, at column: Int32) throws -> Int? {
        isNull(at: column) ? nil : Int(truncatingIfNeeded: sqlite3_column_int64(statement, column))
    }

    /// Reads a number; nil for NULL.
    public func read(_ type: Double?.Type, at column: Int32) throws -> Double? {
        isNull(at: column) ? nil : sqlite3_column_double(statement, column)
    }

    /// Reads a value from the form in which its type stores it; nil for NULL.
    ///
    /// - Throws: ``StrataError/Code/undecodable`` where it is none of that type.
    public func read<Value: AttributeValue>(_ type: Value?.Type, at column: Int32) throws -> Value? {
        isNull(at: column) ? nil : try read(Value.self, at: column)
    }

    /// Reads the id of the object that a relationship leads to; nil for NULL.
    public func read<Object: Model>(_ type: Object?.Type, at column: Int32) throws -> ObjectID<Object>? {
        isNull(at: column) ? nil : read(ObjectID<Object>.self, at: column)
    }

    /// Reads an id of this store.
    public func read<Object: Model>(_ type: ObjectID<Object>.Type, at column: Int32) -> ObjectID<Object> {
        ObjectID(packed: fingerprint | sqlite3_column_int64(statement, column))
    }

    /// An error of reading this row, with the object that it is about. For the rows that `@Model` generates, whose first
    /// column is the id.
    public func _$locate<Object: Model>(_ error: any Error, in model: Object.Type) -> any Error {
        guard let found = (error as? StrataError)?.underlying as? UndecodableValue else { return error }
        return found.error(of: Object._$schema, number: read(ObjectID<Object>.self, at: 0).number)
    }

    func isNull(at column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }

    func string(at column: Int32) -> String {
        guard let text = sqlite3_column_text(statement, column) else { return "" }
        let count = Int(sqlite3_column_bytes(statement, column))
        return String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self)
    }

    func value(at column: Int32) -> StoredValue {
        switch sqlite3_column_type(statement, column) {
        case SQLITE_INTEGER: return .integer(sqlite3_column_int64(statement, column))
        case SQLITE_FLOAT: return .real(sqlite3_column_double(statement, column))
        case SQLITE_TEXT: return .text(string(at: column))
        case SQLITE_BLOB:
            let count = Int(sqlite3_column_bytes(statement, column))
            guard count > 0, let bytes = sqlite3_column_blob(statement, column) else { return .blob(Data()) }
            return .blob(Data(bytes: bytes, count: count))
        default: return .null
        }
    }

    /// How many bytes the texts and blobs of the row have.
    var size: Int {
        (0..<sqlite3_column_count(statement)).reduce(0) { size, column in
            switch sqlite3_column_type(statement, column) {
            // Asked for those of a number, SQLite would make a text of it.
            case SQLITE_TEXT, SQLITE_BLOB: size + Int(sqlite3_column_bytes(statement, column))
            default: size
            }
        }
    }

    func name(of column: Int32) -> String {
        sqlite3_column_name(statement, column).map { String(cString: $0) } ?? "\(column)"
    }
}
