/// Statistics about the values in indexes, by which SQLite chooses among the indexes of a query.
///
/// `PRAGMA optimize` measures the tables that a connection has read. Strata's readers cannot write, so their queries
/// would never lead to a measurement. `PRAGMA optimize` also measures small tables. With the statistics of a table that
/// was small once, SQLite would read a table that has grown since from end to end. So Strata measures large tables
/// only. Queues are left out: they are often empty when a stack closes, and their statements name their indexes.
///
/// Each index is measured by a sample, so the time does not grow with the tables.
extension Store {
    /// The number of rows from which a table is measured.
    static let measuredRowCount: Int64 = 5000
    /// The number of rows of each index that SQLite reads. See
    /// https://www.sqlite.org/pragma.html#pragma_analysis_limit
    private static let analysisLimit = 400
    /// Closing does not count the rows of tables that had more rows when they were measured. Otherwise it would read
    /// millions of rows.
    private static let countedRowCount: Int64 = 20_000

    /// Measures all large tables.
    func optimize() throws {
        try checkWritable()
        try write { [self] connection in
            let large = try measuredTables().filter { try isLarge($0, connection) }
            try analyze(large, connection)
            return []
        }
    }

    /// Measures the large tables without statistics, and those that have grown tenfold. Does nothing if another process
    /// is writing.
    func optimizeBeforeClosing() {
        guard isOwnedForWriting else { return }
        // The next closing tries again.
        try? maintain { connection, _ in
            // These statements belong to no caller.
            connection.stopTracing()
            let measured = try measuredRowCounts(connection)
            let due = try measuredTables().filter { try isDue($0, measured, connection) }
            guard !due.isEmpty else { return }
            try Checkpoints.$isBrief.withValue(true) {
                try connection.statement(.beginWriting).runBound()
                do {
                    try analyze(due, connection)
                    try connection.statement(.commit).runBound()
                } catch {
                    try? connection.execute("ROLLBACK")
                    throw error
                }
            }
        }
    }

    private func analyze(_ tables: [String], _ connection: Connection) throws {
        guard !tables.isEmpty else { return }
        let limit = try connection.integer("PRAGMA analysis_limit") ?? 0
        try connection.execute("PRAGMA analysis_limit = \(Self.analysisLimit)")
        // The connection may be the caller's.
        defer { try? connection.execute("PRAGMA analysis_limit = \(limit)") }
        for table in tables { try connection.execute("ANALYZE main.\(table.quotedIdentifier)") }
    }

    /// The tables that are measured as soon as they are large: those with an index of all rows, and no queues.
    private func measuredTables() -> [String] {
        let queues = Set(schema.commitHooks.map { $0.entity })
        return schema.entities.map(\.info).filter { info in
            !queues.contains(info.index) && (info.uniqueIndexes + info.indexes).contains { $0.present == nil }
        }.map(\.table)
    }

    private func isLarge(_ table: String, _ connection: Connection) throws -> Bool {
        try hasRows(Self.measuredRowCount, in: table, connection)
    }

    private func isDue(_ table: String, _ measured: [UTF8Text: Int64], _ connection: Connection) throws -> Bool {
        guard let known = measured[UTF8Text(table)] else { return try isLarge(table, connection) }
        return try known < Self.countedRowCount && hasRows(max(known, 1) * 10, in: table, connection)
    }

    /// Whether a table has at least this number of rows.
    ///
    /// The rows have distinct ids, so their number is limited by the first and the last id. If the ids do not exclude
    /// that many rows, the rows are counted.
    ///
    /// Complexity: O(1) if the ids exclude it, otherwise O(count).
    private func hasRows(_ count: Int64, in table: String, _ connection: Connection) throws -> Bool {
        let name = "main.\(table.quotedIdentifier)"
        let sql = """
            SELECT CASE WHEN (SELECT max("id") FROM \(name)) - (SELECT min("id") FROM \(name)) >= ?1 \
            THEN (SELECT 1 FROM \(name) LIMIT 1 OFFSET ?1) END
            """
        return try connection.integer(sql, [.integer(count - 1)]) != nil
    }

    /// The number of rows that each measured table had when it was measured.
    private func measuredRowCounts(_ connection: Connection) throws -> [UTF8Text: Int64] {
        var counts: [UTF8Text: Int64] = [:]
        guard try connection.integer("SELECT 1 FROM main.sqlite_schema WHERE \"name\" = 'sqlite_stat1'") != nil else {
            return counts
        }
        try connection.statement("SELECT \"tbl\", \"stat\" FROM main.sqlite_stat1").run([]) { row in
            // The first number is the number of rows in the index.
            guard let count = row.string(at: 1).split(atBytes: " ").first.flatMap({ Int64($0) }) else { return }
            // A partial index contains fewer rows than the table.
            let table = UTF8Text(row.string(at: 0))
            counts[table] = max(counts[table] ?? 0, count)
        }
        return counts
    }
}
