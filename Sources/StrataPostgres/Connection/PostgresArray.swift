import CStrataPostgres
import Foundation
import Strata

/// Values of one column, which are sent as one parameter: an array with one dimension.
///
/// The format is that of `array_recv` in PostgreSQL's sources: a head, and each element after its length.
struct PostgresArray: Sendable {
    private let table: String
    private let column: HomeTable.Column
    private var count: Int32 = 0
    private var hasNull = false
    private var elements: [UInt8] = []

    init(of column: HomeTable.Column, in table: String) {
        self.table = table
        self.column = column
    }

    private var columnType: PostgresColumnType { PostgresColumnType(column) }
    var type: Oid { columnType.arrayID }
    var byteCount: Int { elements.count }

    /// Appends the value of a row.
    ///
    /// - Parameter id: the row, for the error.
    /// - Throws: `validation` if the column cannot have the value in PostgreSQL.
    mutating func append(_ value: StoredValue, id: StoredValue) throws {
        switch (columnType, value) {
        case (_, .null):
            hasNull = true
            elements.append(bigEndian: Int32(-1))
        case (.integer, .integer(let integer)): append(bigEndian: integer)
        case (.numeric, .integer(let integer)): append(integer.magnitude, isNegative: integer < 0)
        case (.numeric, .blob):
            // A smaller number would come back as an integer.
            guard let integer = UInt64(storedValue: value), integer > Int64.max else { throw typeError(id) }
            append(integer, isNegative: false)
        // SQLite keeps a whole number of such a column as an integer.
        case (.real, .integer(let integer)): append(bigEndian: Double(integer).bitPattern)
        case (.real, .real(let real)): append(bigEndian: real.bitPattern)
        case (.text, .text(let text)):
            if text.utf8.contains(0) {
                throw error(id, "contains the character U+0000, which PostgreSQL cannot store", "Remove the character")
            }
            elements.append(bigEndian: Int32(text.utf8.count))
            elements.append(contentsOf: text.utf8)
        case (.bytes, .blob(let data)):
            elements.append(bigEndian: Int32(data.count))
            elements.append(contentsOf: data)
        default: throw typeError(id)
        }
        count += 1
    }

    private mutating func append<Value: FixedWidthInteger>(bigEndian value: Value) {
        elements.append(bigEndian: Int32(MemoryLayout<Value>.size))
        elements.append(bigEndian: value)
    }

    private mutating func append(_ magnitude: UInt64, isNegative: Bool) {
        let bytes = PostgresNumeric.bytes(of: magnitude, isNegative: isNegative)
        elements.append(bigEndian: Int32(bytes.count))
        elements.append(contentsOf: bytes)
    }

    /// Writes the array.
    func write(to bytes: inout [UInt8]) {
        bytes.append(bigEndian: Int32(count == 0 ? 0 : 1))
        bytes.append(bigEndian: Int32(hasNull ? 1 : 0))
        bytes.append(bigEndian: columnType.id)
        if count == 0 { return }
        bytes.append(bigEndian: count)
        // The index of the first element.
        bytes.append(bigEndian: Int32(1))
        bytes.append(contentsOf: elements)
    }

    private func typeError(_ id: StoredValue) -> StrataError {
        error(id, "has a value of another type than \(column.type.rawValue)", "Set a value of this type")
    }

    private func error(_ id: StoredValue, _ fault: String, _ advice: String) -> StrataError {
        let details: [StrataError.Detail] =
            if case .integer(let id) = id {
                [StrataError.Detail(model: table, id: id, column: column.name, message: fault)]
            } else {
                []
            }
        return StrataError(
            .validation,
            "The column \(column.name) of a row of \(table) \(fault). \(advice), and save again.",
            details: details
        )
    }
}
