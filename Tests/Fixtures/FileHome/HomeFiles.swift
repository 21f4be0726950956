import Foundation
import GRDB
import Strata

/// The two SQLite files of an open home.
struct HomeFiles: Sendable {
    let store: DatabasePool
    let ids: DatabaseQueue
    /// The description of the store when this connection was opened.
    var description: HomeDescription

    /// Opens the files, and creates the missing ones.
    init(_ path: String, _ proposal: HomeDescription, busyTimeout: TimeInterval) throws {
        ids = try DatabaseQueue(path: path + ".ids", configuration: Self.idsConfiguration)
        // This transaction admits one node at a time, so that one creates the store.
        (store, description) = try ids.write { db in
            try Self.prepareTables(db, nextID: 1)
            let store = try DatabasePool(path: path, configuration: Self.storeConfiguration(busyTimeout))
            if try !store.read({ try $0.tableExists("home") }) {
                let fingerprint = UInt16.random(in: 1 ... .max)
                let state = HomeState(fingerprint: fingerprint, description: proposal, position: .start)
                try store.write { try $0.createHome(state) }
            }
            return (store, try store.read { try $0.homeState().description })
        }
    }

    /// Creates the store with its rows, unless it exists. Returns whether it was created.
    ///
    /// - Parameter fill: inserts the rows. Runs in the transaction that creates the tables.
    static func create(
        _ path: String,
        _ state: HomeState,
        nextID: Int64,
        _ fill: (Database) throws -> Void
    ) throws -> Bool {
        let ids = try DatabaseQueue(path: path + ".ids", configuration: idsConfiguration)
        defer { try? ids.close() }
        // A separate transaction, because the ids must be reserved even if the process ends after the creation.
        try ids.write { try prepareTables($0, nextID: nextID) }
        return try ids.write { _ in
            let store = try DatabasePool(path: path, configuration: storeConfiguration(5))
            defer { try? store.close() }
            if try store.read({ try $0.tableExists("home") }) { return false }
            try store.write { db in
                try db.createHome(state)
                try fill(db)
            }
            return true
        }
    }

    /// Creates the missing tables of the ids and of the nodes. The ids before `nextID` are not reserved any more.
    private static func prepareTables(_ db: Database, nextID: Int64) throws {
        try db.execute(sql: "CREATE TABLE IF NOT EXISTS ids (id INTEGER PRIMARY KEY, next INTEGER NOT NULL)")
        try db.execute(sql: "INSERT OR IGNORE INTO ids VALUES (1, ?)", arguments: [nextID])
        try db.execute(sql: "UPDATE ids SET next = max(next, ?)", arguments: [nextID])
        try db.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS nodes (
                    name TEXT PRIMARY KEY, node BLOB NOT NULL, number INTEGER NOT NULL, uuid BLOB NOT NULL,
                    time REAL NOT NULL
                )
                """
        )
    }

    /// Reserves ids, and returns the first one.
    func reserveIDs(_ count: Int64) throws -> Int64 {
        try ids.write { db in
            let next = try Int64.fetchOne(db, sql: "SELECT next FROM ids") ?? 1
            try db.execute(sql: "UPDATE ids SET next = ?", arguments: [next + count])
            return next
        }
    }

    /// Records a report of a node, and removes those that are older than a day.
    func report(_ position: HomePosition, of node: UUID, named name: String, at time: Date) throws {
        let seconds = time.timeIntervalSinceReferenceDate
        try ids.write { db in
            try db.execute(
                sql: "INSERT OR REPLACE INTO nodes VALUES (?, ?, ?, ?, ?)",
                arguments: [name, node, position.number, position.id, seconds]
            )
            try db.execute(sql: "DELETE FROM nodes WHERE time < ?", arguments: [seconds - 86_400])
        }
    }

    /// The last reports of the nodes, in the order of their names.
    func nodes(at time: Date) throws -> [HomeNodeStatus] {
        let rows = try ids.read { try Row.fetchAll($0, sql: "SELECT * FROM nodes ORDER BY name") }
        // The reports come first: a node that commits in between must not seem to be ahead.
        let newest = try store.read { try $0.position() }
        return rows.map { row in
            let reported = Date(timeIntervalSinceReferenceDate: row["time"])
            return HomeNodeStatus(
                name: row["name"],
                id: row["node"],
                position: HomePosition(number: row["number"], id: row["uuid"]),
                time: reported,
                silence: max(time.timeIntervalSince(reported), 0),
                newest: newest
            )
        }
    }

    /// No transaction of this file is long.
    private static var idsConfiguration: Configuration {
        var configuration = Configuration()
        configuration.busyMode = .timeout(30)
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = OFF") }
        return configuration
    }

    /// A transaction stays open from `lock` to `publish`.
    private static func storeConfiguration(_ busyTimeout: TimeInterval) -> Configuration {
        var configuration = Configuration()
        // SQLite takes a number of milliseconds, and the time may be infinite.
        configuration.busyMode = .timeout(min(busyTimeout, 86_400))
        configuration.allowsUnsafeTransactions = true
        return configuration
    }
}
