import Foundation
import HomeSuite
import PostgresCluster
import Strata
import Testing

@testable import StrataPostgres

/// A server that crashes and starts again. Each test starts a separate server.
@Suite("Restarts of PostgreSQL", .timeLimit(.minutes(3)), .serialized) struct ServerRestartTests {
    @Test("After a crash of the server, each call works again as soon as the server does")
    func crash() throws {
        let cluster = try PostgresCluster()
        let fixture = try HomeFixture(on: cluster)
        let home = try fixture.home()
        let position = try home.publishNext(SampleStore.insertion(1))
        let first = try home.reserveIDs(1)
        let notified = DispatchSemaphore(value: 0)
        home.listen { notified.signal() }
        #expect(notified.wait(timeout: .now() + 30) == .success)
        try cluster.stop()

        #expect(code { _ = try home.newest() } == .unreachable)
        #expect(code { _ = try home.transactions(after: .start, limit: 1) } == .unreachable)
        #expect(code { _ = try home.lock(after: position, limit: 1) } == .unreachable)
        #expect(code { _ = try home.reserveIDs(1) } == .unreachable)
        #expect(code { _ = try home.outcome(of: position.id) } == .unreachable)
        #expect(code { _ = try home.copy { _, _ in } } == .unreachable)
        home.unlock()

        try cluster.start()
        #expect(try home.newest() == position)
        #expect(try home.outcome(of: position.id))
        #expect(try home.reserveIDs(1) > first)
        #expect(try home.rows(of: "Item").count == 1)
        let next = try home.publishNext(SampleStore.insertion(2))
        // The listener connects again, and reports once that transactions may have come in between.
        #expect(notified.wait(timeout: .now() + 60) == .success)
        #expect(try home.transactions(after: position, limit: 10).transactions.map(\.position) == [next])
    }

    @Test("A crash while a node holds the lock makes its commit unreachable, and frees the lock")
    func crashWithLock() throws {
        let cluster = try PostgresCluster()
        let fixture = try HomeFixture(on: cluster)
        let home = try fixture.home()
        _ = try home.lock(after: .start, limit: 1)
        try cluster.stop()
        let transaction = home.transaction(after: .start, try SampleStore.insertion(1))
        #expect(code { try home.publish(transaction) } == .unreachable)
        try cluster.start()
        #expect(try home.outcome(of: transaction.position.id) == false)
        try home.publishNext(SampleStore.insertion(1))
    }

    @Test("Of several hosts, the first that answers and accepts writes is used")
    func hosts() throws {
        let (readOnly, cluster) = (try PostgresCluster(), try PostgresCluster.shared())
        let fixture = try HomeFixture(on: readOnly)
        try fixture.query("ALTER DATABASE postgres SET default_transaction_read_only = on")
        let free = try Loopback.freePort()
        let home = try PostgresHome(
            "host=127.0.0.1,127.0.0.1,127.0.0.1 port=\(free),\(readOnly.port),\(cluster.port) user=postgres dbname=postgres",
            store: fixture.store
        )
        defer { home.close() }
        _ = try home.open(SampleStore.description, busyTimeout: 60)
        let other = try HomeFixture(store: fixture.store, on: cluster)
        #expect(try other.texts("SELECT nspname::text FROM pg_namespace").contains(fixture.store))
    }
}
