import CStrataPostgres
import Strata

/// The object ids of PostgreSQL's types, from `pg_type.dat` of its sources. They are part of its protocol.
enum PostgresType {
    static let bytes: Oid = 17
    static let integer: Oid = 20
    static let text: Oid = 25
    static let real: Oid = 701
    static let timestamp: Oid = 1184
    static let uuid: Oid = 2950
}

extension ColumnType {
    /// The type of a column in a table.
    ///
    /// Texts compare by their bytes, as in SQLite.
    var postgresName: String {
        switch self {
        case .integer: "bigint"
        case .real: "double precision"
        case .text: "text COLLATE \"C\""
        case .blob: "bytea"
        }
    }

    var postgresType: Oid {
        switch self {
        case .integer: PostgresType.integer
        case .real: PostgresType.real
        case .text: PostgresType.text
        case .blob: PostgresType.bytes
        }
    }

    /// The type of an array of values of the column.
    var postgresArrayType: Oid {
        switch self {
        case .integer: 1016
        case .real: 1022
        case .text: 1009
        case .blob: 1001
        }
    }
}
