import CStrataPostgres
import Foundation
import Strata

/// The result of a statement, in binary format.
final class PostgresRows {
    /// The result of libpq, which this object frees.
    let result: OpaquePointer

    init(_ result: OpaquePointer) { self.result = result }

    deinit { PQclear(result) }

    var status: ExecStatusType { PQresultStatus(result) }
    var count: Int { Int(PQntuples(result)) }
    /// What the server has done: `COMMIT`, for instance.
    var command: String { PQcmdStatus(result).map { String(cString: $0) } ?? "" }

    /// The error of a statement that the server has refused, or of the connection.
    var failure: PostgresFailure {
        let message = PQresultErrorMessage(result).map { String(cString: $0) } ?? ""
        var failure = PostgresFailure(
            // libpq gives no SQLSTATE to errors that the server has not sent.
            field(CSTRATA_DIAG_SQLSTATE).map { PostgresFailure.Kind.server(sqlState: $0) } ?? .connection,
            message
        )
        // Only servers send the severity that is never translated.
        let severity = field(CSTRATA_DIAG_SEVERITY_NONLOCALIZED) ?? field(CSTRATA_DIAG_SEVERITY) ?? ""
        failure.isFatal = severity.hasSameBytes(as: "FATAL") || severity.hasSameBytes(as: "PANIC")
        return failure
    }

    /// A field of an error that the server has sent; nil if the error does not have it.
    private func field(_ code: Int32) -> String? { PQresultErrorField(result, code).map { String(cString: $0) } }

    /// The bytes of a value that is not NULL. They are valid as long as this object.
    private func value(row: Int, column: Int, size: Int? = nil) throws -> UnsafeRawBufferPointer {
        guard row < count, column < Int(PQnfields(result)) else { throw Self.unexpected }
        let (row, column) = (Int32(row), Int32(column))
        let length = Int(PQgetlength(result, row, column))
        guard PQgetisnull(result, row, column) == 0, size == nil || length == size else { throw Self.unexpected }
        return UnsafeRawBufferPointer(start: PQgetvalue(result, row, column), count: length)
    }

    /// - Throws: `PostgresFailure` of the kind `format` if the value does not have 8 bytes. The other functions throw
    ///   it too.
    func integer(row: Int, column: Int) throws -> Int64 {
        Int64(bigEndian: try value(row: row, column: column, size: 8).loadUnaligned(as: Int64.self))
    }

    func real(row: Int, column: Int) throws -> Double {
        Double(bitPattern: UInt64(bitPattern: try integer(row: row, column: column)))
    }

    func isTrue(row: Int, column: Int) throws -> Bool {
        try value(row: row, column: column, size: 1).first != 0
    }

    func text(row: Int, column: Int) throws -> String {
        String(decoding: try value(row: row, column: column), as: UTF8.self)
    }

    func data(row: Int, column: Int) throws -> Data { Data(try value(row: row, column: column)) }

    func uuid(row: Int, column: Int) throws -> UUID {
        UUID(uuid: try value(row: row, column: column, size: 16).loadUnaligned(as: uuid_t.self))
    }

    func time(row: Int, column: Int) throws -> Date {
        Date(postgresMicroseconds: try integer(row: row, column: column))
    }

    private static let unexpected = PostgresFailure(
        .format,
        "the server's answer has other rows, columns or types than the statement selects"
    )
}
