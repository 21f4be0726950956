import Foundation
import GRDBSQLite

/// A durable queue by bare SQL: the columns and indexes that Strata's operations have, and the statements that do the least for
/// the same guarantees: what is claimed and what is done is in the file before the next one begins.
enum JobTable {
    static let schema = """
        CREATE TABLE job (id INTEGER PRIMARY KEY, pipeline TEXT NOT NULL, type TEXT NOT NULL, payload BLOB NOT NULL, \
        payloadVersion INTEGER NOT NULL, lane TEXT NOT NULL, sortKey REAL NOT NULL, priority INTEGER NOT NULL, key TEXT, \
        request INTEGER, problem TEXT, edits INTEGER NOT NULL, enqueuedAt REAL, rank INTEGER NOT NULL, "commit" INTEGER NOT NULL, \
        status INTEGER NOT NULL, attempts INTEGER NOT NULL, crashes INTEGER NOT NULL, failures TEXT NOT NULL, "constraint" TEXT, \
        worker INTEGER, epoch INTEGER NOT NULL, startedAt REAL, progress REAL, version INTEGER NOT NULL);
        CREATE UNIQUE INDEX job_key ON job (pipeline, key) WHERE key IS NOT NULL;
        CREATE INDEX job_lane ON job (pipeline, lane, sortKey, "commit");
        CREATE INDEX job_status ON job (status, pipeline, rank, "commit");
        CREATE TABLE done (id INTEGER PRIMARY KEY, pipeline TEXT NOT NULL, type TEXT NOT NULL, payload BLOB NOT NULL, \
        payloadVersion INTEGER NOT NULL, lane TEXT NOT NULL, key TEXT, "commit" INTEGER NOT NULL, enqueuedAt REAL, \
        result TEXT NOT NULL, finishedAt REAL NOT NULL, attempts INTEGER NOT NULL, failures TEXT NOT NULL, version INTEGER NOT NULL);
        CREATE INDEX done_finishedAt ON done (finishedAt);
        CREATE TABLE dependency (id INTEGER PRIMARY KEY, dependant INTEGER NOT NULL, prerequisite INTEGER NOT NULL, \
        whenFailed TEXT NOT NULL, version INTEGER NOT NULL);
        CREATE INDEX dependency_dependant ON dependency (dependant);
        CREATE INDEX dependency_prerequisite ON dependency (prerequisite)
        """
    private static let insert = """
        INSERT INTO job VALUES (?1, 'work', 'Job', ?2, 1, '', 0, 0, NULL, NULL, NULL, 0, ?3, -1, ?4, 0, 0, 0, '[]', NULL, NULL, 0, NULL, \
        NULL, ?4)
        """
    private static let next = """
        SELECT id FROM job WHERE status = 0 AND pipeline = 'work' ORDER BY rank, "commit", id LIMIT ?
        """
    private static let read = "SELECT payload FROM job WHERE id = ?"
    private static let claim = """
        UPDATE job SET status = 3, worker = 1, epoch = epoch + 1, attempts = attempts + 1, startedAt = ?2, version = ?3 WHERE id = ?1
        """
    private static let archive = """
        INSERT INTO done SELECT id, pipeline, type, payload, payloadVersion, lane, key, "commit", enqueuedAt, 'completed', ?2, \
        attempts, failures, ?3 FROM job WHERE id = ?1
        """
    private static let tallies = """
        CREATE TABLE tally (id INTEGER PRIMARY KEY, number INTEGER NOT NULL, count INTEGER NOT NULL, version INTEGER NOT NULL);
        CREATE UNIQUE INDEX tally_number ON tally (number);
        WITH RECURSIVE n(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < \(tallyCount - 1)) \
        INSERT INTO tally SELECT n + 1, n, 0, 0 FROM n
        """
    private static let readTally = "SELECT id, count FROM tally WHERE number = ?"
    private static let setTally = "UPDATE tally SET count = ?2, version = ?3 WHERE id = ?1"
    /// How many rows jobs count in.
    static let tallyCount = 100
    private static let delete = "DELETE FROM job WHERE id = ?"
    private static let claimRange = claim.replacing("id = ?1", with: "id BETWEEN ?1 AND ?4")
    private static let archiveRange = archive.replacing("id = ?1", with: "id BETWEEN ?1 AND ?4")
    private static let deleteRange = "DELETE FROM job WHERE id BETWEEN ? AND ?"

