/// The checks that attributes declare.
enum RowCheck {
    /// Complexity: O(columns with declarations).
    static func check(_ row: some StoredRow, _ info: EntityInfo, _ failures: inout [StrataError.Detail]) {
        for column in info.numbers {
            // Most columns that are looked at are numbers with nothing else declared; these are looked at most cheaply.
            if case .real(let number)? = try? row._$value(at: column), !number.isNaN { continue }
            check(row, column, info, &failures)
        }
        for column in info.checked { check(row, column, info, &failures) }
    }

    private static func check(
        _ row: some StoredRow,
        _ column: Int,
        _ info: EntityInfo,
        _ failures: inout [StrataError.Detail]
    ) {
        let declared = info.columns[column]
        func fail(_ message: String, _ value: StoredValue?) {
            failures.append(
                StrataError.Detail(
                    model: info.name,
                    number: row._$number,
                    column: declared.name,
                    message: message,
                    mine: value
                )
            )
        }
        let value: StoredValue
        do {
            value = try row._$value(at: column)
        } catch {
            fail("cannot be encoded: \(error)", nil)
            return
        }
        if case .real(let number) = value, number.isNaN {
            fail("is not a number (NaN), which SQLite cannot keep", value)
        }
        for option in declared.options {
            switch option.kind {
            case .required where value == .null: fail("must not be nil", value)
            case .check(let message, _, let isValid) where value != .null && !isValid(value): fail(message, value)
            default: break
            }
        }
    }
}
