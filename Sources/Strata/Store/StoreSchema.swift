import Foundation

/// Compares the tables of a store with the models, and creates the tables of a new store.
enum StoreSchema {
    /// The work that a database needs before it is a store of the models.
    enum Condition {
        /// No work.
        case ready
        /// All tables must be created.
        case empty
        case outdated(PendingMigration)
    }

    /// Determines the work that a database needs. Reads only.
    ///
    /// For a partial schema, the result is always ``Condition/ready``, because such a stack neither creates nor
    /// migrates tables.
    ///
    /// - Throws: ``StrataError`` with `schemaMismatch` if names are taken or the store was changed by hand,
    ///   `newerStore`, or `damagedStore`. Obstacles to a migration are part of the result instead. With a partial
    ///   schema, also `notAStore`, and `schemaMismatch` if the opened models differ.
    static func examine(_ schema: Schema, _ migration: Migration, on connection: Connection) throws -> Condition {
        try migration.check()
        let state = try StoreState(on: connection)
        if schema.isPartial {
            try checkPart(schema, migration, state, on: connection)
            return .ready
        }
        guard state.isStore else {
            try checkNames(schema, state)
            return .empty
        }
        if let record = state.record {
            try check(record, migration)
            // Almost every opening takes this path.
            let isSame =
                record.description == schema.text && record.version == migration.version
                && record.steps.count == migration.steps.count && record.format == StoreFile.formatVersion
            if isSame, isUnchanged(state.entries.own(schema.description), record) { return .ready }
        }
        let old =
            try state.record.map { try SchemaDescription(parsing: $0.description) }
            ?? SchemaDescription(tables: state.entries, on: connection)
        try StoreDifference(state, old, on: connection).check()
        let planner = try MigrationPlanner(from: old, to: schema, migration)
        let seen = Set(state.record?.steps ?? [])
        let pending = PendingMigration(
            format: state.record?.format ?? 1,
            old: old,
            new: schema.description,
            changes: planner.changes,
            steps: migration.steps.filter { !seen.contains($0.name) },
            versions: (stored: state.record?.version ?? 0, new: migration.version),
            isRecorded: state.record.map { $0.description == schema.text && $0.version == migration.version } ?? false
        )
        try pending.checkNames(state)
        return pending.isNothing ? .ready : .outdated(pending)
    }

    static func isUnchanged(_ own: [SchemaEntry], _ record: SchemaRecord) -> Bool {
        own.count == record.layout.count
            && zip(own, record.layout).allSatisfy { $0.name == $1.name && $0.sql == $1.sql }
    }

    /// Throws unless the program knows the store's format, the version of its models, and all of its migration steps.
    static func check(_ record: SchemaRecord, _ migration: Migration) throws {
        try checkFormat(record)
        try checkVersion(record, migration)
    }

    static func checkFormat(_ record: SchemaRecord) throws {
        guard record.format <= StoreFile.formatVersion else {
            throw StrataError(
                .newerStore,
                "The store was written by a newer version of Strata (format \(record.format), this version supports "
                    + "\(StoreFile.formatVersion)), and was left as it is. Use that version."
            )
        }
    }

    static func checkVersion(_ record: SchemaRecord, _ migration: Migration) throws {
        let unknown = record.steps.filter { name in !migration.steps.contains { $0.name == name } }
        guard record.version <= migration.version, unknown.isEmpty else {
            let reason =
                unknown.isEmpty
                ? "its models have version \(record.version), these have \(migration.version)"
                : "it has run the steps \(unknown.map { "'\($0)'" }.joined(separator: ", ")), which this migration "
                    + "does not list"
            throw StrataError(
                .newerStore,
                "The store is newer than this program, and was left as it is: \(reason). Use the newer program, or a backup "
                    + "from before."
            )
        }
    }

