/// One table, index, trigger or view, as the database lists it.
struct SchemaEntry: Hashable {
    let name: String
    let sql: String
    /// The table that the entry belongs to. For a table, this is its own name.
    let table: String
    let type: String

    var isTable: Bool { type == "table" }
    /// Whether the entry looks like a table of objects. Used for stores that do not record their tables.
    var isOfModel: Bool { sql.contains("\"_version\" INTEGER") }
    /// Whether the entry belongs to Strata's own tables.
    var isHousekeeping: Bool { table.lowercased().hasBytePrefix("strata_") }
}

/// The schema that a store records about itself.
struct SchemaRecord {
    /// The format of Strata's own tables.
    var format: Int64
    /// The version that the program gave to its models.
    var version: Int64
    /// The text of a ``SchemaDescription``.
    var description: String
    /// The migration steps that have run, in their order.
    var steps: [String]
    /// Name and SQL of every entry that belonged to Strata when the schema was recorded.
    var layout: [(name: String, sql: String)]
}

/// The contents of a database before Strata changes anything.
struct StoreState {
    /// The entries, in the order of their names.
    let entries: [SchemaEntry]
    /// Whether the database is a store.
    let isStore: Bool
    /// Whether the store is the working copy of a store with a home.
    let isWorkingCopy: Bool
    /// The recorded schema; nil for a store of format 1.
    let record: SchemaRecord?

    init(on connection: Connection) throws {
        entries = try connection.schemaEntries()
        let names = Set(entries.map(\.name))
        isStore = names.contains("strata_store")
        isWorkingCopy = names.contains(CopyRecord.tableName)
        let isRecorded = names.contains("strata_schema")
        record = isStore && isRecorded ? try SchemaRecord(on: connection, names) : nil
        guard isStore else { return }
        let format = record?.format ?? 1
        let missing = SchemaSQL.housekeeping.contains { $0.since <= format && !names.contains($0.name) }
        let isTooMuch = SchemaSQL.housekeeping.contains { $0.since > format && names.contains($0.name) }
        if format <= StoreFile.formatVersion, missing || isTooMuch { throw StoreIdentity.damaged }
    }
}

extension [SchemaEntry] {
    /// The entries that belong to Strata if its models have these tables. Indexes and triggers that another program has
    /// added to the tables are included.
    func own(_ description: SchemaDescription) -> [SchemaEntry] {
        let tables = Set(description.tables.map { $0.name.lowercased() })
        return filter { $0.isHousekeeping || tables.contains($0.table.lowercased()) && $0.type != "view" }
    }
}

extension SchemaRecord {
    fileprivate init(on connection: Connection, _ tables: Set<String>) throws {
        var found: SchemaRecord?
        try connection.statement(SchemaSQL.readRecord).run([]) { row in
            found = SchemaRecord(
                format: try row.read(Int64.self, at: 0),
                version: try row.read(Int64.self, at: 1),
                description: row.string(at: 2),
                steps: [],
                layout: []
            )
        }
        guard var found else { throw StoreIdentity.damaged }
        // A newer version may record other data here. If a table is missing, the store is refused later.
        let isKnown = found.format <= StoreFile.formatVersion
        if isKnown, tables.contains("strata_steps") {
            try connection.statement(SchemaSQL.readSteps).run([]) { found.steps.append($0.string(at: 0)) }
        }
        if isKnown, tables.contains("strata_layout") {
            try connection.statement(SchemaSQL.readLayout).run([]) { row in
                found.layout.append((row.string(at: 0), row.string(at: 1)))
            }
        }
        self = found
    }
}

extension Connection {
    /// All entries of the database, in the order of their names.
    func schemaEntries() throws -> [SchemaEntry] {
        var entries: [SchemaEntry] = []
        try statement(SchemaSQL.readSchema).run([]) { row in
            entries.append(
                SchemaEntry(
                    name: row.string(at: 0),
                    sql: row.string(at: 1),
                    table: row.string(at: 2),
                    type: row.string(at: 3)
                )
            )
        }
        return entries
    }

    /// The actual columns of a table in the database.
    func tableColumns(of table: String) throws -> [(name: String, type: String, isOptional: Bool)] {
        var columns: [(name: String, type: String, isOptional: Bool)] = []
        try statement(MigrationSQL.tableColumns).run([.text(table)]) { row in
            columns.append((row.string(at: 0), row.string(at: 1), row.value(at: 2) == .integer(0)))
        }
        return columns
    }
}
