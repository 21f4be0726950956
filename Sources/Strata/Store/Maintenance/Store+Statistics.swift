import CStrataSQLite

extension Store {
    /// Measures one state of the store.
    ///
    /// - Complexity: reads all pages of the file.
    func statistics(_ cancellation: Cancellation) throws -> StoreStatistics {
        try reading { connection, _ in
            try cancellation.interrupting(connection) { try statistics(of: schema.description, on: connection) }
        }
    }

    /// Measures the tables of a description, in the snapshot of a connection.
    func statistics(of description: SchemaDescription, on connection: Connection) throws -> StoreStatistics {
        let pages = try FilePages(on: connection)
        let sizes = try Self.sizes(on: connection)
        func count(_ sql: String) throws -> Int { Int(try connection.integer(sql) ?? 0) }
        let hasExternals = description.tables.contains { $0.columns.contains { $0.content == .external } }
        return StoreStatistics(
            pageSize: pages.pageSize,
            pageCount: pages.all,
            freePageCount: pages.free,
            compactsInPortions: pages.hasPortions,
            journalSize: journal.size,
            history: StoreStatistics.HistoryStatistics(
                commitCount: try count("SELECT count(*) FROM \"strata_history\" WHERE \"sequence\" > 0"),
                size: try count("SELECT coalesce(sum(length(\"changes\")), 0) FROM \"strata_history\"")
            ),
            externalSize: try hasExternals
                ? count("SELECT coalesce(sum(length(\"content\")), 0) FROM \"strata_data\"") : 0,
            tables: try description.tables.map { table in
                StoreStatistics.TableStatistics(
                    subject: table.subject,
                    name: table.name,
                    rowCount: try count("SELECT count(*) FROM \(table.name.quotedIdentifier)"),
                    size: sizes.map { $0[UTF8Text(table.name)] ?? 0 },
                    indexes: Self.indexes(of: table, sizes)
                )
            }
        )
    }

    private static func indexes(
        of table: TableDescription,
        _ sizes: [UTF8Text: Int]?
    ) -> [StoreStatistics.IndexStatistics] {
        let plain = [(true, table.uniques), (false, table.indexes)].flatMap { isUnique, sets in
            sets.map { index in
                let name = SchemaSQL.index(index, isUnique: isUnique, of: table).name
                return StoreStatistics.IndexStatistics(name: name, size: sizes.map { $0[UTF8Text(name)] ?? 0 })
            }
        }
        guard table.search != nil else { return plain }
        let search = StoreStatistics.IndexStatistics(
            name: SearchSQL.table(of: table.name),
            size: sizes.map { sizes in
                SearchSQL.shadows(of: table.name).reduce(0) { $0 + (sizes[UTF8Text($1)] ?? 0) }
            }
        )
        return plain + [search]
    }

    /// The sizes of all tables and indexes in bytes; nil if SQLite was built without `dbstat`.
    private static func sizes(on connection: Connection) throws -> [UTF8Text: Int]? {
        guard sqlite3_compileoption_used("ENABLE_DBSTAT_VTAB") != 0 else { return nil }
        var sizes: [UTF8Text: Int] = [:]
        do {
            try connection.statement("SELECT \"name\", \"pgsize\" FROM dbstat('main', 1)").run([]) { row in
                sizes[UTF8Text(row.string(at: 0))] = try row.read(Int.self, at: 1)
            }
        } catch let error as StrataError {
            throw error.ofPureReading.naming(connection.path)
        }
        return sizes
    }
}