    static let failAll = "UPDATE job SET status = 4, attempts = 10"
    static let retryAll = """
        UPDATE job SET status = 0, worker = NULL, attempts = 0, crashes = 0, "constraint" = NULL, request = NULL, version = 2 \
        WHERE status = 4 AND pipeline = 'work'
        """

    private static let depend = "INSERT INTO dependency VALUES (NULL, ?, ?, 'wait', 1)"
    private static let wait = "UPDATE job SET status = 1 WHERE id IN (SELECT dependant FROM dependency)"
    private static let dependants = "SELECT dependant FROM dependency WHERE prerequisite = ?"
    private static let release = "DELETE FROM dependency WHERE prerequisite = ?"
    private static let letGo = """
        UPDATE job SET status = 0, version = ?2 \
        WHERE id = ?1 AND status = 1 AND NOT EXISTS (SELECT 1 FROM dependency WHERE dependant = ?1)
        """

    static func make(_ round: Round, _ synchronous: Synchronous) throws -> Database {
        let database = try Database(round.file, synchronous)
        try database.execute(schema)
        return database
    }

    private static let history = """
        CREATE TABLE history (sequence INTEGER PRIMARY KEY, time REAL NOT NULL, author TEXT, total INTEGER NOT NULL, changes BLOB);
        INSERT INTO history VALUES (0, 0, NULL, 0, NULL)
        """
    private static let newest = "SELECT sequence, total FROM history ORDER BY sequence DESC LIMIT 1"
    private static let note = "INSERT INTO history VALUES (?, ?, NULL, ?, ?)"

    /// Inserts jobs, so many in a transaction, each of which has an entry in a history of commits that says what it has inserted.
    static func enqueueNoting(_ count: Int, perCommit: Int, _ database: Database) throws {
        try database.execute(history)
        let newest = try database.prepare(newest)
        let note = try database.prepare(note)
        try enqueue(count, perCommit: perCommit, database) { numbers in
            guard try newest.step() else { throw BenchError("no history") }
            let (sequence, total) = (newest.integer(0), newest.integer(1))
            newest.reset()
            var changes = "QueuedOperation+\(numbers.lowerBound)-\(numbers.upperBound)"
            note.bind(sequence + 1, at: 1)
            note.bind(Date().timeIntervalSinceReferenceDate, at: 2)
            note.bind(total + changes.utf8.count, at: 3)
            try changes.withUTF8 { bytes in
                sqlite3_bind_blob(note.pointer, 4, bytes.baseAddress, Int32(bytes.count), nil)
                try note.run()
            }
        }
    }

    /// Inserts jobs, so many in a transaction.
    ///
    /// - Parameter noting: what else is to be done in each transaction, by the numbers of its jobs.
    static func enqueue(
        _ count: Int,
        perCommit: Int,
        _ database: Database,
        noting: (ClosedRange<Int>) throws -> Void = { _ in }
    ) throws {
        let statement = try database.prepare(insert)
        var number = 0
        while number < count {
            let first = number + 1
            try database.transaction {
                for _ in 0..<min(perCommit, count - number) {
                    number += 1
                    var text = "{\"number\":\(number)}"
                    statement.bind(number, at: 1)
                    statement.bind(Date().timeIntervalSinceReferenceDate, at: 3)
                    statement.bind(number, at: 4)
                    try text.withUTF8 { bytes in
                        sqlite3_bind_blob(statement.pointer, 2, bytes.baseAddress, Int32(bytes.count), nil)
                        try statement.run()
                    }
                }
                try noting(first...number)
            }
        }
    }

