import Foundation

extension Row {
    /// Inserts texts and the words in them, in one transaction.
    ///
    /// Equal: a table with a table of FTS5 over it that triggers keep up.
    static func searchInsert(_ sizes: Sizes) -> Row {
        Row(
            work: .searchInsert,
            name: "insert \(sizes.inserted) searchable texts",
            unit: .milliseconds,
            target: 1.2
        ) { round in
            let database = try DocumentTable.make(round)
            let watch = Stopwatch()
            try DocumentTable.fill(database, round.values.entries.prefix(round.sizes.inserted))
            return Sample(cost: watch.seconds, check: try DocumentTable.search(database, round).check)
        }
    }

    /// The best twenty of the texts with some words, as objects or structs.
    static func search(_ sizes: Sizes) -> Row {
        Row(
            work: .search,
            name: "the best 20 of \(sizes.stored) texts, by \(sizes.searches) searches",
            unit: .milliseconds,
            target: 1.2
        ) { round in
            let database = try DocumentTable.make(round)
            try DocumentTable.fill(database, round.values.entries.prefix(round.sizes.stored))
            return try DocumentTable.search(database, round)
        }
    }
}

/// Two texts of an entry, found by their words.
enum DocumentTable {
    static func make(_ round: Round) throws -> Database {
        let database = try Database(round.file)
        try database.execute(
            """
            CREATE TABLE document (id INTEGER PRIMARY KEY, title TEXT NOT NULL, note TEXT NOT NULL, serial INTEGER NOT NULL);
            CREATE VIRTUAL TABLE words USING fts5(note, title, content='document', content_rowid='id',
                tokenize='unicode61 remove_diacritics 2');
            CREATE TRIGGER words_insert AFTER INSERT ON document BEGIN
                INSERT INTO words (rowid, note, title) VALUES (new.id, new.note, new.title); END;
            """
        )
        return database
    }

    static func fill(_ database: Database, _ entries: ArraySlice<EntryValues>) throws {
        try database.transaction {
            let statement = try database.prepare("INSERT INTO document VALUES (?,?,?,?)")
            for var entry in entries {
                statement.bind(entry.id, at: 1)
                statement.bind(entry.serial, at: 4)
                try entry.title.withUTF8 { title in
                    statement.bind(title, at: 2)
                    try entry.note.withUTF8 { note in
                        statement.bind(note, at: 3)
                        try statement.run()
                    }
                }
            }
        }
    }

    /// The words of each search: one that every text has, and one that few have.
    static func words(_ number: Int, _ round: Round) -> String {
        "note \(round.values.entries[number * 7 % round.sizes.chosen].quantity)"
    }

    static func search(_ database: Database, _ round: Round) throws -> Sample {
        var check = Checksum()
        let watch = Stopwatch()
        try database.transaction("BEGIN") {
            let statement = try database.prepare(
                """
                SELECT d.id, d.title, d.note, d.serial FROM
                    (SELECT rowid AS id, bm25(words, 1, 4) AS score FROM words WHERE words MATCH ? ORDER BY score, id LIMIT 20)
                    AS best
                CROSS JOIN document AS d ON d.id = best.id ORDER BY best.score, d.id
                """
            )
            for number in 0..<round.sizes.searches {
                var pattern = words(number, round).split(separator: " ").map { "\"\($0)\"" }.joined(separator: " ")
                try pattern.withUTF8 {
                    statement.bind($0, at: 1)
                    while try statement.step() {
                        check.add(hash(statement.integer(3), statement.text(1), statement.text(2)))
                    }
                }
            }
        }
        return Sample(cost: watch.seconds, check: check)
    }

    static func hash(_ serial: Int, _ title: String, _ note: String) -> RowHash {
        var hash = RowHash()
        hash.add(serial)
        hash.add(title)
        hash.add(note)
        return hash
    }
}
