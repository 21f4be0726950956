/// The check of a store by a stack that opens only some of its models.
extension StoreSchema {
    /// Checks that the store has the tables of the opened models. Reads only.
    ///
    /// Tables of other models, and the description that the store records, do not matter. So a stack that opens all
    /// models and a stack that opens some of them accept the same store.
    ///
    /// - Throws: ``StrataError`` with `notAStore`, `newerStore`, `damagedStore`, or `schemaMismatch`.
    static func checkPart(
        _ schema: Schema,
        _ migration: Migration,
        _ state: StoreState,
        on connection: Connection
    ) throws {
        guard state.isStore else { throw noStoreForPart }
        guard let record = state.record, record.format >= StoreFile.formatVersion else {
            throw mismatch(["Strata's own tables have an earlier format"])
        }
        try checkFormat(record)
        // A program that opens some models may not know the migration of the others.
        if migration.version > 0 || !migration.steps.isEmpty { try checkVersion(record, migration) }
        let steps = migration.steps.map(\.name).filter { !record.steps.contains($0) }
        guard steps.isEmpty else { throw mismatch(steps.map { "the step '\($0)' has not run" }) }
        let old = try SchemaDescription(parsing: record.description)
        if !isUnchanged(state.entries.own(old), record) { try StoreDifference(state, old, on: connection).check() }
        let differences = schema.description.differences(fromPartOf: old)
        guard differences.isEmpty else { throw mismatch(differences) }
    }

    static var noStoreForPart: StrataError {
        StrataError(
            .notAStore,
            "There is no store yet, and a stack with `allowsUnopenedModels` does not create one. Open it with all "
                + "models first."
        )
    }

    private static func mismatch(_ differences: [String]) -> StrataError {
        StrataError(
            .schemaMismatch,
            "The opened models differ from the store, and a stack with `allowsUnopenedModels` does not migrate it. "
                + "Open the store with all models first, in the version that this program has:\n"
                + differences.map { "  - \($0)" }.joined(separator: "\n")
        )
    }
}

extension SchemaDescription {
    /// One line for each difference between these models and the same models of a store, whatever the order of the
    /// declarations.
    ///
    /// A relationship between two of these models that only the store has is a difference.
    fileprivate func differences(fromPartOf stored: SchemaDescription) -> [String] {
        var lines: [String] = []
        for table in tables {
            guard let old = stored.table(named: table.name) else {
                lines.append("\(table.subject) is not in the store")
                continue
            }
            if table != old { lines += table.differences(from: old) }
        }
        for old in stored.tables where table(named: old.name) == nil {
            guard let (near, far) = old.ends, table(named: near.table) != nil, table(named: far.table) != nil else {
                continue
            }
            lines.append("\(old.subject) is only in the store")
        }
        return lines
    }
}

extension TableDescription {
    fileprivate func differences(from old: TableDescription) -> [String] {
        guard content == old.content else { return ["the table '\(name)' belongs to \(old.subject) in the store"] }
        var lines: [String] = []
        for column in columns {
            guard let stored = old.column(named: column.name) else {
                lines.append("\(subject).\(column.name) is not in the store")
                continue
            }
            if stored != column { lines.append("\(subject).\(column.name) has another declaration in the store") }
        }
        for stored in old.columns where column(named: stored.name) == nil {
            lines.append("\(subject).\(stored.name) is only in the store")
        }
        if uniques != old.uniques || indexes != old.indexes {
            lines.append("\(subject) has other indexes or unique constraints in the store")
        }
        if search != old.search { lines.append("\(subject) is searched in another way in the store") }
        return lines
    }
}
