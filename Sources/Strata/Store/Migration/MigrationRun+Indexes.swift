extension MigrationRun {
    /// First drops unwanted indexes and triggers, and then creates missing ones. Unique constraints are created last.
    func changeIndexes(isUnique: Bool) throws {
        let entries = try connection.schemaEntries().own(pending.new)
        let wanted = Dictionary(
            pending.new.tables.flatMap { SchemaSQL.statements(for: $0).dropFirst() }.map { ($0.name, $0.sql) },
            uniquingKeysWith: { first, _ in first }
        )
        var there: Set<String> = []
        for entry in entries where !entry.isTable && !entry.isHousekeeping {
            if wanted[entry.name] == entry.sql {
                there.insert(entry.name)
            } else {
                try connection.execute(MigrationSQL.drop(entry))
            }
        }
        for table in pending.new.tables {
            let missing = SchemaSQL.statements(for: table).dropFirst()
                .filter { !there.contains($0.name) && $0.sql.isUnique == isUnique }
            guard !missing.isEmpty else { continue }
            let rows = meter.isUsed ? Double(try connection.integer(MigrationSQL.count(table.name)) ?? 0) : 0
            let activity = isUnique ? "Checking unique values of \(table.subject)" : "Indexing \(table.subject)"
            if !missing.allSatisfy(\.sql.isTrigger) { meter.begin(activity) }
            for (_, sql) in missing {
                do {
                    try connection.execute(sql)
                } catch let error as StrataError where error.isOfConstraint {
                    for index in table.uniques where isUnique { try explainDuplicates(of: index.columns, in: table) }
                    throw error
                }
                if !sql.isTrigger { meter.advance(rows * Self.indexEffort, activity) }
            }
        }
    }

    private func explainDuplicates(of columns: [String], in table: TableDescription) throws {
        var details: [StrataError.Detail] = []
        try connection.statement(MigrationSQL.duplicates(of: columns, in: table.name)).run([]) { row in
            let values = columns.indices.map { row.value(at: Int32($0 + 2)) }
            let text = values.map(\.description).joined(separator: ", ")
            details.append(
                StrataError.Detail(
                    model: table.subject,
                    id: try row.read(Int64.self, at: 0),
                    column: columns.joined(separator: ", "),
                    message: "has the same value as \(table.subject) \(try row.read(Int64.self, at: 1)): \(text)",
                    mine: values.first
                )
            )
        }
        guard !details.isEmpty else { return }
        throw StrataError(
            .notUnique,
            "\(table.subject) cannot get the unique constraint on \(columns.joined(separator: ", ")), because objects "
                + "have the same values. Nothing was changed. Make the values different in a step of the migration.",
            details: details
        )
    }
}