    /// Gives each job a savepoint, and an entry in a history for its change and for its end.
    private final class Recording {
        private let savepoint: Statement
        private let release: Statement
        private let newest: Statement
        private let note: Statement

        init(_ database: Database) throws {
            try database.execute(JobTable.history)
            savepoint = try database.prepare("SAVEPOINT write")
            release = try database.prepare("RELEASE write")
            newest = try database.prepare(JobTable.newest)
            note = try database.prepare(JobTable.note)
        }

        func begin() throws { try savepoint.run() }

        func end(_ number: Int, _ now: Double) throws {
            for changes in [
                "Tally*\(number % JobTable.tallyCount)", "QueuedOperation-\(number),FinishedOperation+\(number)",
            ] {
                guard try newest.step() else { throw BenchError("no history") }
                let (sequence, total) = (newest.integer(0), newest.integer(1))
                newest.reset()
                var text = changes
                note.bind(sequence + 1, at: 1)
                note.bind(now, at: 2)
                note.bind(total + text.utf8.count, at: 3)
                try text.withUTF8 { bytes in
                    sqlite3_bind_blob(note.pointer, 4, bytes.baseAddress, Int32(bytes.count), nil)
                    try note.run()
                }
            }
            try release.run()
        }
    }

    /// Makes the rows in which jobs count.
    static func addTallies(_ database: Database) throws { try database.execute(tallies) }

    /// The sum of what jobs have counted.
    static func tallied(_ database: Database) throws -> Int {
        let statement = try database.prepare("SELECT sum(count) FROM tally")
        guard try statement.step() else { return 0 }
        defer { statement.reset() }
        return statement.integer(0)
    }

    /// Has jobs wait for others, which are given by their numbers.
    static func depend(_ pairs: [(dependant: Int, prerequisite: Int)], _ database: Database) throws {
        let statement = try database.prepare(depend)
        try database.transaction {
            for pair in pairs {
                statement.bind(pair.dependant, at: 1)
                statement.bind(pair.prerequisite, at: 2)
                try statement.run()
            }
            try database.execute(wait)
        }
    }

    /// Does jobs: in each transaction so many are done with, and as many others are claimed.
    ///
    /// - Parameters:
    ///   - limit: how many are done at most.
    ///   - letsGo: whether others may depend on them.
    ///   - counts: whether each counts in a row of its own choice, which it reads and sets in the transaction in which it is done with.
    ///   - records: whether each has a savepoint and two entries in a history of commits, as a change and its engine's commit have.
    /// - Returns: how many there were, and the sum of their numbers.
    static func work(
        _ database: Database,
        perCommit: Int,
        limit: Int = .max,
        letsGo: Bool = false,
        counts: Bool = false,
        records: Bool = false
    )
        throws -> Checksum
    {
        let recording = try records ? Recording(database) : nil
        if !counts { return try work(database, perCommit: perCommit, limit: limit, letsGo: letsGo) { _, _ in } }
        let readTally = try database.prepare(readTally)
        let setTally = try database.prepare(setTally)
        return try work(database, perCommit: perCommit, limit: limit, letsGo: letsGo, recording) { number, version in
            readTally.bind(number % tallyCount, at: 1)
            guard try readTally.step() else { throw BenchError("no row to count in") }
            let (id, count) = (readTally.integer(0), readTally.integer(1))
            readTally.reset()
            setTally.bind(id, at: 1)
            setTally.bind(count + 1, at: 2)
            setTally.bind(version, at: 3)
            try setTally.run()
        }
    }

