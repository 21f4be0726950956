extension MigrationRun {
    /// Turns all tables into those of the models, except for their indexes.
    func changeTables() throws {
        let changes = pending.changes
        let rebuilt = changes.changed.filter(\.isRebuilt)
        let hasExternals = SchemaSQL.statements(for: pending.new).contains { $0.name == ExternalSQL.table.name }
        if hasExternals, try !connection.schemaEntries().contains(where: { $0.name == ExternalSQL.table.name }) {
            try connection.execute(ExternalSQL.table.sql)
        }
        for table in changes.changed.filter({ !$0.keepsSearch }).map(\.old) + changes.dropped { try dropSearch(table) }
        for (index, change) in rebuilt.enumerated() { try copy(change, to: copyName(index)) }
        for change in rebuilt { try dropOutside(change) }
        for table in changes.dropped { try drop(table) }
        try rename(changes.changed.filter { $0.old.name != $0.new.name })
        try replace(rebuilt)
        for change in changes.changed where !change.isRebuilt && !change.isEmpty { try alter(change) }
        for table in changes.created {
            meter.begin("Making \(table.subject)")
            try connection.execute(SchemaSQL.createTable(table, named: table.name))
        }
        let kept = Set(changes.changed.filter(\.keepsSearch).map(\.new.name))
        for table in pending.new.tables where !kept.contains(table.name) { try makeSearch(table) }
    }

    /// Drops a table's search index and its triggers, which would refer to tables and columns that no longer exist.
    private func dropSearch(_ table: TableDescription) throws {
        guard let search = table.search else { return }
        for trigger in SearchSQL.triggers(search, of: table.name) {
            try connection.execute(MigrationSQL.dropTrigger(trigger.name))
        }
        try connection.execute(MigrationSQL.dropTable(SearchSQL.table(of: table.name)))
    }

    private func makeSearch(_ table: TableDescription) throws {
        guard let statement = SchemaSQL.searchTable(of: table) else { return }
        let activity = "Building the search index of \(table.subject)"
        meter.begin(activity)
        try connection.execute(statement.sql)
        try connection.execute(SearchSQL.rebuild(table.name))
        if meter.isUsed {
            let rows = Double(try connection.integer(MigrationSQL.count(table.name)) ?? 0)
            meter.advance(rows * Self.searchEffort, activity)
        }
    }

    private func copyName(_ index: Int) -> String { "strata_new_\(index)" }

    private func copy(_ change: TableChange, to name: String) throws {
        let activity = "Copying \(change.new.subject)"
        meter.begin(activity)
        let (old, new) = (change.old.name, change.new)
        try checkFillings(change)
        for column in change.columns {
            if let loses = column.loses, let origin = column.old {
                let value = MigrationSQL.copied(origin.name, from: old)
                try refuse(
                    MigrationSQL.rows(value, of: old, where: loses),
                    new,
                    column,
                    "cannot be converted to \(column.new.type.rawValue) without a loss"
                )
            }
        }
        try connection.execute(SchemaSQL.createTable(new, named: name))
        let made = try MadeValues(on: connection)
        defer { made.end() }
        let columns = try change.columns.map { (name: $0.new.name, expression: try expression($0, change, made)) }
        let sql = MigrationSQL.copy(columns, from: old, to: name, limit: change.isFilled ? nil : Self.rowsAtOnce)
        var last = Int64.min
        var copied = 0
        while true {
            try cancellation.check()
            do {
                try connection.execute(sql, change.isFilled ? [] : [.integer(last)])
            } catch let error as StrataError where error.isOfConstraint {
                try explain(change, columns)
                throw error
            }
            let count = connection.changes
            copied += count
            meter.advance(Double(count), activity)
            guard !change.isFilled, count > 0, let next = try connection.integer(MigrationSQL.lastID(name)) else {
                break
            }
            last = next
        }
        try check(copied, of: change)
        for column in change.columns { try check(column, in: name, new) }
    }

    /// The SQL expression over the old row that gives a new column's value.
    private func expression(_ change: ColumnChange, _ table: TableChange, _ made: MadeValues) throws -> String {
        switch change.source {
        case .same(let name): return MigrationSQL.copied(name, from: table.old.name)
        case .value(let value): return SQLText.literal(value)
        case .expression(let expression): return MigrationSQL.enclosed(expression)
        case .made(let make, let column):
            let value = made.expression(make)
            if change.new.content == .external { return try keepOutside(value, unless: column, of: table.old.name) }
            guard let column else { return value }
            return MigrationSQL.filled(MigrationSQL.copied(column, from: table.old.name), or: value)
        case .outside(let expression, let number):
            try refuse(
                MigrationSQL.rows(
                    filling: expression,
                    of: table.old.name,
                    where: MigrationSQL.isOther(MigrationSQL.value, than: "blob")
                ),
                table.new,
                change,
                Self.isOtherType
            )
            return try keepOutside(expression, unless: number, of: table.old.name)
        }
    }

    /// Moves bytes to external storage, except for rows in which `column` already has external bytes.
    ///
    /// Returns the expression for the new rows.
    private func keepOutside(_ content: String, unless column: String?, of table: String) throws -> String {
        let kept = column.map { MigrationSQL.copied($0, from: table) }
        let base = try externalBase(table)
        try connection.execute(MigrationSQL.keepOutside(content, of: table, unless: kept, base: base))
        let number = MigrationSQL.outsideNumber(of: table, base: base)
        return kept.map { MigrationSQL.filled($0, or: number) } ?? number
    }

    /// A number so that this number plus the id of any row of a table is the number of no external bytes.
    private func externalBase(_ table: String) throws -> Int64 {
        if let ids = connection.homeIDs {
            return try ids.reserve(max(try connection.integer(MigrationSQL.lastID(table)) ?? 1, 1)) - 1
        }
        return max(
            try connection.integer(MigrationSQL.lastExternal) ?? 0,
            try connection.integer(MigrationSQL.lastExternalEver) ?? 0
        )
    }

    /// Deletes external bytes that no row of the new table refers to.
    private func dropOutside(_ change: TableChange) throws {
        let gone = change.dropped.filter { $0.content == .external }.map(\.name)
        let inside = change.columns.compactMap { $0.bringsInside ? $0.old?.name : nil }
        for column in gone + inside { try connection.execute(MigrationSQL.dropOutside(column, of: change.old.name)) }
    }

    private func drop(_ table: TableDescription) throws {
        meter.begin("Dropping \(table.subject)")
        for column in table.columns where column.content == .external {
            try connection.execute(MigrationSQL.dropOutside(column.name, of: table.name))
        }
        var others: [String] = []
        try connection.statement(MigrationSQL.referringTables).run([.text(table.name)]) {
            others.append($0.string(at: 0))
        }
        guard others.isEmpty else {
            throw StrataError(
                .schemaMismatch,
                "\(table.subject) cannot be dropped, and nothing was changed: foreign keys of "
                    + "\(others.joined(separator: ", ")) refer to its table."
            )
        }
        try connection.execute(MigrationSQL.dropTable(table.name))
    }

    /// Renames through temporary names, so that two tables can swap names.
    private func rename(_ changes: [TableChange]) throws {
        for (index, change) in changes.enumerated() {
            try connection.execute(MigrationSQL.renameTable(change.old.name, to: "strata_renamed_\(index)"))
        }
        for (index, change) in changes.enumerated() {
            try connection.execute(MigrationSQL.renameTable("strata_renamed_\(index)", to: change.new.name))
        }
    }

    private func replace(_ rebuilt: [TableChange]) throws {
        // With `legacy_alter_table`, SQLite accepts views of the application whose table is missing for a moment.
        // Rewriting references is not needed, because nothing refers to the copies by name.
        let legacy = try connection.integer("PRAGMA legacy_alter_table") ?? 0
        try connection.execute(MigrationSQL.setLegacyAlterTable(true))
        defer { try? connection.execute(MigrationSQL.setLegacyAlterTable(legacy != 0)) }
        for (index, change) in rebuilt.enumerated() {
            try connection.execute(MigrationSQL.dropTable(change.new.name))
            try connection.execute(MigrationSQL.renameTable(copyName(index), to: change.new.name))
        }
    }

    private func alter(_ change: TableChange) throws {
        let table = change.new.name
        for column in change.columns {
            if let old = column.old, column.isRenamed {
                try connection.execute(MigrationSQL.renameColumn(old.name, to: column.new.name, in: table))
            }
        }
        for column in change.columns {
            if case .value(let value) = column.source {
                try connection.execute(MigrationSQL.addColumn(column.new, SQLText.literal(value), to: table))
            }
        }
    }
}
