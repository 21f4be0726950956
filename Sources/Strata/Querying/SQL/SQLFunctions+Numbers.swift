import CStrataSQLite
import Foundation

extension SQLFunctions {
    static func registerNumbers(on connection: OpaquePointer) throws {
        let code = sqlite3_create_collation_v2(
            connection,
            "strata_decimal",
            SQLITE_UTF8,
            nil,
            { _, leftCount, left, rightCount, right in
                let left = UnsafeRawBufferPointer(start: left, count: Int(leftCount))
                let right = UnsafeRawBufferPointer(start: right, count: Int(rightCount))
                return DecimalText.compare(left, right)
            },
            nil
        )
        try check(code, "strata_decimal")
        try add(aggregate: "strata_decimal_sum", on: connection) { call in
            SQLFunctions.finish(call) { SQLFunctions.give($0.decimal.description, to: call) }
        }
        try add(aggregate: "strata_decimal_avg", on: connection) { call in
            SQLFunctions.finish(call) { SQLFunctions.give(($0.decimal / Decimal($0.count)).description, to: call) }
        }
        try add(aggregate: "strata_unsigned_sum", on: connection) { call in
            SQLFunctions.finish(call) { total in
                guard let sum = total.unsigned else { return sqlite3_result_error(call, "integer overflow", -1) }
                if let small = Int64(exactly: sum) { return sqlite3_result_int64(call, small) }
                SQLFunctions.give(withUnsafeBytes(of: sum.bigEndian) { Array($0) }, to: call)
            }
        }
        try add(aggregate: "strata_unsigned_avg", on: connection) { call in
            SQLFunctions.finish(call) { sqlite3_result_double(call, $0.real / Double($0.count)) }
        }
    }

    private static func add(
        aggregate name: String,
        on connection: OpaquePointer,
        final: @escaping @convention(c) (OpaquePointer?) -> Void
    ) throws {
        let step: Function = { SQLFunctions.addUp($0, $2) }
        try check(sqlite3_create_function_v2(connection, name, 1, flags, nil, nil, step, final, nil), name)
    }

    /// Adds the argument to the total in SQLite's aggregate context.
    private static func addUp(_ call: OpaquePointer?, _ arguments: UnsafeMutablePointer<OpaquePointer?>?) {
        guard let value = arguments?[0], sqlite3_value_type(value) != SQLITE_NULL else { return }
        let size = Int32(MemoryLayout<Unmanaged<Total>?>.size)
        guard let memory = sqlite3_aggregate_context(call, size) else { return sqlite3_result_error_nomem(call) }
        let place = memory.assumingMemoryBound(to: Unmanaged<Total>?.self)
        let total = place.pointee ?? .passRetained(Total())
        place.pointee = total
        total.takeUnretainedValue().add(value)
    }

    /// Calls `body` with the total and frees the total. The result is NULL if no value was added.
    private static func finish(_ call: OpaquePointer?, _ body: (Total) -> Void) {
        guard let memory = sqlite3_aggregate_context(call, 0) else { return sqlite3_result_null(call) }
        let place = memory.assumingMemoryBound(to: Unmanaged<Total>?.self)
        guard let total = place.pointee?.takeRetainedValue() else { return sqlite3_result_null(call) }
        place.pointee = nil
        body(total)
    }
}

/// The running sum of an aggregate.
private final class Total {
    private(set) var count = 0
    private(set) var decimal = Decimal()
    private(set) var real = 0.0
    /// Nil after an overflow.
    private(set) var unsigned: UInt64? = 0

    func add(_ value: OpaquePointer) {
        count += 1
        switch sqlite3_value_type(value) {
        case SQLITE_BLOB: add(number(value))
        case SQLITE_INTEGER:
            decimal += Decimal(sqlite3_value_int64(value))
            add(number(value))
        default:
            guard let text = SQLFunctions.string(value) else { return }
            decimal += Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")) ?? 0
        }
    }

    private func add(_ number: UInt64) {
        real += Double(number)
        if let sum = unsigned {
            let (next, overflows) = sum.addingReportingOverflow(number)
            unsigned = overflows ? nil : next
        }
    }

    private func number(_ value: OpaquePointer) -> UInt64 {
        if sqlite3_value_type(value) == SQLITE_INTEGER { return UInt64(clamping: sqlite3_value_int64(value)) }
        let bytes = UnsafeRawBufferPointer(
            start: sqlite3_value_blob(value),
            count: Int(sqlite3_value_bytes(value))
        )
        return bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }
}
