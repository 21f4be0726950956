/// The checks that attributes declare.
enum RowCheck {
    /// Checks the edited columns of a row.
    ///
    /// - Parameter edited: the columns that were set; nil for all. The values of other columns are not part of the
    ///   edit, and may be older than the rule.
    /// - Complexity: O(columns with declarations).
    static func check<Row: StoredRow>(
        _ row: UnsafePointer<Row>,
        _ edited: ColumnSet?,
        _ info: EntityInfo,
        _ failures: inout [StrataError.Detail]
    ) {
        // Derived columns change with the other columns.
        let edited = edited?.union(info.derived)
        for column in info.numbers where edited?.contains(column) ?? true {
            // A fast path: most checked columns are number columns without further declarations.
            if let value = try? Row._$value(row, at: column), !value.isNaN(of: info.columns[column]) { continue }
            check(row, column, info, &failures)
        }
        for column in info.checked where edited?.contains(column) ?? true { check(row, column, info, &failures) }
    }

    /// Checks one column.
    static func check<Row: StoredRow>(
        _ row: UnsafePointer<Row>,
        _ column: Int,
        _ info: EntityInfo,
        _ failures: inout [StrataError.Detail]
    ) {
        let declared = info.columns[column]
        func fail(_ message: String, _ value: StoredValue?) {
            failures.append(
                StrataError.Detail(
                    model: info.name,
                    id: Row._$id(row),
                    column: declared.name,
                    message: message,
                    mine: value
                )
            )
        }
        let value: StoredValue
        do {
            value = try Row._$value(row, at: column)
        } catch {
            fail("cannot be encoded: \(error)", nil)
            return
        }
        if value.isNaN(of: declared) {
            fail("is not a number (NaN), which SQLite cannot keep", value)
        }
        for option in declared.options {
            if let message = option.fault(of: value) { fail(message, value) }
        }
    }
}

extension StoredValue {
    /// Whether this value represents NaN in a column of numbers.
    fileprivate func isNaN(of column: ColumnSchema) -> Bool {
        switch self {
        case .real(let number): number.isNaN
        case .text(let text): column.isDecimal && text == "NaN"
        default: false
        }
    }
}
