import Foundation
import HomeSuite
import PostgresCluster
import Strata
import Testing

@testable import StrataPostgres

/// Connections that break, through a proxy that breaks them at a chosen byte.
@Suite("Lost connections to PostgreSQL", .timeLimit(.minutes(3))) struct LostConnectionTests {
    /// A home that is connected through a proxy, and another one that is connected without it.
    private struct Pair {
        let fixture: HomeFixture
        let proxy: CuttingProxy
        let home: PostgresHome
        let other: PostgresHome

        init(timeout: TimeInterval = 10, usesProxy: Bool = true) throws {
            fixture = try HomeFixture()
            proxy = try CuttingProxy(to: fixture.cluster.port)
            home = try fixture.home(port: usesProxy ? proxy.port : nil, timeout: timeout)
            other = try fixture.home()
        }

        /// Takes the lock, sets a fault, and publishes a row.
        ///
        /// - Returns: the transaction, and the code of the error; nil without an error.
        func publish(_ id: Int64, _ fault: CuttingProxy.Fault) throws -> (HomeTransaction, StrataError.Code?) {
            let previous = try home.newest()
            #expect(try home.lock(after: previous, limit: 1).isEmpty)
            let transaction = home.transaction(after: previous, try SampleStore.insertion(id))
            proxy.set(fault)
            let error = code { try home.publish(transaction) }
            return (transaction, error)
        }

        /// Sets a fault, and publishes a row without the lock.
        ///
        /// - Returns: as ``publish(_:_:)``.
        func publishWithoutLock(
            _ id: Int64,
            _ fault: CuttingProxy.Fault
        ) throws -> (HomeTransaction, StrataError.Code?) {
            let transaction = home.transaction(after: try home.newest(), try SampleStore.insertion(id))
            proxy.set(fault)
            let error = code {
                let isStored = try home.publishIfNewest(transaction)
                #expect(isStored)
            }
            return (transaction, error)
        }

        /// The outcome that the home reports must be the state that others see, and nothing may be left locked.
        func check(_ transaction: HomeTransaction, isStored: Bool) throws {
            proxy.set(.none)
            #expect(try home.outcome(of: transaction.position.id) == isStored)
            #expect(try other.outcome(of: transaction.position.id) == isStored)
            #expect(try other.newest() == (isStored ? transaction.position : transaction.previous))
            let previous = try home.newest()
            #expect(try other.lock(after: previous, limit: 1).isEmpty)
            other.unlock()
            #expect(try home.lock(after: previous, limit: 1).isEmpty)
            home.unlock()
        }
    }

    @Test("A connection that breaks at any part of a publish leaves the whole transaction or nothing")
    func requests() throws {
        let pair = try Pair()
        defer { pair.proxy.end() }
        // The statements are prepared now, so that all publishes have the same number of bytes.
        #expect(try pair.publish(1, .none).1 == nil)
        #expect(try pair.publish(2, .none).1 == nil)
        let total = pair.proxy.requestBytes
        // The last message, Sync, has 5 bytes. The one before it executes COMMIT.
        let parts = [0, 1, total / 4, total / 2, total * 3 / 4, total - 20, total - 6, total - 5, total - 1]
        for (index, part) in parts.enumerated() {
            // After a cut, the new connection prepares its statements first.
            #expect(try pair.publish(Int64(100 + 2 * index), .none).1 == nil)
            let (transaction, error) = try pair.publish(Int64(101 + 2 * index), .cutsRequest(afterBytes: part))
            #expect(error == .uncertain, "after \(part) of \(total) bytes")
            try pair.check(transaction, isStored: part >= total - 5)
        }
    }

    @Test("Without the lock, a connection that breaks leaves the whole transaction or nothing, and nothing is repeated")
    func requestsWithoutLock() throws {
        let pair = try Pair()
        defer { pair.proxy.end() }
        #expect(try pair.publishWithoutLock(1, .none).1 == nil)
        #expect(try pair.publishWithoutLock(2, .none).1 == nil)
        let total = pair.proxy.requestBytes
        for (index, part) in [0, total / 2, total - 6, total - 5, total - 1].enumerated() {
            #expect(try pair.publishWithoutLock(Int64(100 + 2 * index), .none).1 == nil)
            let id = Int64(101 + 2 * index)
            let (transaction, error) = try pair.publishWithoutLock(id, .cutsRequest(afterBytes: part))
            #expect(error == .uncertain, "after \(part) of \(total) bytes")
            try pair.check(transaction, isStored: part >= total - 5)
        }
        #expect(try pair.publishWithoutLock(200, .none).1 == nil)
        let (transaction, error) = try pair.publishWithoutLock(201, .cutsAnswer)
        #expect(error == .uncertain)
        try pair.check(transaction, isStored: true)
    }

    @Test("Without the lock, a connection that the server has ended before is replaced")
    func replacedWithoutLock() throws {
        // The end of the connection arrives at once, because nothing is in between.
        let pair = try Pair(usesProxy: false)
        defer { pair.proxy.end() }
        #expect(try pair.publishWithoutLock(1, .none).1 == nil)
        try pair.fixture.terminateConnections()
        let (transaction, error) = try pair.publishWithoutLock(2, .none)
        #expect(error == nil)
        try pair.check(transaction, isStored: true)
    }

    @Test("A request without the lock that arrives after the answer about its outcome is refused")
    func lateRequest() throws {
        let fixture = try HomeFixture()
        let (home, other) = (try fixture.home(), try fixture.home(retention: PostgresHome.Retention(count: 10)))
        let first = try home.publishNext(SampleStore.insertion(1))
        // The request is sent after the answer, as if the network had held it back until then.
        let late = home.transaction(after: first, try SampleStore.insertion(2))
        for _ in 0..<2 { #expect(try !other.outcome(of: late.position.id)) }
        #expect(code { _ = try home.publishIfNewest(late) } == .database)
        #expect(try !home.outcome(of: late.position.id))
        #expect(try home.newest() == first)
        #expect(try home.rows(of: "Item").count == 1)
        // The refusal is not a transaction: nodes and operators do not see it, and pruning leaves it.
        #expect(try other.transactions(after: .start, limit: 10).transactions.map(\.position) == [first])
        let status = try other.status()
        #expect(status.transactionCount == 1)
        #expect(status.oldest?.number == 1)
        for id in Int64(3)...66 { try other.publishNext(SampleStore.insertion(id)) }
        #expect(try other.status().transactionCount == 10)
        let refusals = "SELECT number FROM \"\(fixture.store)\".strata_feed WHERE number < 0"
        #expect(try fixture.query(refusals).count == 1)
        try fixture.query("UPDATE \"\(fixture.store)\".strata_feed SET at = at - interval '2 days' WHERE number < 0")
        for id in Int64(67)...130 { try other.publishNext(SampleStore.insertion(id)) }
        #expect(try fixture.query(refusals).count == 0)
    }

    @Test("A commit whose answer is lost is uncertain, and stored")
    func answer() throws {
        let pair = try Pair()
        defer { pair.proxy.end() }
        let (transaction, error) = try pair.publish(1, .cutsAnswer)
        #expect(error == .uncertain)
        try pair.check(transaction, isStored: true)
        #expect(try pair.other.rows(of: "Item").count == 1)
    }

    @Test(
        "An error that ends the session, in the place of a lost answer, leaves the outcome open, whatever its code is",
        arguments: ["08P01", "57P01", "58000", "XX000"]
    )
    func replacedAnswer(_ sqlState: String) throws {
        let pair = try Pair()
        defer { pair.proxy.end() }
        let fault = CuttingProxy.Fault.replacesAnswer(sqlState: sqlState)
        let (locked, errorWithLock) = try pair.publish(1, fault)
        #expect(errorWithLock == .uncertain)
        try pair.check(locked, isStored: true)
        let (unlocked, errorWithoutLock) = try pair.publishWithoutLock(2, fault)
        #expect(errorWithoutLock == .uncertain)
        try pair.check(unlocked, isStored: true)
    }

    @Test("A commit whose session the server ends in the middle is uncertain, and the home knows that it is not stored")
    func terminatedCommit() async throws {
        let pair = try Pair(usesProxy: false)
        defer { pair.proxy.end() }
        let (fixture, home) = (pair.fixture, pair.home)
        let table = "\"\(fixture.store)\".\"Item\""
        // The commit waits for this session.
        let reader = try fixture.connection()
        let lock = ["BEGIN", "LOCK TABLE \(table) IN SHARE MODE"].map { PostgresStatement(sql: $0, isPrepared: false) }
        try reader.run(lock, until: Deadline(seconds: 30))
        let transaction = home.transaction(after: .start, try SampleStore.insertion(1))
        let publishing = Task.detached { code { _ = try home.publishIfNewest(transaction) } }
        try await waitUntil("a commit that waits") {
            try fixture.query("SELECT 1 FROM pg_locks WHERE relation = '\(table)'::regclass AND NOT granted").count > 0
        }
        try fixture.terminateConnections()
        let error = await publishing.value
        #expect(error == .uncertain)
        try reader.rollBack(until: Deadline(seconds: 30))
        try pair.check(transaction, isStored: false)
    }

    @Test("A commit on a network that swallows everything ends at the deadline, and is not stored")
    func silence() throws {
        let pair = try Pair(timeout: 1)
        defer { pair.proxy.end() }
        let (transaction, error) = try pair.publish(1, .silent)
        #expect(error == .uncertain)
        #expect(code { _ = try pair.home.outcome(of: transaction.position.id) } == .unreachable)
        #expect(code { _ = try pair.home.newest() } == .unreachable)
        try pair.check(transaction, isStored: false)
    }

    @Test("A connection that the server ends while the lock is held makes the commit unreachable, not uncertain")
    func terminated() throws {
        // The end of the connection arrives at once, because nothing is in between.
        let pair = try Pair(usesProxy: false)
        defer { pair.proxy.end() }
        let position = try pair.home.newest()
        _ = try pair.home.lock(after: position, limit: 1)
        try pair.fixture.terminateConnections()
        let transaction = pair.home.transaction(after: position, try SampleStore.insertion(1))
        #expect(code { try pair.home.publish(transaction) } == .unreachable)
        try pair.check(transaction, isStored: false)
    }

    @Test("Calls after a lost connection make a new one")
    func reconnecting() throws {
        let pair = try Pair()
        defer { pair.proxy.end() }
        let position = try pair.other.publishNext(SampleStore.insertion(1))
        for _ in 0..<3 {
            try pair.fixture.terminateConnections()
            #expect(try pair.home.newest() == position)
            #expect(try pair.home.transactions(after: .start, limit: 10).transactions.count == 1)
            #expect(try pair.home.lock(after: position, limit: 10).isEmpty)
            pair.home.unlock()
        }
        #expect(try pair.home.reserveIDs(10) + 10 <= pair.home.reserveIDs(1))
    }

    @Test("A copy whose connection breaks at any part is unreachable, and the next one has all rows")
    func copies() throws {
        let pair = try Pair()
        defer { pair.proxy.end() }
        let store = try SampleStore()
        let content = StoredValue.blob(Data(repeating: 7, count: 100))
        try pair.other.publishNext(
            store.changes {
                for id in Int64(1)...2_000 { try store.insert([.integer(id), .null, .real(0.5), .text(""), content]) }
            }
        )
        pair.proxy.set(.none)
        let rows = try pair.home.rows(of: "Item")
        #expect(rows.count == 2_000)
        // The answers to the login, the beginning of the transaction, each COPY, and COMMIT.
        let total = pair.proxy.answerBytes
        for part in [0, total / 10, total / 2, total * 9 / 10, total - 100, total - 1] {
            pair.proxy.set(.cutsAnswerAfter(bytes: part))
            #expect(code { _ = try pair.home.copy { _, _ in } } == .unreachable, "after \(part) of \(total) bytes")
            pair.proxy.set(.none)
            #expect(try pair.home.rows(of: "Item") == rows)
        }
    }

    @Test("A copy on a network that becomes silent in the middle ends at the deadline")
    func silentCopy() throws {
        let pair = try Pair(timeout: 1)
        defer { pair.proxy.end() }
        // More than the sockets between server, proxy and client hold.
        try pair.fixture.insertLargeRows(40)
        let error = code {
            _ = try pair.home.copy { _, _ in pair.proxy.set(.silent) }
        }
        #expect(error == .unreachable)
    }

    @Test("A copy whose connection the server ends in the middle is unreachable")
    func terminatedCopy() throws {
        let pair = try Pair(usesProxy: false)
        defer { pair.proxy.end() }
        try pair.fixture.insertLargeRows(40)
        var count = 0
        let error = code {
            _ = try pair.home.copy { _, rows in
                count += rows.count
                try pair.fixture.terminateConnections()
            }
        }
        #expect(error == .unreachable)
        // The sockets hold some rows.
        #expect((1..<40).contains(count))
    }

    @Test("A copy continues if its reader pauses for longer than the server waits for a dead machine")
    func pausedCopy() throws {
        let fixture = try HomeFixture()
        let home = try fixture.home()
        try fixture.insertLargeRows(40)
        var count = 0
        _ = try home.copy { _, rows in
            // The server ends other connections whose clients take no bytes for 5 s.
            if count == 0 { Thread.sleep(forTimeInterval: 7) }
            count += rows.count
        }
        #expect(count == 40)
    }

    @Test("The lock of a node that does not answer ends after the time of the lock", arguments: Route.allCases)
    func deadNode(_ route: Route) throws {
        let fixture = try HomeFixture()
        let dead = try fixture.home(port: route.port(of: fixture.cluster), lockTimeout: 1)
        let other = try fixture.home()
        _ = try dead.lock(after: .start, limit: 1)
        // A process that is stopped sends nothing: the call keeps the connection from sending a sign of life.
        let silence = HomeThread {
            _ = try dead.writing.continueTransaction(within: 10) { _, _ in Thread.sleep(forTimeInterval: 3) }
        }
        #expect(try other.lock(after: .start, limit: 1).isEmpty)
        try silence.value()
        let transaction = other.transaction(after: .start, try SampleStore.insertion(1))
        try other.publish(transaction)
        let late = dead.transaction(after: .start, try SampleStore.insertion(2))
        // The server has ended the connection. If the node learns of it only after it has sent COMMIT, it asks.
        let code = code { try dead.publish(late) }
        #expect(code == .unreachable || code == .uncertain)
        #expect(try !dead.outcome(of: late.position.id))
        #expect(try other.newest() == transaction.position)
        // The node continues.
        #expect(try dead.lock(after: .start, limit: 10).map(\.position) == [transaction.position])
        dead.unlock()
    }

    @Test("A node that works longer than the time of the lock keeps the lock, and commits")
    func longWork() throws {
        let fixture = try HomeFixture()
        let (busy, other) = (try fixture.home(lockTimeout: 1), try fixture.home())
        for id in Int64(1)...2 {
            let position = try busy.newest()
            _ = try busy.lock(after: position, limit: 1)
            let next = HomeThread { try other.lock(after: position, limit: 1).map(\.position) }
            // As a block or an import in the working copy.
            Thread.sleep(forTimeInterval: 3)
            let transaction = busy.transaction(after: position, try SampleStore.insertion(id))
            try busy.publish(transaction)
            #expect(try next.value() == [transaction.position])
            other.unlock()
        }
    }

    @Test("A node that is stuck with the lock loses it after the time for its work")
    func stuckWork() throws {
        let fixture = try HomeFixture()
        let (stuck, other) = (try fixture.home(), try fixture.home())
        // The server waits one second, and the node sends signs of life for three.
        _ = try stuck.lock(after: .start, limit: 1)
        _ = try stuck.writing.continueTransaction(within: 10) { connection, deadline in
            try connection.run(
                [HomeSQL.set("idle_in_transaction_session_timeout", seconds: 1)],
                until: deadline
            )
        }
        stuck.lockKeeper.end()
        let keeper = LockKeeper(stuck.writing, lockTimeout: 1, timeout: 5, limit: 3)
        keeper.begin()
        let start = ContinuousClock.now
        #expect(try other.lock(after: .start, limit: 1).isEmpty)
        // Without signs of life, the lock would be free after one second.
        #expect(start.duration(to: .now) > .seconds(2.5))
        other.unlock()
        let late = stuck.transaction(after: .start, try SampleStore.insertion(1))
        let code = code { try stuck.publish(late) }
        #expect(code == .unreachable || code == .uncertain)
    }

    @Test("The server looks after some seconds whether a silent client is still there, on all connections")
    func silentClients() throws {
        let fixture = try HomeFixture()
        let home = try fixture.home()
        let names = ["tcp_user_timeout", "tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count"]
        for slot in [home.writing, home.reading, home.reporting] {
            let values = try slot.use(within: 10) { connection, deadline in
                let statements = names.map { PostgresStatement(sql: "SHOW \($0)") }
                return try connection.run(statements, until: deadline).map { try $0.text(row: 0, column: 0) }
            }
            // Milliseconds, then seconds.
            #expect(values == ["5000", "5", "2", "3"])
        }
    }

    @Test(
        "The lock of a machine that has died is free after some seconds, also if the limit for idle sessions is longer",
        .enabled(if: DeadMachine.isAllowed, "needs the right to close a connection without a packet (CAP_NET_ADMIN)")
    )
    func deadMachine() throws {
        let fixture = try HomeFixture()
        let (dead, other) = (try fixture.home(lockTimeout: 3600), try fixture.home())
        _ = try dead.lock(after: .start, limit: 1)
        let isSilent = try dead.writing.continueTransaction(within: 10) { connection, _ in
            DeadMachine.silence(connection.socket)
        }
        try #require(isSilent == true)
        dead.close()
        #expect(try other.lock(after: .start, limit: 1).isEmpty)
        other.unlock()
    }

    @Test("A closed home has no thread that still connects, so the process may end")
    func closesWhileConnecting() throws {
        // A server that accepts connections and never answers.
        let (listener, port) = try Loopback.listen()
        defer { close(listener) }
        let home = try PostgresHome(
            "host=127.0.0.1 port=\(port) user=member dbname=shop sslmode=disable",
            store: "orders",
            timeout: 60
        )
        home.listen {}
        let client = accept(listener, nil, nil)
        defer { close(client) }
        home.close()
        // After its request to connect comes the end of the connection.
        var bytes = [UInt8](repeating: 0, count: 4096)
        var count = 0
        repeat { count = recv(client, &bytes, bytes.count, Int32(MSG_DONTWAIT)) } while count > 0
        #expect(count == 0)
    }

    @Test("A thread of a home may close it")
    func closesOnItsThread() async throws {
        let fixture = try HomeFixture()
        let home = try fixture.home(timeout: 600)
        let (calls, continuation) = AsyncStream.makeStream(of: Void.self)
        home.listen {
            home.close()
            continuation.finish()
        }
        for await _ in calls {}
    }

    @Test("Reports do not use the connection for reads, so neither waits for the other")
    func reportingConnection() throws {
        let fixture = try HomeFixture()
        let home = try fixture.home()
        let position = try home.newest()
        try home.reading.use(within: 10) { _, _ in
            let reported = try home.report(position, of: UUID(), named: "node").position
            #expect(reported == position)
            let names = try home.nodes().map(\.name)
            #expect(names == ["node"])
        }
        try home.reporting.use(within: 10) { _, _ in
            let first = try home.reserveIDs(1)
            #expect(first > 0)
            let newest = try home.newest()
            #expect(newest == position)
        }
    }
}

/// The end of a connection that the other side does not notice, as if this machine had died.
private enum DeadMachine {
    /// Whether this process may end connections so. Containers often forbid it.
    static let isAllowed: Bool = {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        return silence(descriptor)
    }()

    /// Makes a socket send nothing any more, also when it is closed.
    ///
    /// The kernel moves connections between machines in this mode. Returns false if the process may not use it.
    static func silence(_ descriptor: Int32) -> Bool {
        var isOn: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        return setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_REPAIR, &isOn, size) == 0
    }
}