    private static func checkNames(_ schema: Schema, _ state: StoreState) throws {
        let wanted = SchemaSQL.ownNames + SchemaSQL.names(for: schema.description)
        let taken = Set(state.entries.map { $0.name.lowercased() })
        guard let name = wanted.first(where: { taken.contains($0.lowercased()) }) else { return }
        throw nameTaken(name)
    }

    static func nameTaken(_ name: String) -> StrataError {
        StrataError(
            .schemaMismatch,
            "The database already has another table or index named '\(name)', and nothing was changed. Choose another "
                + "name: @Model(table: …)."
        )
    }

    /// Creates all tables of a new store. Migration steps apply to older stores only, and are recorded as done.
    static func create(_ schema: Schema, _ migration: Migration, on connection: Connection) throws {
        try createTables(schema, on: connection, fingerprint: StorePlace.newFingerprint())
        try connection.execute(HistorySQL.insertFirst, [.real(Date().timeIntervalSinceReferenceDate)])
        try record(schema.description, migration, steps: migration.steps.map(\.name), on: connection)
    }

    /// Creates all tables, and the row about the store itself.
    static func createTables(_ schema: Schema, on connection: Connection, fingerprint: Int64) throws {
        try createHousekeeping(on: connection, fingerprint: fingerprint)
        for statement in SchemaSQL.statements(for: schema.description) { try connection.execute(statement.sql) }
    }

    /// Creates the tables of a working copy, without their indexes. The columns of each table have the order that the
    /// home gives them.
    ///
    /// - Parameter description: the models of the home.
    static func createTables(
        of home: HomeDescription,
        _ description: SchemaDescription,
        on connection: Connection,
        fingerprint: Int64
    ) throws {
        try createHousekeeping(on: connection, fingerprint: fingerprint)
        if SchemaSQL.hasExternals(description) { try connection.execute(ExternalSQL.table.sql) }
        let known = home.tablesByName
        for table in description.tables {
            let order = known[UTF8Text(table.name)]?.columns.map(\.name) ?? []
            try connection.execute(SchemaSQL.createTable(table, named: table.name, order: order))
        }
    }

    /// Creates the indexes, the triggers and the search index of a table that has its rows already.
    ///
    /// No trigger has effects that are missing afterwards: only those of the search index run when rows are inserted.
    ///
    /// - Throws: an error of a constraint if rows have equal values that must be unique.
    static func createIndexes(of table: TableDescription, on connection: Connection) throws {
        // The table itself comes first.
        for statement in SchemaSQL.statements(for: table).dropFirst() { try connection.execute(statement.sql) }
        guard let search = SchemaSQL.searchTable(of: table) else { return }
        try connection.execute(search.sql)
        try connection.execute(SearchSQL.rebuild(table.name))
    }

    private static func createHousekeeping(on connection: Connection, fingerprint: Int64) throws {
        for table in SchemaSQL.housekeeping { try connection.execute(table.sql) }
        let place = StorePlace.current(of: connection)
        try connection.execute(SchemaSQL.insertStore, [.integer(fingerprint), .text(place)])
    }

    /// Records the current tables and the migration steps that have run.
    static func record(
        _ description: SchemaDescription,
        _ migration: Migration,
        steps: [String],
        on connection: Connection
    ) throws {
        try record(description, version: migration.version, steps: steps, on: connection)
    }

    static func record(
        _ description: SchemaDescription,
        version: Int64,
        steps: [String],
        on connection: Connection
    ) throws {
        try connection.execute(
            SchemaSQL.setRecord,
            [.integer(StoreFile.formatVersion), .integer(version), .text(description.description)]
        )
        let now = Date().timeIntervalSinceReferenceDate
        for step in steps { try connection.execute(SchemaSQL.insertStep, [.text(step), .real(now)]) }
        try connection.execute(SchemaSQL.deleteLayout)
        for entry in try connection.schemaEntries().own(description) {
            try connection.execute(SchemaSQL.insertLayout, [.text(entry.name), .text(entry.sql)])
        }
    }
}
