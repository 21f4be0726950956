/// Checks the values of a column against its new type or its new rules.
///
/// SQLite stores an `Int` like a `Bool`, an array like a set, and a `Double` like a `Float`. A column whose Swift type
/// changes in this way does not need to be copied. However, some of its values may be invalid for the new type, or the
/// new type may store them differently.
struct ValueCheck {
    /// The name of the table.
    let table: String
    /// The name of the column.
    let column: String
    /// The model and property, for messages.
    let subject: String
    let model: String
    let declared: ColumnSchema
    /// Whether the values were of another type, or result from an expression.
    let isOfNewType: Bool
    /// Whether values may be rewritten even if a number changes. Allowed if the user provided the values.
    let isFilled: Bool
    /// The messages of the new rules.
    let rules: [String]
    /// The single value of all rows; nil if each row has its own value.
    private let constant: StoredValue?

    /// Nil if nothing needs to be checked.
    ///
    /// - Parameter inOldTable: whether the values are checked in the old table, before the migration.
    init?(_ change: TableChange, _ column: ColumnChange, _ declared: ColumnSchema?, inOldTable: Bool = false) {
        guard let declared, !column.isCalculated else { return nil }
        if inOldTable {
            table = change.old.name
            if let kept = column.kept {
                (self.column, constant) = (kept.name, nil)
            } else if column.old == nil, case .value(let value) = column.source {
                (self.column, constant) = ("id", value)
            } else {
                return nil
            }
        } else {
            (table, self.column, constant) = (change.new.name, column.new.name, nil)
        }
        model = change.new.subject
        subject = "\(model).\(column.new.name)"
        self.declared = declared
        isFilled = column.isFilled
        isOfNewType = declared.normalized != nil && (column.isFilled || column.isOfNewType)
        rules = column.newRules
        if !isOfNewType, rules.isEmpty { return nil }
    }

    /// The message of the rule that a value violates; nil if the value is valid.
    func fault(of value: StoredValue) -> String? {
        if isOfNewType, value != .null {
            guard declared.holds(value), let normalized = declared.normalized?(value) else {
                return "must be a value of \(declared.typeName)"
            }
            if !isFilled, declared.type != .text, normalized != value {
                return "must be a number that \(declared.typeName) keeps exactly"
            }
        }
        for option in declared.options {
            if let rule = option.rule, rules.contains(rule), let message = option.fault(of: value) { return message }
        }
        return nil
    }

    /// The replacement of a value; the value itself if it stays unchanged.
    ///
    /// - Throws: the errors of creating a default value.
    func replacement(of value: StoredValue) throws -> StoredValue {
        guard value != .null else { return isFillable ? try declared.defaultValue?() ?? .null : .null }
        return isOfNewType ? declared.normalized?(value) ?? value : value
    }

    /// The text `3 rows`, or `1 row`.
    static func rows(_ count: Int) -> String { count == 1 ? "1 row" : "\(count) rows" }

    /// Whether rows without a value get the default value.
    var isFillable: Bool { rules.contains(AttributeOption.requiredMessage) && declared.heldType != ExternalData.self }

    /// Passes all rows to `body` in portions of up to 500 rows, each row with its id and value.
    func forEachPortion(
        on connection: Connection,
        _ body: ([(number: Int64, value: StoredValue)]) throws -> Void
    ) throws {
        let select = try connection.statement(MigrationSQL.selectValues(of: column, in: table))
        var last = Int64.min
        while true {
            var rows: [(number: Int64, value: StoredValue)] = []
            try select.run([.integer(last), .integer(500)]) { row in
                rows.append((try row.read(Int64.self, at: 0), constant ?? row.value(at: 1)))
            }
            guard let end = rows.last?.number else { return }
            try body(rows)
            last = end
        }
    }

