import Foundation
import GRDB

/// The index of a cache: SQL within one transaction, and the names of the files to delete after its commit.
struct CacheIndex: ~Copyable {
    /// The row of a file.
    struct Entry: Sendable {
        var id: Int64
        var name: String
        var size: Int64
        var eTag: ETag?
        var expires: Date?

        init(_ row: Row) {
            id = row["id"]
            name = row["name"]
            size = row["size"]
            eTag = (row["eTag"] as String?).map(ETag.init(header:))
            expires = (row["expires"] as Double?).map(Date.init(timeIntervalSinceReferenceDate:))
        }
    }

    let database: Database
    let folder: CacheFolder
    /// Files without an entry.
    private(set) var garbage: [String] = []

    init(_ database: Database, _ folder: CacheFolder) {
        self.database = database
        self.folder = folder
    }

    // MARK: The tables

    static let version = 1

    /// Creates the tables of a new index.
    ///
    /// - `entry`: a file. `isRemoved` is set when lookups no longer find the file but a cache still holds it. `use`
    ///   grows with each use.
    /// - `retain`: the number of holds of an owner's cache on an entry.
    static func create(_ database: Database) throws {
        switch try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0 {
        case version: return
        case 0: break
        case let other:
            throw CloudError(
                .cacheDamaged,
                "The index of the cache has version \(other), which this program does not support. Delete the folder "
                    + "of the cache."
            )
        }
        try database.execute(
            sql: """
                CREATE TABLE entry (
                    id INTEGER PRIMARY KEY AUTOINCREMENT,
                    account TEXT NOT NULL, node INTEGER NOT NULL, sections INTEGER NOT NULL, eTag TEXT,
                    name TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, isPersistent INTEGER NOT NULL, isRemoved INTEGER NOT NULL DEFAULT 0,
                    expires REAL, use INTEGER NOT NULL
                ) STRICT;
                CREATE UNIQUE INDEX entry_key ON entry (account, node, sections) WHERE isRemoved = 0;
                CREATE INDEX entry_use ON entry (use);
                CREATE INDEX entry_size ON entry (isRemoved, isPersistent, size);
                CREATE INDEX entry_expires ON entry (expires) WHERE expires IS NOT NULL;
                CREATE TABLE retain (
                    entry INTEGER NOT NULL, owner TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (entry, owner)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX retain_owner ON retain (owner);
                PRAGMA user_version = \(version);
                """
        )
    }

    // MARK: Entries

    /// The entry of a key, if it is not removed.
    func entry(_ key: CacheKey) throws -> Entry? {
        try Row.fetchOne(
            database,
            sql: "SELECT * FROM entry WHERE account = ? AND node = ? AND sections = ? AND isRemoved = 0",
            arguments: [key.account, key.node, key.sections.rawValue]
        ).map(Entry.init)
    }

    /// - Returns: the id of the new entry, which replaces an entry with the same key.
    mutating func insert(
        _ key: CacheKey,
        _ eTag: ETag?,
        name: String,
        size: Int64,
        retention: CacheRetention,
        expires: Date?
    ) throws -> Int64 {
        if let old = try entry(key) { try remove(old.id) }
        try database.execute(
            sql: """
                INSERT INTO entry (account, node, sections, eTag, name, size, isPersistent, expires, use)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, (SELECT ifnull(max(use), 0) + 1 FROM entry))
                """,
            arguments: [
                key.account, key.node, key.sections.rawValue, eTag?.header, name, size, retention == .persistent,
                expires?.timeIntervalSinceReferenceDate,
            ]
        )
        return database.lastInsertedRowID
    }

    /// Marks an entry as the most recently used one.
    func touch(_ id: Int64) throws {
        try database.execute(
            sql: "UPDATE entry SET use = (SELECT max(use) + 1 FROM entry) WHERE id = ?",
            arguments: [id]
        )
    }

