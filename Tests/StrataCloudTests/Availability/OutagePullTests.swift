import Foundation
import Strata
import StrataPipeline
import StrataTesting
import Synchronization
import Testing

@testable import StrataCloud

/// Pulls and downloads wait for the same circuit breaker as operations, and report their results to it.
@Suite(.timeLimit(.minutes(2))) struct OutagePullTests {
    private static let away = RemoteError(.unreachable, "connection refused")
    private static let cut = RemoteError(.answerLost, "The connection was reset.")

    @Test func `a pull that somebody calls for is tried at once, throws, and ends an outage when it succeeds`()
        async throws
    {
        let world = try await OutageWorld()
        try await world.fill(5, "sent")
        try await world.stage.drain()
        try await world.fill(20)
        world.fail(with: Self.away)
        await #expect(throws: RemoteError.self) { try await world.account.pull() }
        #expect(world.account.outage != nil)
        // No upload is sent during the outage.
        let puts = world.requests.count { $0.verb == "PUT" }
        world.account.push.resume()
        try await world.settle()
        #expect(world.requests.count { $0.verb == "PUT" } == puts)
        let count = world.requests.count
        await #expect(throws: RemoteError.self) { try await world.account.pull() }
        #expect(world.requests.count == count + 1)
        world.fail(nil)
        try await world.account.pull()
        #expect(world.account.outage == nil)
        try await world.settle()
        #expect(try await world.operations().isEmpty)
        await world.account.close()
    }

    @Test func `pulls by themselves wait until the remote is there again, and begin then`() async throws {
        let world = try await OutageWorld { $0.pull = .every(.seconds(10)) }
        world.stage.remote.folder("home")
        try await world.pass(1)
        world.fail(with: Self.away)
        try await world.pass(60)
        let lists = world.requests.count { $0.verb == "LIST" }
        try await world.pass(600)
        #expect(world.requests.count { $0.verb == "LIST" } == lists)
        world.stage.remote.write("home/x", "1")
        world.fail(nil)
        try await world.pass(61)
        let paths = try await world.stage.numbers().keys.filter { $0.hasPrefix("home/") }
        #expect(paths == ["home/x"])
        await world.account.close()
    }

    @Test func `an operation that waits for a pull goes on though the pull's connection breaks`() async throws {
        let world = try await OutageWorld()
        try await world.stage.commit { _ = try $0.createNode(at: "/f/a") }
        try await world.stage.drain()
        // Another machine deletes the folder.
        world.stage.remote.write("home/f/a", nil)
        world.stage.remote.write("home/f", nil)
        try await world.stage.commit { cloud in _ = try cloud.createNode(at: "/f/b") }
        let left = Mutex(15)
        world.fail { request in
            guard request.verb == "LIST", left.withLock({ $0 }) > 0 else { return nil }
            left.withLock { $0 -= 1 }
            return .before(Self.cut)
        }
        world.account.push.resume()
        try await world.pass(1_200)
        #expect(left.withLock { $0 } == 0)
        #expect(try await world.operations().isEmpty)
        #expect(world.stage.remote.tree["home/f/b"] != nil)
        await world.account.close()
    }

    @Test(arguments: [away, cut])
    func `a download that comes further each time arrives, however often its connection breaks`(error: RemoteError)
        async throws
    {
        let world = try await OutageWorld()
        world.stage.remote.folder("home")
        let text = String(repeating: "0123456789", count: 4)
        world.stage.remote.write("home/film", text)
        try await world.account.pull()
        let node = try await world.stage.read { try $0.node(at: "/film").id }
        // Each attempt delivers one byte.
        world.fail { $0.verb == "BODY" ? .cut(1) : nil }
        let account = world.account
        let task = Task { try await account.downloads.fetch(node) }
        for _ in 0..<120 {
            try await world.pass(1)
            if world.requests.count(where: { $0.verb.hasPrefix("GET") }) > 30 { break }
        }
        #expect(world.requests.count { $0.verb.hasPrefix("GET") } > 30)
        // The download also survives a long outage.
        world.fail(with: error)
        try await world.pass(300)
        world.fail(nil)
        try await world.pass(61)
        let file = try await task.value
        #expect(try String(contentsOf: file.file, encoding: .utf8) == text)
        file.release()
        await world.account.close()
    }

    @Test func `downloads that nobody has begun wait until the remote was asked once more, and send nothing`()
        async throws
    {
        let world = try await OutageWorld { $0.download = .all }
        world.stage.remote.folder("home")
        for number in 0..<30 { world.stage.remote.write("home/\(number)", "\(number)") }
        try await world.account.pull()
        let marked = { try await world.stage.read { try $0.nodesMarkedForDownload().count } }
        for _ in 0..<500 where try await marked() > 0 { try await world.pass(1) }
        #expect(try await marked() == 0)
        world.fail(with: Self.away)
        await #expect(throws: RemoteError.self) { try await world.account.pull() }
        let count = world.requests.count
        try await world.stage.commit { cloud in
            for number in 0..<30 { cloud.markNeedsDownload(try cloud.node(at: TreePath(["\(number)"])), .data) }
        }
        try await world.pass(300)
        #expect(world.requests.count - count < 20, "\(world.requests.count - count)")
        world.fail(nil)
        try await world.pass(61)
        for _ in 0..<500 where try await marked() > 0 { try await world.pass(1) }
        #expect(try await marked() == 0)
        await world.account.close()
    }
}
