import Foundation

extension Row {
    /// A git history brought into four tables that refer to each other: authors, paths, commits, changes.
    ///
    /// Equal: the parsed records, the order, a transaction per ``GitHistory/batch`` commits, and that authors and
    /// paths are recognised through a dictionary of the importer. Unique columns and indexes are the same.
    static func gitImport(_ sizes: Sizes) -> Row {
        Row(
            work: .gitImport,
            name: "import \(sizes.gitCommits) git commits with \(sizes.gitChanges) changes",
            unit: .milliseconds,
            target: 1.5
        ) { round in
            let database = try Database(round.file)
            try database.execute(schema)
            let watch = Stopwatch()
            try importHistory(round.values.history, into: database)
            return Sample(cost: watch.seconds, check: try check(database))
        }
    }

    private static let schema = """
        CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL UNIQUE);
        CREATE TABLE path (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
        CREATE TABLE revision (
            id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, time INTEGER NOT NULL, message TEXT NOT NULL,
            author INTEGER NOT NULL
        );
        CREATE TABLE change (
            id INTEGER PRIMARY KEY, added INTEGER NOT NULL, removed INTEGER NOT NULL, revision INTEGER NOT NULL,
            path INTEGER NOT NULL
        );
        CREATE INDEX revision_author ON revision(author);
        CREATE INDEX change_revision ON change(revision);
        CREATE INDEX change_path ON change(path);
        """

    private static func importHistory(_ history: GitHistory, into database: Database) throws {
        let author = try database.prepare("INSERT INTO author VALUES (?,?,?)")
        let path = try database.prepare("INSERT INTO path VALUES (?,?)")
        let revision = try database.prepare("INSERT INTO revision VALUES (?,?,?,?,?)")
        let change = try database.prepare("INSERT INTO change VALUES (?,?,?,?,?)")
        var authors: [String: Int] = [:]
        var paths: [String: Int] = [:]
        var revisions = 0
        var changes = 0
        for start in stride(from: 0, to: history.commits.count, by: GitHistory.batch) {
            try database.transaction {
                for commit in history.commits[start..<min(start + GitHistory.batch, history.commits.count)] {
                    let writer: Int
                    if let known = authors[commit.email] {
                        writer = known
                    } else {
                        writer = authors.count + 1
                        authors[commit.email] = writer
                        author.bind(writer, at: 1)
                        try run(author, commit.author, at: 2, commit.email, at: 3)
                    }
                    revisions += 1
                    revision.bind(revisions, at: 1)
                    revision.bind(commit.time, at: 3)
                    revision.bind(writer, at: 5)
                    try run(revision, commit.hash, at: 2, commit.message, at: 4)
                    for record in commit.changes {
                        let place: Int
                        if let known = paths[record.path] {
                            place = known
                        } else {
                            place = paths.count + 1
                            paths[record.path] = place
                            path.bind(place, at: 1)
                            try record.path.withBytes { name in
                                path.bind(name, at: 2)
                                try path.run()
                            }
                        }
                        changes += 1
                        change.bind(changes, at: 1)
                        change.bind(record.added, at: 2)
                        change.bind(record.removed, at: 3)
                        change.bind(revisions, at: 4)
                        change.bind(place, at: 5)
                        try change.run()
                    }
                }
            }
        }
    }

    private static func run(
        _ statement: borrowing Statement,
        _ first: String,
        at one: Int32,
        _ second: String,
        at two: Int32
    ) throws {
        var first = first
        var second = second
        try first.withUTF8 { first in
            statement.bind(first, at: one)
            try second.withUTF8 { second in
                statement.bind(second, at: two)
                try statement.run()
            }
        }
    }

    private static func check(_ database: Database) throws -> Checksum {
        let statement = try database.prepare(
            """
            SELECT r.hash, a.email, r.time, r.message, p.name, c.added, c.removed
            FROM change c JOIN revision r ON r.id = c.revision JOIN author a ON a.id = r.author
            JOIN path p ON p.id = c.path
            """
        )
        var check = Checksum()
        while try statement.step() {
            check.add(
                RowHash(
                    commit: statement.text(0),
                    email: statement.text(1),
                    time: statement.integer(2),
                    message: statement.text(3),
                    path: statement.text(4),
                    added: statement.integer(5),
                    removed: statement.integer(6)
                )
            )
        }
        return check
    }
}
