import Foundation
import HomeSuite
import PostgresCluster
import Strata
import Synchronization
import Testing

@testable import StrataPostgres

/// Homes that reach the server through PgBouncer.
@Suite("Homes that are reached through a pooler", .timeLimit(.minutes(3))) struct PoolerTests {
    /// A pool with one connection, so that a test knows the session of each statement.
    private static let oneConnection = ["default_pool_size = 1"]

    @Test("In the mode session, the home keeps its promises", arguments: HomePromise.allCases)
    func sessionPromises(_ promise: HomePromise) throws {
        try Self.check(promise, .session)
    }

    @Test(
        "In the mode transaction, the home keeps its promises, except that it does not notify",
        arguments: HomePromise.allCases.filter { $0 != .notifies }
    )
    func transactionPromises(_ promise: HomePromise) throws {
        try Self.check(promise, .transaction)
    }

    private static func check(_ promise: HomePromise, _ mode: PostgresPooler.Mode) throws {
        let address = try PostgresPooler.shared(mode).address
        let store = "pooled \(UUID().uuidString)"
        try promise.check { try PostgresHome(address, store: store) }
    }

    // MARK: Prepared statements

    @Test("Without a pooler, the server keeps plans of statements. Behind one, it does not", arguments: Route.allCases)
    func plans(_ route: Route) throws {
        let fixture = try HomeFixture()
        let home = try fixture.home(port: route.port(of: fixture.cluster))
        try home.publishNext(SampleStore.insertion(1))
        let (isPooled, count) = try home.writing.use(within: 10) { connection, deadline in
            let plans = PostgresStatement(
                sql: "SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'strata%'",
                isPrepared: false
            )
            let count = try connection.run([plans], until: deadline)[0].integer(row: 0, column: 0)
            return (connection.isPooled, count)
        }
        #expect(isPooled == (route != .direct))
        #expect((count > 0) == (route == .direct))
    }

    @Test("A plan that the pooler has not kept is an error that names the argument")
    func lostPlan() throws {
        let fixture = try HomeFixture()
        let pooler = try PostgresPooler(
            .transaction,
            serverPort: fixture.cluster.port,
            settings: Self.oneConnection
        )
        let home = try fixture.home(port: pooler.port, preparesStatements: true)
        _ = try home.newest()
        // Another client of the same session removes the plans.
        try fixture.query("DEALLOCATE ALL", port: pooler.port)
        let error = try #require(throws: StrataError.self) { _ = try home.newest() }
        #expect(error.code == .invalidArgument)
        #expect(error.message.contains("preparesStatements"), "\(error)")
    }

    // MARK: Notifications

    @Test("In the mode transaction, a notification reaches no listener, and stays on no other connection")
    func notifications() async throws {
        let fixture = try HomeFixture()
        let pooler = try PostgresPooler(
            .transaction,
            serverPort: fixture.cluster.port,
            settings: Self.oneConnection
        )
        let (home, other) = (try fixture.home(port: pooler.port), try fixture.home())
        let calls = Mutex(0)
        home.listen { calls.withLock { $0 += 1 } }
        // The only session is now subscribed. The first call says so.
        try await waitUntil("a subscription") { calls.withLock { $0 } == 1 }
        for id in Int64(1)...3 { try home.publishNext(SampleStore.insertion(id)) }
        let kept = try home.writing.use(within: 10) { connection, _ in connection.receivedNotifications() }
        #expect(kept == [])

        // No client uses the session when the notification of another node arrives.
        let position = try other.publishNext(SampleStore.insertion(4))
        try await waitUntil("a dropped notification") { try pooler.log().contains("got packet 'A' from server") }
        let callCount = calls.withLock { $0 }
        #expect(callCount == 1)
        // The poll of the follower finds the transaction.
        #expect(try home.newest() == position)
    }

    // MARK: Failures

    @Test(
        "A commit that is lost between the pooler and the server is uncertain, and the home knows whether it is stored",
        arguments: PostgresPooler.Mode.allCases,
        LostCommitTests.Moment.allCases
    )
    func lost(_ mode: PostgresPooler.Mode, _ moment: LostCommitTests.Moment) throws {
        let fixture = try HomeFixture()
        let proxy = try CuttingProxy(to: fixture.cluster.port)
        defer { proxy.end() }
        let pooler = try PostgresPooler(mode, serverPort: proxy.port)
        let (home, other) = (try fixture.home(port: pooler.port), try fixture.home())
        let attempts: [(id: Int64, hasLock: Bool)] = [(1, true), (2, false)]
        for (id, hasLock) in attempts {
            // The connection that publishes exists before the fault. Without it, nothing would be sent.
            let previous = try home.publishNext(SampleStore.insertion(id + 10))
            if hasLock { #expect(try home.lock(after: previous, limit: 1).isEmpty) }
            let transaction = home.transaction(after: previous, try SampleStore.insertion(id))
            proxy.set(moment.fault)
            let error = code {
                if hasLock { try home.publish(transaction) } else { _ = try home.publishIfNewest(transaction) }
            }
            proxy.set(.none)
            #expect(error == .uncertain, "with the lock: \(hasLock)")
            #expect(try home.outcome(of: transaction.position.id) == moment.isStored)
            #expect(try other.newest() == (moment.isStored ? transaction.position : previous))
        }
        try home.publishNext(SampleStore.insertion(3))
    }

    @Test("A pooler that is killed while a node has the lock frees the lock", arguments: PostgresPooler.Mode.allCases)
    func killed(_ mode: PostgresPooler.Mode) throws {
        let fixture = try HomeFixture()
        let pooler = try PostgresPooler(mode, serverPort: fixture.cluster.port)
        let (home, other) = (try fixture.home(port: pooler.port), try fixture.home())
        let position = try home.publishNext(SampleStore.insertion(1))
        _ = try home.lock(after: position, limit: 1)
        try pooler.kill()
        let transaction = home.transaction(after: position, try SampleStore.insertion(2))
        // The end of the connection may arrive only after the node has sent COMMIT. Then it asks.
        let error = code { try home.publish(transaction) }
        #expect(error == .unreachable || error == .uncertain)
        #expect(code { _ = try home.newest() } == .unreachable)
        #expect(try other.lock(after: position, limit: 1).isEmpty)
        other.unlock()

        try pooler.start()
        #expect(try home.newest() == position)
        #expect(try home.outcome(of: transaction.position.id) == false)
        try home.publishNext(SampleStore.insertion(2))
    }

    @Test("In the mode session, calls that find no connection in the pool are unreachable, and the others work")
    func smallPool() throws {
        let fixture = try HomeFixture()
        let pooler = try PostgresPooler(.session, serverPort: fixture.cluster.port, settings: Self.oneConnection)
        // The connection for commits is the only one of the pool.
        let home = try fixture.home(port: pooler.port, timeout: 1)
        #expect(code { _ = try home.newest() } == .unreachable)
        #expect(try home.publishIfNewest(home.transaction(after: .start, SampleStore.insertion(1))))
    }

    @Test("A startup parameter that the pooler does not know is refused with its name, unless the pooler ignores it")
    func startupParameter() throws {
        let fixture = try HomeFixture()
        let ignoring = try PostgresPooler(
            .transaction,
            serverPort: fixture.cluster.port,
            settings: ["ignore_startup_parameters = options"]
        )
        let options = "options='-c statement_timeout=60s'"
        let address = try PostgresPooler.shared(.transaction).address
        let refused = try PostgresHome("\(address) \(options)", store: fixture.store)
        defer { refused.close() }
        let error = try #require(throws: StrataError.self) {
            _ = try refused.open(SampleStore.description, busyTimeout: 5)
        }
        #expect(error.code == .unreachable)
        #expect(error.message.contains("answers, but the connection failed"), "\(error)")
        #expect(error.message.contains("unsupported startup parameter"), "\(error)")

        let ignored = try PostgresHome("\(ignoring.address) \(options)", store: fixture.store)
        defer { ignored.close() }
        _ = try ignored.open(SampleStore.description, busyTimeout: 5)
        try ignored.publishNext(SampleStore.insertion(1))
    }
}
