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

    @Test(arguments: faults)
    func `two thousand operations ask a remote that is away at most ten times in a minute, and write nothing`(
        error: RemoteError
    ) async throws {
        let world = try await OutageWorld()
        try await world.fill(1, "sent")
        try await world.stage.drain()
        try await world.fill(2_000)
        world.fail(with: error)
        let before = world.requests.count
        world.account.push.resume()
        try await world.pass(60)
        let first = world.requests.count - before
        #expect((3...10).contains(first), "\(first)")
        // After the first minute there is one request per pause. A pause lasts at least half a minute.
        let commits = try world.stage.stack.commitCount()
        try await world.pass(600)
        let later = world.requests.count - before - first
        #expect((9...21).contains(later), "\(later)")
        #expect(try world.stage.stack.commitCount() == commits)
        let rows = try await world.operations()
        #expect(rows.count == 2_000)
        #expect(rows.allSatisfy { $0.status == .pending && $0.attempts == 0 })
        // One success releases all operations.
        world.fail(nil)
        try await world.pass(61)
        #expect(try await world.operations().isEmpty)
        #expect(world.account.outage == nil)
        await world.account.close()
    }

    @Test func `an account that has never reached its remote asks it as seldom`() async throws {
        let world = try await OutageWorld()
        try await world.fill(500)
        world.fail(with: Self.away)
        world.account.push.resume()
        try await world.pass(60)
        #expect((3...10).contains(world.requests.count), "\(world.requests.count)")
        await world.account.close()
    }

    @Test(arguments: ["PUT", "DELETE", "MKCOL", "HEAD"], [away, cut])
    func `an operation whose connection breaks again and again is tried until it is through`(
        verb: String,
        error: RemoteError
    ) async throws {
        let world = try await OutageWorld()
        try await world.stage.commit { cloud in
            for name in ["kept", "doomed", "moved"] { try cloud.createNode(at: TreePath([name])) }
        }
        try await world.stage.drain()
        try await world.stage.commit { cloud in
            try cloud.delete(cloud.node(at: "/doomed"))
            try cloud.move(cloud.node(at: "/moved"), to: "/elsewhere")
            try cloud.createNode(at: "/folder/new")
            _ = try cloud.copy(cloud.node(at: "/kept"), to: "/copy")
        }
        let left = Mutex(12)
        world.fail { request in
            guard request.verb == verb, left.withLock({ $0 }) > 0 else { return nil }
            left.withLock { $0 -= 1 }
            return .before(error)
        }
        world.account.push.resume()
        try await world.pass(1_800)
        #expect(try await world.operations().isEmpty)
        let tree = Set(world.stage.remote.tree.keys)
        #expect(tree == ["home/", "home/kept", "home/elsewhere", "home/folder/", "home/folder/new", "home/copy"])
        let attempts = try await world.stage.read { try $0.context.fetch(FinishedOperation.all).map(\.attempts) }
        #expect(attempts.allSatisfy { $0 == 1 }, "\(attempts)")
        await world.account.close()
    }

    @Test(arguments: [away, cut])
    func `a large upload that comes one part further each time arrives`(error: RemoteError) async throws {
        let count = Mutex(0)
        let world = try await OutageWorld(RemoteCapabilities(minimumPartSize: 4, isLocal: true)) { options in
            (options.partSize, options.maxConcurrentParts) = (5, 1)
        }
        let text = String(repeating: "12345", count: 30)
        try await world.stage.commit { cloud in
            world.stage.handler.set(text, of: try cloud.createNode(at: "/film").id)
        }
        world.fail { request in
            guard request.verb.hasPrefix("PART") else { return nil }
            // Every second request breaks.
            let isCut = count.withLock { count in
                count += 1
                return count % 2 == 0
            }
            return isCut ? .before(error) : nil
        }
        let start = world.clock.now
        world.account.push.resume()
        for _ in 0..<200 where try await !world.operations().isEmpty { try await world.pass(1) }
        #expect(world.stage.remote.tree["home/film"] == text)
        // Progress keeps the pauses short.
        #expect(world.clock.now.timeIntervalSince(start) <= 70)
        #expect(try await world.operations().isEmpty)
        await world.account.close()
    }

    @Test func `what a server asks of one holds for all, and its answers about a file count as attempts`() async throws
    {
        let world = try await OutageWorld { $0.retry = RetryPolicy(maxAttempts: 3) }
        try await world.fill(40)
        let left = Mutex(1)
        world.fail { request in
            guard request.verb == "PUT", left.withLock({ $0 }) > 0 else { return nil }
            left.withLock { $0 -= 1 }
            return .before(RemoteError(.throttled, "Later.", status: 429, retryAfter: .seconds(300)))
        }
        world.account.push.resume()
        try await world.settle()
        let count = world.requests.count
        try await world.pass(299)
        #expect(world.requests.count == count)
        #expect(world.account.outage?.restsUntil != nil)
        try await world.pass(4)
        #expect(try await world.operations().isEmpty)
        world.fail { request in
            switch request.description {
            case "PUT home/refused": .before(RemoteError(.forbidden, "No.", status: 403))
            case "PUT home/sick": .before(RemoteError(.unavailable, "Oops.", status: 500))
            default: nil
            }
        }
        // The pipeline runs: the remote refuses files that are committed from here on.
        try await world.stage.commit { _ = try $0.createNode(at: "/refused") }
        try await world.stage.commit { _ = try $0.createNode(at: "/sick") }
        try await world.pass(30)
        #expect(try await world.operations().map(\.status) == [.failed, .failed])
        #expect(try await world.operations().map(\.attempts) == [3, 3])
        await world.account.close()
    }

    @Test func `a file that always breaks the connection keeps no other one from being sent`() async throws {
        let world = try await OutageWorld()
        try await world.stage.commit { cloud in
            let node = try cloud.createNode(at: "/poison")
            for operation in try cloud.operations(for: node) { operation.priority = 9 }
        }
        try await world.fill(50)
        world.fail { $0.description == "PUT home/poison" ? .before(Self.cut) : nil }
        world.account.push.resume()
        try await world.pass(120)
        #expect(world.stage.remote.tree.count == 1 + 50)
        #expect(try await world.operations().map(\.attempts) == [0])
        let tries = world.requests.filter { $0.description == "PUT home/poison" }.count
        #expect((4...14).contains(tries), "\(tries)")
        await world.account.close()
    }

    @Test func `the return of the network has the remote asked at once`() async throws {
        let network = ManualConstraint(.network, isSatisfied: true)
        let world = try await OutageWorld { $0.reachability = network }
        try await world.fill(20)
        world.fail(with: Self.away)
        world.account.push.resume()
        try await world.pass(100)
        network.set(false)
        world.fail(nil)
        let count = world.requests.count
        // The account sends no request without a network.
        try await world.pass(200)
        #expect(world.requests.count == count)
        #expect(world.account.outage != nil && world.account.outage?.restsUntil == nil)
        network.set(true)
        try await world.settle()
        #expect(try await world.operations().isEmpty)
        await world.account.close()
    }

    @Test func `messages that do not need the account's remote are sent while that is away`() async throws {
        let world = try await OutageWorld()
        let bob = StrictRemote(name: "bob")
        world.stage.handler.others.withLock { $0["bob"] = bob }
        try await world.fill(20)
        world.fail(with: Self.away)
        world.account.push.resume()
        try await world.pass(30)
        let count = world.requests.count
        try await world.stage.commit { cloud in
            let note = cloud.context.insert(Note(text: "Hello"))
            _ = try cloud.send("greeting.txt", content: note.id, to: ["bob"])
        }
        try await world.settle()
        #expect(bob.tree.count == 2)
        #expect(try await world.operations().count == 20)
        #expect(world.requests.count == count)
        // An unreachable inbox does not delay other operations either.
        world.fail(nil)
        try await world.pass(61)
        #expect(try await world.operations().isEmpty)
        await world.account.close()
    }

    @Test func `an account that is opened anew during an outage goes on when that ends`() async throws {
        let world = try await OutageWorld()
        try await world.fill(20)
        world.fail(with: Self.away)
        world.account.push.resume()
        try await world.pass(100)
        await world.account.close()
        let again = try await OutageWorld(stack: world.stage.stack, clock: world.clock, remote: world.stage.remote)
        again.account.push.resume()
        try await again.pass(10)
        #expect(try await again.operations().count == 20)
        world.fail(nil)
        try await again.pass(61)
        #expect(try await again.operations().isEmpty)
        await again.account.close()
    }

    @Test func `an application sees an outage, and its end`() async throws {
        let world = try await OutageWorld()
        #expect(world.account.outage == nil)
        var changes = world.account.outageChanges.makeAsyncIterator()
        #expect(try #require(await changes.next()) == nil)
        try await world.fill(1)
        world.fail(with: Self.away)
        let start = world.clock.now
        world.account.push.resume()
        try await world.pass(10)
        let outage = try #require(world.account.outage)
        #expect(outage.since == start)
        #expect(outage.error.code == .unreachable)
        #expect(try #require(outage.restsUntil) > world.clock.now)
        #expect(try #require(await changes.next())?.since == start)
        world.fail(nil)
        try await world.pass(60)
        #expect(world.account.outage == nil)
        #expect(try #require(await changes.next()) == nil)
        await world.account.close()
        #expect(await changes.next() == nil)
    }
}
