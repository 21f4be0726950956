import Foundation
import HomeSuite
import PostgresCluster
import Strata
import Testing

@testable import StrataPostgres

/// A new store on a server, and homes that lead to it. The homes are closed when the fixture ends.
final class HomeFixture {
    let cluster: PostgresCluster
    let store: String
    /// The name of the connections of the homes.
    private let application = UUID().uuidString
    private var homes: [PostgresHome] = []

    init(store: String = "store \(UUID().uuidString)", on cluster: PostgresCluster? = nil) throws {
        self.cluster = try cluster ?? PostgresCluster.shared()
        self.store = store
    }

    deinit { for home in homes { home.close() } }

    /// A home that is open.
    ///
    /// - Parameter port: the port of a proxy or pooler; nil for the server's.
    func home(
        port: Int? = nil,
        busyTimeout: TimeInterval = 60,
        timeout: TimeInterval = 10,
        lockTimeout: TimeInterval = 5,
        retention: PostgresHome.Retention = PostgresHome.Retention(),
        preparesStatements: Bool? = nil,
        synchronous: StoreConfiguration.Synchronous = .full
    ) throws -> PostgresHome {
        let home = try PostgresHome(
            "\(cluster.address(port: port ?? cluster.port)) application_name=\(application)",
            store: store,
            timeout: timeout,
            lockTimeout: lockTimeout,
            retention: retention,
            preparesStatements: preparesStatements
        )
        homes.append(home)
        _ = try home.open(SampleStore.description, busyTimeout: busyTimeout, synchronous: synchronous)
        return home
    }

    /// A connection of another program.
    ///
    /// - Parameter port: the port of a pooler; nil for the server's.
    func connection(port: Int? = nil) throws -> PostgresConnection {
        try PostgresConnection.open(
            ConnectionSettings(cluster.address(port: port ?? cluster.port)),
            preparesStatements: false,
            until: Deadline(seconds: 30)
        )
    }

    /// Runs a statement as another program would.
    ///
    /// - Parameter port: the port of a pooler; nil for the server's.
    @discardableResult
    func query(_ sql: String, port: Int? = nil) throws -> PostgresRows {
        try connection(port: port).run([PostgresStatement(sql: sql)], until: Deadline(seconds: 30))[0]
    }

    /// Inserts rows of a megabyte into the table `Item`, without a transaction of the home.
    func insertLargeRows(_ count: Int) throws {
        try query(
            """
            INSERT INTO "\(store)"."Item" (id, content)
            SELECT n, decode(repeat('ab', 1000000), 'hex') FROM generate_series(1, \(count)) AS n
            """
        )
    }

    /// Ends all connections of the homes, and waits until the server has done so.
    func terminateConnections() throws {
        try query(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = '\(application)'"
        )
    }

    /// The texts of a column of texts.
    func texts(_ sql: String) throws -> [String] {
        let rows = try query(sql)
        return try (0..<rows.count).map { try rows.text(row: $0, column: 0) }
    }
}

extension PostgresHome {
    /// A transaction after a position.
    func transaction(after previous: HomePosition, _ changes: HomeChanges) -> HomeTransaction {
        HomeTransaction(
            previous: previous,
            position: HomePosition(number: previous.number + 1, id: UUID()),
            node: UUID(),
            time: Date(),
            changes: changes
        )
    }

    /// Takes the lock, and publishes changes after the newest transaction.
    @discardableResult
    func publishNext(_ changes: HomeChanges) throws -> HomePosition {
        let position = try newest()
        #expect(try lock(after: position, limit: 1).isEmpty)
        let transaction = self.transaction(after: position, changes)
        try publish(transaction)
        return transaction.position
    }

    /// The rows of a table.
    func rows(of table: String) throws -> [[StoredValue]] {
        var found: [[StoredValue]] = []
        _ = try copy { name, rows in
            if name == table { found += rows }
        }
        return found
    }
}

/// The code of the error that a function throws; nil if it throws none.
func code(of body: () throws -> Void) -> StrataError.Code? {
    do {
        try body()
        return nil
    } catch {
        return (error as? StrataError)?.code ?? StrataError.Code("\(error)")
    }
}
