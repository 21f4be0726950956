import CStrataSQLite

/// A row of a model whose class the program does not have: the stored values of all columns.
struct RecordedRow: StoredRow {
    let _$id: Int64
    private var values: [StoredValue]

    init(_$from reader: RowReader) throws {
        _$id = try reader.read(Int64.self, at: 0)
        values = (1..<sqlite3_column_count(reader.statement)).map { reader.value(at: $0) }
    }

    static func _$bind(_ row: UnsafePointer<RecordedRow>, to binder: inout RowBinder) throws {
        try binder.bind(row.pointee._$id, at: 1)
        for (index, value) in row.pointee.values.enumerated() { try binder.bind(stored: value, at: Int32(index + 2)) }
    }

    static func _$bind(_ columns: ColumnSet, of row: UnsafePointer<RecordedRow>, to binder: inout RowBinder) throws {
        var index: Int32 = 0
        for column in columns {
            index += 1
            try binder.bind(stored: row.pointee.values[column], at: index)
        }
    }

    static func _$value(_ row: UnsafePointer<RecordedRow>, at column: Int) throws -> StoredValue {
        row.pointee.values[column]
    }

    mutating func _$set(_ value: StoredValue, at column: Int) throws { values[column] = value }

    mutating func _$copy(_ columns: ColumnSet, from other: RecordedRow) {
        for column in columns { values[column] = other.values[column] }
    }

    func _$differences(from other: RecordedRow) -> ColumnSet {
        var result = ColumnSet()
        for column in values.indices where values[column] != other.values[column] { result.insert(column) }
        return result
    }
}
