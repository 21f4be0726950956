import CStrataPostgres
import Foundation
import Strata

/// The object ids of PostgreSQL's types, from `pg_type.dat` of its sources. They are part of its protocol.
enum PostgresType {
    static let bytes: Oid = 17
    static let integer: Oid = 20
    static let text: Oid = 25
    static let real: Oid = 701
    static let timestamp: Oid = 1184
    static let numeric: Oid = 1700
    static let uuid: Oid = 2950
}

/// The type of a column in a table.
enum PostgresColumnType {
    case integer
    /// Whole numbers that an `integer` may not hold: see `HomeTable.Column.isUnsigned`.
    case numeric
    case real
    case text
    case bytes

    init(_ column: HomeTable.Column) {
        self =
            switch column.type {
            case .integer: column.isUnsigned ? .numeric : .integer
            case .real: .real
            case .text: .text
            case .blob: .bytes
            }
    }

    /// The name in SQL.
    ///
    /// Texts compare by their bytes, as in SQLite.
    var name: String {
        switch self {
        case .integer: "bigint"
        case .numeric: "numeric(20)"
        case .real: "double precision"
        case .text: "text COLLATE \"C\""
        case .bytes: "bytea"
        }
    }

    var id: Oid {
        switch self {
        case .integer: PostgresType.integer
        case .numeric: PostgresType.numeric
        case .real: PostgresType.real
        case .text: PostgresType.text
        case .bytes: PostgresType.bytes
        }
    }

    /// The type of an array of values of the column.
    var arrayID: Oid {
        switch self {
        case .integer: 1016
        case .numeric: 1231
        case .real: 1022
        case .text: 1009
        case .bytes: 1001
        }
    }

    /// A value of the column that is not NULL, from the server's binary format.
    ///
    /// - Throws: `PostgresFailure` of the kind `format` if a number does not have its format.
    func value(_ bytes: UnsafeRawBufferPointer) throws -> StoredValue {
        switch self {
        case .integer: .integer(try Self.number(bytes))
        case .numeric: try PostgresNumeric.value(bytes)
        case .real: .real(Double(bitPattern: UInt64(bitPattern: try Self.number(bytes))))
        case .text: .text(String(decoding: bytes, as: UTF8.self))
        case .bytes: .blob(Data(bytes))
        }
    }

    private static func number(_ bytes: UnsafeRawBufferPointer) throws -> Int64 {
        guard bytes.count == MemoryLayout<Int64>.size else {
            throw PostgresFailure(.format, "a number in the server's answer does not have 8 bytes")
        }
        return Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
    }
}
