// Checks for values in rows that the models do not allow.

extension MigrationRun {
    /// Reports the column whose missing values prevented rows from being copied.
    func explain(_ change: TableChange, _ columns: [(name: String, expression: String)]) throws {
        for (column, expression) in zip(change.columns, columns.map(\.expression)) where !column.new.isOptional {
            try refuse(
                MigrationSQL.rows(
                    filling: expression,
                    of: change.old.name,
                    where: MigrationSQL.isNull(MigrationSQL.value)
                ),
                change.new,
                column,
                "has no value, and must have one"
            )
        }
    }

    /// Reports a filling expression that SQLite cannot parse.
    func checkFillings(_ change: TableChange) throws {
        for column in change.columns where column.isFilled {
            let filling: String
            switch column.source {
            case .expression(let expression), .outside(let expression, _): filling = expression
            default: continue
            }
            do {
                _ = try Statement(MigrationSQL.rows(filling: filling, of: change.old.name, where: "1"), on: connection)
            } catch let error as StrataError {
                let name = "\(change.new.subject).\(column.new.name)"
                throw error.located("The filling of \(name) is not an expression over the old rows (\(filling))")
            }
        }
    }

    /// Checks that all rows were copied. A filling expression with an aggregate over all rows can change their number.
    func check(_ copied: Int, of change: TableChange) throws {
        let count = try connection.integer(MigrationSQL.count(change.old.name)) ?? 0
        guard copied != count else { return }
        let names = change.columns.filter(\.isFilled).map { "\(change.new.subject).\($0.new.name)" }
        throw StrataError(
            .schemaMismatch,
            "The filling of \(names.joined(separator: ", ")) turns the \(count) rows of \(change.old.subject) into "
                + "\(copied), and nothing was changed. Put an aggregate over all rows, such as max(…), into a "
                + "subquery: (SELECT …)."
        )
    }

    static let isOtherType = "is not of the attribute's type"

    /// Throws if a query finds rows. The query returns their ids and values.
    func refuse(
        _ sql: String,
        _ table: TableDescription,
        _ column: ColumnChange,
        _ message: String
    ) throws {
        var details: [StrataError.Detail] = []
        try connection.statement(sql).run([]) { row in
            details.append(detail(table, try row.read(Int64.self, at: 0), column, message, row.value(at: 1)))
        }
        if !details.isEmpty { throw Self.refusal(details) }
    }

    func detail(
        _ table: TableDescription,
        _ number: Int64,
        _ column: ColumnChange,
        _ message: String,
        _ value: StoredValue
    ) -> StrataError.Detail {
        StrataError.Detail(
            model: table.subject,
            id: number,
            column: column.new.name,
            message: "\(message): \(value)",
            mine: value
        )
    }

    static func refusal(_ details: [StrataError.Detail]) -> StrataError {
        StrataError(
            .schemaMismatch,
            "The store holds values that the models do not allow, and nothing was changed. Repair them in a step that "
                + "runs before, or with .filling.",
            details: details
        )
    }

    /// Checks the new values of a column against the attribute's type.
    func check(_ column: ColumnChange, in name: String, _ table: TableDescription) throws {
        guard let declared = column.checked else { return }
        var details: [StrataError.Detail] = []
        try connection.statement(MigrationSQL.values(of: column.new.name, in: name)).run([]) { row in
            let value = row.value(at: 1)
            guard details.count < 5, !declared.holds(value) else { return }
            details.append(
                detail(table, try row.read(Int64.self, at: 0), column, Self.isOtherType, value)
            )
        }
        if !details.isEmpty { throw Self.refusal(details) }
    }
}

extension ColumnSchema {
    /// Whether a value is valid for the attribute.
    func holds(_ value: StoredValue) -> Bool {
        switch (type, value) {
        case (.integer, .integer(let number)) where destination != nil: ObjectIDRawValues.all.contains(number)
        case (.integer, .integer), (.real, .real), (.text, .text), (.blob, .blob): accepts?(value) ?? true
        case (.integer, .blob): mayExceedInt64 && accepts?(value) ?? true
        default: false
        }
    }
}
