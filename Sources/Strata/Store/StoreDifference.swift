/// The differences between a store and its state when Strata last changed its tables.
struct StoreDifference {
    private let old: SchemaDescription
    private let there: [SchemaEntry]
    private let recorded: [(name: String, sql: String)]
    private let connection: Connection

    init(_ state: StoreState, _ old: SchemaDescription, on connection: Connection) {
        self.old = old
        self.connection = connection
        there = state.entries.own(old)
        if let record = state.record {
            recorded = record.layout
        } else {
            // A store of format 1 has no record. Its tables match their description, unless another program has changed
            // them.
            let own = there.filter(\.isHousekeeping).map { ($0.name, $0.sql) }
            recorded = own + SchemaSQL.statements(for: old).filter { $0.name != ExternalSQL.table.name }
        }
    }

    /// Checks that there are no differences.
    ///
    /// - Throws: ``StrataError`` with `schemaMismatch`; the message has one line for each difference.
    func check() throws {
        let differences = try differences()
        guard !differences.isEmpty else { return }
        throw StrataError(
            .schemaMismatch,
            "The store was changed by another program since Strata last changed its tables, and was left as it is. Undo "
                + "this, or restore a backup:\n" + differences.map { "  - \($0)" }.joined(separator: "\n")
        )
    }

    private func differences() throws -> [String] {
        let found = Dictionary(there.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let known = Set(recorded.map(\.name))
        var result: [String] = []
        for (name, sql) in recorded where found[name]?.sql != sql {
            let table = old.table(named: name)
            guard let entry = found[name] else {
                result.append(table.map { "table '\(name)' of \($0.subject) is missing" } ?? "'\(name)' is missing")
                continue
            }
            let columns = try table.map { try columnDifferences($0) } ?? []
            result += columns.isEmpty ? ["\(entry.type) '\(name)' has another definition: \(entry.sql)"] : columns
        }
        for entry in there where !known.contains(entry.name) {
            result.append("\(entry.type) '\(entry.name)' on '\(entry.table)' was not created by Strata: \(entry.sql)")
        }
        return result
    }

    private func columnDifferences(_ table: TableDescription) throws -> [String] {
        let there = try connection.tableColumns(of: table.name).filter { $0.name != "id" && $0.name != "_version" }
        var result: [String] = []
        for column in table.columns {
            let place = "\(table.subject).\(column.name)"
            guard let found = there.first(where: { $0.name == column.name }) else {
                result.append("\(place) is missing")
                continue
            }
            if found.type != column.type.rawValue {
                result.append("\(place) was \(column.type.rawValue) and is \(found.type)")
            }
            if found.isOptional != column.isOptional {
                result.append(
                    "\(place) was \(column.isOptional ? "" : "not ")optional and is\(found.isOptional ? "" : " not")"
                )
            }
        }
        for found in there where table.column(named: found.name) == nil {
            result.append("column '\(found.name)' of '\(table.name)' was not created by Strata")
        }
        return result
    }
}