    /// The numbers of invalid rows by rule, of rows that get the default value, and of rows with a rewritten value.
    func count(on connection: Connection) throws -> (faults: [String: Int], filled: Int, rewritten: Int) {
        var (faults, filled, rewritten): ([String: Int], Int, Int) = ([:], 0, 0)
        try forEachPortion(on: connection) { rows in
            for (_, value) in rows {
                let replacement = try replacement(of: value)
                if let fault = fault(of: value == .null ? replacement : value) {
                    faults[fault, default: 0] += 1
                } else if replacement != value {
                    if value == .null { filled += 1 } else { rewritten += 1 }
                }
            }
        }
        return (faults, filled, rewritten)
    }
}

extension MigrationRun {
    /// After the last step, checks the rows against the models, and rewrites values that are now stored differently.
    func checkValues() throws {
        var faults: [String] = []
        var details: [StrataError.Detail] = []
        for change in pending.changes.changed {
            for column in change.columns {
                let declared = schema.columnSchema(column.new.name, of: change.new)
                guard let check = ValueCheck(change, column, declared) else { continue }
                meter.begin("Checking \(check.model)")
                let found = try run(check, &details)
                for (fault, count) in found.sorted(by: { $0.key < $1.key }) {
                    faults.append("\(check.subject) \(fault) (\(ValueCheck.rows(count)))")
                }
            }
        }
        guard !faults.isEmpty else { return }
        throw StrataError(
            .schemaMismatch,
            "The store holds values that the models do not allow, and nothing was changed: "
                + "\(faults.joined(separator: ", ")). Repair them in a step of the migration, or with .filling.",
            details: details
        )
    }

    /// Checks and rewrites one column. Returns the number of invalid rows by message.
    private func run(_ check: ValueCheck, _ details: inout [StrataError.Detail]) throws -> [String: Int] {
        var faults: [String: Int] = [:]
        let update = MigrationSQL.updateValue(of: check.column, in: check.table)
        try check.forEachPortion(on: connection) { rows in
            try cancellation.check()
            for (number, value) in rows {
                let replacement = try check.replacement(of: value)
                if let fault = check.fault(of: value == .null ? replacement : value) {
                    faults[fault, default: 0] += 1
                    guard details.count < 5 else { continue }
                    details.append(
                        StrataError.Detail(
                            model: check.model,
                            id: number,
                            column: check.declared.name,
                            message: "\(fault): \(value)",
                            mine: value
                        )
                    )
                } else if replacement != value {
                    try connection.execute(update, [replacement, .integer(number)])
                }
            }
        }
        return faults
    }
}

extension PendingMigration {
    /// The lines of a plan about the values in the rows: the changes, and the reasons to refuse the store.
    func examineValues(_ schema: Schema, on connection: Connection) throws -> (changes: [String], refusals: [String]) {
        var (lines, refusals): ([String], [String]) = ([], [])
        for change in changes.changed {
            for column in change.columns {
                let declared = schema.columnSchema(column.new.name, of: change.new)
                guard let check = ValueCheck(change, column, declared, inOldTable: true) else { continue }
                let (faults, filled, rewritten) = try check.count(on: connection)
                if filled > 0 { lines.append("give \(check.subject) its default value in \(ValueCheck.rows(filled))") }
                if rewritten > 0 { lines.append("convert \(check.subject) in \(ValueCheck.rows(rewritten))") }
                for (fault, count) in faults.sorted(by: { $0.key < $1.key }) {
                    if hasStepsToRun {
                        lines.append("steps must repair \(check.subject), which \(fault), in \(ValueCheck.rows(count))")
                    } else {
                        refusals.append(
                            "\(check.subject) \(fault), and \(ValueCheck.rows(count)) "
                                + "\(count == 1 ? "breaks" : "break") this. Repair them in a step of the migration, "
                                + "or write .filling(\"\(check.subject)\", with: \"…\") with an SQL expression over "
                                + "the old row."
                        )
                    }
                }
            }
        }
        return (lines, refusals)
    }
}