    /// - Parameter change: what a job does in the transaction in which it is done with, by the number in its payload.
    private static func work(
        _ database: Database,
        perCommit: Int,
        limit: Int,
        letsGo: Bool,
        _ recording: Recording? = nil,
        change: (_ number: Int, _ version: Int) throws -> Void
    ) throws -> Checksum {
        let dependants = try database.prepare(dependants)
        let release = try database.prepare(release)
        let letGo = try database.prepare(letGo)
        let next = try database.prepare(next)
        let read = try database.prepare(read)
        let claim = try database.prepare(claim)
        let archive = try database.prepare(archive)
        let delete = try database.prepare(delete)
        var check = Checksum()
        var claimed: [Int] = []
        var numbers: [Int] = []
        var version = 0
        repeat {
            try database.transaction {
                version += 1
                let now = Date().timeIntervalSinceReferenceDate
                for (id, number) in zip(claimed, numbers) {
                    try recording?.begin()
                    try change(number, version)
                    archive.bind(id, at: 1)
                    archive.bind(now, at: 2)
                    archive.bind(version, at: 3)
                    try archive.run()
                    delete.bind(id, at: 1)
                    try delete.run()
                    try recording?.end(number, now)
                    guard letsGo else { continue }
                    var others: [Int] = []
                    dependants.bind(id, at: 1)
                    while try dependants.step() { others.append(dependants.integer(0)) }
                    release.bind(id, at: 1)
                    try release.run()
                    for other in others {
                        letGo.bind(other, at: 1)
                        letGo.bind(version, at: 2)
                        try letGo.run()
                    }
                }
                claimed = []
                guard check.count < limit else { return }
                next.bind(min(perCommit, limit - check.count), at: 1)
                while try next.step() { claimed.append(next.integer(0)) }
                for id in claimed {
                    claim.bind(id, at: 1)
                    claim.bind(now, at: 2)
                    claim.bind(version, at: 3)
                    try claim.run()
                }
            }
            numbers = try claimed.map { try number(of: $0, read) }
            for number in numbers { check.add(number: number) }
        } while !claimed.isEmpty
        return check
    }

    /// The same by one statement for all whose ids follow each other, as far as that can be done: none may depend on them.
    static func workByRanges(_ database: Database, perCommit: Int) throws -> Checksum {
        let next = try database.prepare(next)
        let read = try database.prepare(read)
        let claim = try database.prepare(claimRange)
        let archive = try database.prepare(archiveRange)
        let delete = try database.prepare(deleteRange)
        var check = Checksum()
        var claimed: [ClosedRange<Int>] = []
        var version = 0
        repeat {
            try database.transaction {
                version += 1
                let now = Date().timeIntervalSinceReferenceDate
                for range in claimed {
                    archive.bind(range.lowerBound, at: 1)
                    archive.bind(now, at: 2)
                    archive.bind(version, at: 3)
                    archive.bind(range.upperBound, at: 4)
                    try archive.run()
                    delete.bind(range.lowerBound, at: 1)
                    delete.bind(range.upperBound, at: 2)
                    try delete.run()
                }
                claimed = []
                next.bind(perCommit, at: 1)
                while try next.step() {
                    let id = next.integer(0)
                    if let last = claimed.last, last.upperBound == id - 1 {
                        claimed[claimed.count - 1] = last.lowerBound...id
                    } else {
                        claimed.append(id...id)
                    }
                }
                for range in claimed {
                    claim.bind(range.lowerBound, at: 1)
                    claim.bind(now, at: 2)
                    claim.bind(version, at: 3)
                    claim.bind(range.upperBound, at: 4)
                    try claim.run()
                }
            }
            for id in claimed.joined() { check.add(number: try number(of: id, read)) }
        } while !claimed.isEmpty
        return check
    }

    /// The number in a job's payload.
    private static func number(of id: Int, _ read: borrowing Statement) throws -> Int {
        read.bind(id, at: 1)
        guard try read.step() else { throw BenchError("job \(id) is gone") }
        // `{"number":` and `}` stand around it.
        let text = read.text(0)
        read.reset()
        guard let number = Int(text.dropFirst(10).dropLast()) else { throw BenchError("no number in \(text)") }
        return number
    }

    static func count(_ table: String, _ database: Database) throws -> Int {
        let statement = try database.prepare("SELECT count(*) FROM \(table)")
        guard try statement.step() else { return 0 }
        defer { statement.reset() }
        return statement.integer(0)
    }
}
