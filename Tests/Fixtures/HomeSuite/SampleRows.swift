import Strata

/// The rows of all tables of a store. Tables without rows are left out.
struct SampleRows: Equatable, CustomStringConvertible {
    private var tables: [String: [StoredValue: [StoredValue]]] = [:]

    /// - Throws: ``HomeFailure`` if the table has a row with this id already.
    mutating func add(_ row: [StoredValue], to table: String) throws {
        let replaced = tables[table, default: [:]].updateValue(row, forKey: row[0])
        try expect(replaced == nil, "The table \(table) has two rows with the id \(row[0]).")
    }

    /// The rows, in the order of their texts.
    var description: String {
        tables.map { "\($0): \($1.values.map { "\($0)" }.sorted())" }.sorted().joined(separator: "; ")
    }
}