    /// Removes an entry from lookups. Its file is deleted when no cache holds it any more.
    mutating func remove(_ id: Int64) throws {
        try database.execute(sql: "UPDATE entry SET isRemoved = 1 WHERE id = ?", arguments: [id])
        try deleteUnheld(id)
    }

    /// Removes all entries that meet a condition.
    mutating func removeAll(where condition: String, _ arguments: StatementArguments = []) throws {
        for id in try Int64.fetchAll(
            database,
            sql: "SELECT id FROM entry WHERE isRemoved = 0 AND \(condition)",
            arguments: arguments
        ) {
            try remove(id)
        }
    }

    func setPersistent(_ isPersistent: Bool, _ id: Int64) throws {
        try database.execute(sql: "UPDATE entry SET isPersistent = ? WHERE id = ?", arguments: [isPersistent, id])
    }

    // MARK: Holding

    func isAnythingHeld(byOthersThan owner: String) throws -> Bool {
        try Bool.fetchOne(database, sql: "SELECT EXISTS (SELECT 1 FROM retain WHERE owner <> ?)", arguments: [owner])
            ?? false
    }

    func retain(_ id: Int64, by owner: String) throws {
        try database.execute(
            sql: "INSERT INTO retain VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET count = count + 1",
            arguments: [id, owner]
        )
    }

    mutating func release(_ id: Int64, by owner: String) throws {
        try database.execute(
            sql: "UPDATE retain SET count = count - 1 WHERE entry = ? AND owner = ?",
            arguments: [id, owner]
        )
        try database.execute(
            sql: "DELETE FROM retain WHERE entry = ? AND owner = ? AND count <= 0",
            arguments: [id, owner]
        )
        try deleteUnheld(id)
    }

    /// Discards all holds of an owner that does not exist any more.
    mutating func releaseAll(by owner: String) throws {
        let ids = try Int64.fetchAll(database, sql: "SELECT entry FROM retain WHERE owner = ?", arguments: [owner])
        try database.execute(sql: "DELETE FROM retain WHERE owner = ?", arguments: [owner])
        for id in ids { try deleteUnheld(id) }
    }

    private mutating func deleteUnheld(_ id: Int64) throws {
        let name = try String.fetchOne(
            database,
            sql: """
                DELETE FROM entry WHERE id = ? AND isRemoved = 1 AND NOT EXISTS (SELECT 1 FROM retain WHERE entry = entry.id)
                RETURNING name
                """,
            arguments: [id]
        )
        if let name { garbage.append(name) }
    }

    // MARK: Room

    func usage() throws -> CacheUsage {
        let row = try Row.fetchOne(
            database,
            sql: """
                SELECT ifnull(sum(size) FILTER (WHERE isPersistent = 0), 0), ifnull(sum(size) FILTER (WHERE isPersistent = 1), 0), count(*)
                FROM entry WHERE isRemoved = 0
                """
        )
        return CacheUsage(evictable: row?[0] ?? 0, persistent: row?[1] ?? 0, count: row?[2] ?? 0)
    }

    /// Evicts the least recently used entries until the rest fits. Persistent and held entries stay.
    ///
    /// - Returns: the number of bytes above the limit that remain.
    mutating func evict(to limit: Int64) throws -> Int64 {
        var surplus = try usage().total - limit
        guard surplus > 0 else { return 0 }
        let candidates = try Row.fetchCursor(
            database,
            sql: """
                SELECT id, size FROM entry
                WHERE isRemoved = 0 AND isPersistent = 0 AND NOT EXISTS (SELECT 1 FROM retain WHERE entry = entry.id) ORDER BY use
                """
        )
        // The cursor is read only as far as necessary. The entries are removed afterwards, because rows must not change
        // while the cursor reads them.
        var ids: [Int64] = []
        while surplus > 0, let row = try candidates.next() {
            surplus -= row["size"] as Int64
            ids.append(row["id"])
        }
        for id in ids { try remove(id) }
        return max(0, surplus)
    }
}
