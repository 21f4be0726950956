import Foundation

extension Row {
    /// A store that exists, opened until it can be worked with; closing it is not timed.
    ///
    /// Equal: pragmas, and a check of the schema, statement by statement, for as many tables: one per model of the
    /// Strata side and three of the framework's own. Strata also opens a connection for readers and reserves a range
    /// of ids in a transaction of its own; `reserving` makes the reference do the latter too, without a target.
    static func open(_ sizes: Sizes, reserving: Bool) -> Row {
        Row(
            work: reserving ? .openReserving : .open,
            name: reserving ? "open a store (reference reserves ids as well)" : "open a store",
            unit: .microseconds,
            target: reserving ? nil : 1.5,
            operations: sizes.openings
        ) { round in
            do { try Database(round.file).execute(tables.values.joined(separator: ";")) }
            var check = Checksum()
            var seconds = 0.0
            for _ in 0..<round.sizes.openings {
                let watch = Stopwatch()
                let database = try Database(round.file)
                let schema = try database.prepare("SELECT name, sql FROM sqlite_schema WHERE type='table'")
                var found = 0
                while try schema.step() {
                    guard tables[schema.text(0)] == schema.text(1) else { throw BenchError("another schema") }
                    found += 1
                }
                guard found == tables.count else { throw BenchError("\(found) tables of \(tables.count)") }
                if reserving {
                    try database.execute("PRAGMA synchronous=FULL")
                    try database.transaction {
                        try database.execute("INSERT OR IGNORE INTO counter VALUES (1, 0)")
                        try database.execute("UPDATE counter SET next = next + 65536 WHERE id = 1")
                    }
                    try database.execute("PRAGMA synchronous=NORMAL")
                }
                seconds += watch.seconds
                check.add(number: 1)
            }
            return Sample(cost: seconds, check: check)
        }
    }

    private static let tables: [String: String] = {
        let columns = "a INTEGER NOT NULL, b INTEGER NOT NULL, c REAL NOT NULL, d TEXT NOT NULL, e TEXT NOT NULL"
        let models = ["entry", "parent", "child", "author", "path", "revision", "change"]
        var tables = Dictionary(
            uniqueKeysWithValues: models.map { ($0, "CREATE TABLE \($0) (id INTEGER PRIMARY KEY, \(columns))") }
        )
        tables["counter"] = "CREATE TABLE counter (id INTEGER PRIMARY KEY, next INTEGER NOT NULL)"
        tables["history"] = "CREATE TABLE history (id INTEGER PRIMARY KEY, author TEXT, time REAL, changes BLOB)"
        tables["schema"] = "CREATE TABLE schema (name TEXT PRIMARY KEY, digest TEXT NOT NULL)"
        return tables
    }()
}
