import Foundation
import GRDB
import Strata

/// The two SQLite files of an open home.
struct HomeFiles: Sendable {
    let store: DatabasePool
    let ids: DatabaseQueue
    /// The description of the store, which the node that created the store has proposed.
    let description: HomeDescription

    /// Opens the files, and creates the missing ones.
    init(_ path: String, _ proposal: HomeDescription, busyTimeout: TimeInterval) throws {
        ids = try DatabaseQueue(path: path + ".ids", configuration: Self.idsConfiguration)
        // This transaction admits one node at a time, so that one creates the store.
        (store, description) = try ids.write { db in
            try db.execute(sql: "CREATE TABLE IF NOT EXISTS ids (id INTEGER PRIMARY KEY, next INTEGER NOT NULL)")
            try db.execute(sql: "INSERT OR IGNORE INTO ids VALUES (1, 1)")
            let store = try DatabasePool(path: path, configuration: Self.storeConfiguration(busyTimeout))
            if try !store.read({ try $0.tableExists("home") }) {
                try store.write { try $0.createHome(proposal) }
            }
            return (store, try store.read { try $0.homeState().description })
        }
    }

    /// Reserves ids, and returns the first one.
    func reserveIDs(_ count: Int64) throws -> Int64 {
        try ids.write { db in
            let next = try Int64.fetchOne(db, sql: "SELECT next FROM ids") ?? 1
            try db.execute(sql: "UPDATE ids SET next = ?", arguments: [next + count])
            return next
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
        configuration.busyMode = .timeout(busyTimeout)
        configuration.allowsUnsafeTransactions = true
        return configuration
    }
}
