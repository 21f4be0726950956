import Foundation

extension Row {
    /// A store of an earlier version: one column is new and has a default, the type of another has changed, so that every
    /// row is written anew; an index is made again.
    ///
    /// Equal: the statements that SQLite's documentation recommends, by hand: a new table, `INSERT … SELECT` with a cast,
    /// the old table dropped, the new one renamed, the index made; one transaction. Strata also looks whether a cast loses
    /// anything, records the new schema, and opens and closes the store. No side makes a backup.
    static func migration(_ sizes: Sizes) -> Row {
        Row(
            work: .migration,
            name: "migrate a table: add a column, change a type",
            unit: .milliseconds,
            target: 1.5
        ) { round in
            let database = try Database(round.file)
            try database.execute(
                "CREATE TABLE reading (id INTEGER PRIMARY KEY, sensor TEXT NOT NULL, value INTEGER NOT NULL, note TEXT, "
                    + "_version INTEGER NOT NULL DEFAULT 0)"
            )
            try database.execute("INSERT INTO reading \(readings(round.sizes.migrated))")
            try database.execute("CREATE INDEX reading_sensor ON reading (sensor)")
            try database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            let watch = Stopwatch()
            try database.transaction {
                try database.execute(
                    "CREATE TABLE other (id INTEGER PRIMARY KEY, sensor TEXT NOT NULL, value REAL NOT NULL, note TEXT, "
                        + "unit TEXT NOT NULL, _version INTEGER NOT NULL DEFAULT 0)"
                )
                try database.execute(
                    "INSERT INTO other SELECT id, sensor, CAST(value AS REAL), note, 'metre', _version FROM reading"
                )
                try database.execute("DROP TABLE reading")
                try database.execute("ALTER TABLE other RENAME TO reading")
                try database.execute("CREATE INDEX reading_sensor ON reading (sensor)")
            }
            let seconds = watch.seconds
            return Sample(cost: seconds, check: try migrationCheck(database, "reading"))
        }
    }

    /// Rows of readings: id, sensor, value, note, version.
    static func readings(_ count: Int) -> String {
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count)) "
            + "SELECT i, 'sensor ' || (i * 7919 % 1000), i * 31 % 100003, iif(i % 3, 'note ' || i, NULL), 0 FROM n"
    }

    /// What the migrated table holds.
    static func migrationCheck(_ database: Database, _ table: String) throws -> Checksum {
        let statement = try database.prepare(
            "SELECT count(*), sum(id), CAST(sum(value) AS INTEGER), count(note), "
                + "sum(unit = 'metre' AND typeof(value) = 'real') FROM \(table)"
        )
        var check = Checksum()
        guard try statement.step() else { throw BenchError("nothing was counted") }
        for column in 0..<5 { check.add(number: statement.integer(Int32(column))) }
        return check
    }
}
