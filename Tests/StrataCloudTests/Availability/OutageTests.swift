import Foundation
import Strata
import StrataPipeline
import StrataTesting
import Synchronization
import Testing

@testable import StrataCloud

/// An unreachable remote receives few requests: one probe serves all operations. No operation fails because of the
/// outage.
@Suite(.timeLimit(.minutes(5))) struct OutageTests {
    private static let away = RemoteError(.unreachable, "connection refused")
    private static let cut = RemoteError(.answerLost, "The connection was reset.")

    static let faults = [
        away, cut, RemoteError(.throttled, "Later.", status: 429), RemoteError(.unavailable, "Not now.", status: 503),
        RemoteError(.unavailable, "Bad gateway.", status: 502),
    ]

    @Test(
        "200 or 2,000 operations send at most ten requests per minute to an unreachable remote, and write nothing",
        arguments: zip(faults, [2_000] + Array(repeating: 200, count: faults.count - 1))
    )
    func fewProbes(
        error: RemoteError,
        count: Int
    ) async throws {
        let fixture = try await OutageFixture()
        try await fixture.fill(1, "sent")
        try await fixture.harness.drain()
        try await fixture.fill(count)
        fixture.fail(with: error)
        let before = fixture.requests.count
        fixture.account.uploads.resume()
        try await fixture.pass(60)
        let first = fixture.requests.count - before
        #expect((3...10).contains(first), "\(first)")
        // After the first minute there is one request per pause. A pause lasts at least half a minute.
        let commits = try fixture.harness.stack.commitCount()
        try await fixture.pass(600)
        let later = fixture.requests.count - before - first
        #expect((9...21).contains(later), "\(later)")
        #expect(try fixture.harness.stack.commitCount() == commits)
        let rows = try await fixture.operations()
        #expect(rows.count == count)
        #expect(rows.allSatisfy { $0.status == .pending && $0.attempts == 0 })
        // One success releases all operations.
        fixture.fail(nil)
        try await fixture.pass(61)
        #expect(try await fixture.operations().isEmpty)
        #expect(fixture.account.outage == nil)
        await fixture.account.close()
    }

    @Test("An account that has never reached its remote sends as few requests")
    func neverReached() async throws {
        let fixture = try await OutageFixture()
        try await fixture.fill(500)
        fixture.fail(with: Self.away)
        fixture.account.uploads.resume()
        try await fixture.pass(60)
        #expect((3...10).contains(fixture.requests.count), "\(fixture.requests.count)")
        await fixture.account.close()
    }

    @Test(
        "An operation whose connection breaks repeatedly is retried until it succeeds",
        arguments: ["PUT", "DELETE", "MKCOL", "HEAD"],
        [away, cut]
    )
    func brokenConnections(
        verb: String,
        error: RemoteError
    ) async throws {
        let fixture = try await OutageFixture()
        try await fixture.harness.commit { cloud in
            for name in ["kept", "doomed", "moved"] { try cloud.createNode(at: TreePath([name])) }
        }
        try await fixture.harness.drain()
        try await fixture.harness.commit { cloud in
            try cloud.delete(cloud.node(at: "/doomed"))
            try cloud.move(cloud.node(at: "/moved"), to: "/elsewhere")
            try cloud.createNode(at: "/folder/new")
            _ = try cloud.copy(cloud.node(at: "/kept"), to: "/copy")
        }
        let left = Mutex(12)
        fixture.fail { request in
            guard request.verb == verb, left.withLock({ $0 }) > 0 else { return nil }
            left.withLock { $0 -= 1 }
            return .before(error)
        }
        fixture.account.uploads.resume()
        for _ in 0..<60 where try await !fixture.operations().isEmpty { try await fixture.pass(30) }
        #expect(try await fixture.operations().isEmpty)
        let tree = Set(fixture.harness.remote.tree.keys)
        #expect(tree == ["home/", "home/kept", "home/elsewhere", "home/folder/", "home/folder/new", "home/copy"])
        let attempts = try await fixture.harness.read { try $0.context.fetch(FinishedOperation.all).map(\.attempts) }
        #expect(attempts.allSatisfy { $0 == 1 }, "\(attempts)")
        await fixture.account.close()
    }

    @Test("A large upload that completes one more part in each attempt arrives", arguments: [away, cut])
    func progressingUpload(error: RemoteError) async throws {
        let count = Mutex(0)
        let fixture = try await OutageFixture(RemoteCapabilities(minimumPartSize: 4, isLocal: true)) { options in
            (options.partSize, options.maxConcurrentParts) = (5, 1)
        }
        let text = String(repeating: "12345", count: 30)
        try await fixture.harness.commit { cloud in
            fixture.harness.handler.set(text, of: try cloud.createNode(at: "/film").id)
        }
        fixture.fail { request in
            guard request.verb.hasPrefix("PART") else { return nil }
            // Every second request breaks.
            let isCut = count.withLock { count in
                count += 1
                return count % 2 == 0
            }
            return isCut ? .before(error) : nil
        }
        let start = fixture.clock.now
        fixture.account.uploads.resume()
        for _ in 0..<200 where try await !fixture.operations().isEmpty { try await fixture.pass(1) }
        #expect(fixture.harness.remote.tree["home/film"] == text)
        // Progress keeps the pauses short.
        #expect(fixture.clock.now.timeIntervalSince(start) <= 70)
        #expect(try await fixture.operations().isEmpty)
        await fixture.account.close()
    }

    @Test("A pause that a server asks for applies to all operations; an answer about a file uses an attempt")
    func requestedPauses() async throws {
        let fixture = try await OutageFixture { $0.retry = RetryPolicy(maxAttempts: 3) }
        try await fixture.fill(40)
        let left = Mutex(1)
        fixture.fail { request in
            guard request.verb == "PUT", left.withLock({ $0 }) > 0 else { return nil }
            left.withLock { $0 -= 1 }
            return .before(RemoteError(.throttled, "Later.", status: 429, retryAfter: .seconds(300)))
        }
        fixture.account.uploads.resume()
        try await fixture.settle()
        let count = fixture.requests.count
        try await fixture.pass(299)
        #expect(fixture.requests.count == count)
        #expect(fixture.account.outage?.restsUntil != nil)
        try await fixture.pass(4)
        #expect(try await fixture.operations().isEmpty)
        fixture.fail { request in
            switch request.description {
            case "PUT home/refused": .before(RemoteError(.forbidden, "No.", status: 403))
            case "PUT home/sick": .before(RemoteError(.unavailable, "Oops.", status: 500))
            default: nil
            }
        }
        // The pipeline runs: the remote refuses files that are committed from here on.
        try await fixture.harness.commit { _ = try $0.createNode(at: "/refused") }
        try await fixture.harness.commit { _ = try $0.createNode(at: "/sick") }
        try await fixture.pass(30)
        #expect(try await fixture.operations().map(\.status) == [.failed, .failed])
        #expect(try await fixture.operations().map(\.attempts) == [3, 3])
        await fixture.account.close()
    }

    @Test("A file that always breaks the connection does not prevent other uploads")
    func oneBadFile() async throws {
        let fixture = try await OutageFixture()
        try await fixture.harness.commit { cloud in
            let node = try cloud.createNode(at: "/poison")
            for operation in try cloud.operations(for: node) { operation.priority = 9 }
        }
        try await fixture.fill(50)
        fixture.fail { $0.description == "PUT home/poison" ? .before(Self.cut) : nil }
        fixture.account.uploads.resume()
        try await fixture.pass(120)
        #expect(fixture.harness.remote.tree.count == 1 + 50)
        #expect(try await fixture.operations().map(\.attempts) == [0])
        let tries = fixture.requests.filter { $0.description == "PUT home/poison" }.count
        #expect((4...14).contains(tries), "\(tries)")
        await fixture.account.close()
    }

    @Test("The return of the network starts a probe at once")
    func networkReturns() async throws {
        let network = ManualConstraint(.network, isSatisfied: true)
        let fixture = try await OutageFixture { $0.reachability = network }
        try await fixture.fill(20)
        fixture.fail(with: Self.away)
        fixture.account.uploads.resume()
        try await fixture.pass(100)
        network.set(false)
        fixture.fail(nil)
        let count = fixture.requests.count
        // The account sends no request without a network.
        try await fixture.pass(200)
        #expect(fixture.requests.count == count)
        #expect(fixture.account.outage != nil && fixture.account.outage?.restsUntil == nil)
        network.set(true)
        try await fixture.settle()
        #expect(try await fixture.operations().isEmpty)
        await fixture.account.close()
    }

    @Test("Messages that do not need the account's remote are sent during its outage")
    func otherRemotes() async throws {
        let fixture = try await OutageFixture()
        let bob = StrictRemote(name: "bob")
        fixture.harness.handler.others.withLock { $0["bob"] = bob }
        try await fixture.fill(20)
        fixture.fail(with: Self.away)
        fixture.account.uploads.resume()
        try await fixture.pass(30)
        let count = fixture.requests.count
        try await fixture.harness.commit { cloud in
            let note = cloud.context.insert(Note(text: "Hello"))
            _ = try cloud.send("greeting.txt", content: note.id, to: ["bob"])
        }
        try await fixture.settle()
        #expect(bob.tree.count == 2)
        #expect(try await fixture.operations().count == 20)
        #expect(fixture.requests.count == count)
        // An unreachable inbox does not delay other operations either.
        fixture.fail(nil)
        try await fixture.pass(61)
        #expect(try await fixture.operations().isEmpty)
        await fixture.account.close()
    }

    @Test("An account that is reopened during an outage continues when the outage ends")
    func reopenedAccount() async throws {
        let fixture = try await OutageFixture()
        try await fixture.fill(20)
        fixture.fail(with: Self.away)
        fixture.account.uploads.resume()
        try await fixture.pass(100)
        await fixture.account.close()
        let again = try await OutageFixture(
            stack: fixture.harness.stack,
            clock: fixture.clock,
            remote: fixture.harness.remote
        )
        again.account.uploads.resume()
        try await again.pass(10)
        #expect(try await again.operations().count == 20)
        fixture.fail(nil)
        try await again.pass(61)
        #expect(try await again.operations().isEmpty)
        await again.account.close()
    }

    @Test("An application sees the beginning and the end of an outage")
    func visibleOutage() async throws {
        let fixture = try await OutageFixture()
        #expect(fixture.account.outage == nil)
        var changes = fixture.account.outageChanges.makeAsyncIterator()
        #expect(try #require(await changes.next()) == nil)
        try await fixture.fill(1)
        fixture.fail(with: Self.away)
        let start = fixture.clock.now
        fixture.account.uploads.resume()
        try await fixture.pass(10)
        let outage = try #require(fixture.account.outage)
        #expect(outage.since == start)
        #expect(outage.error.code == .unreachable)
        #expect(try #require(outage.restsUntil) > fixture.clock.now)
        #expect(try #require(await changes.next())?.since == start)
        fixture.fail(nil)
        try await fixture.pass(60)
        #expect(fixture.account.outage == nil)
        #expect(try #require(await changes.next()) == nil)
        await fixture.account.close()
        #expect(await changes.next() == nil)
    }
}
