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

    @Test("A requested pull is tried at once, throws on failure, and ends an outage if it succeeds")
    func requestedPull()
        async throws
    {
        let fixture = try await OutageFixture()
        try await fixture.fill(5, "sent")
        try await fixture.harness.drain()
        try await fixture.fill(20)
        fixture.fail(with: Self.away)
        await #expect(throws: RemoteError.self) { try await fixture.account.pull() }
        #expect(fixture.account.outage != nil)
        // No upload is sent during the outage.
        let puts = fixture.requests.count { $0.verb == "PUT" }
        fixture.account.uploads.resume()
        try await fixture.settle()
        #expect(fixture.requests.count { $0.verb == "PUT" } == puts)
        let count = fixture.requests.count
        await #expect(throws: RemoteError.self) { try await fixture.account.pull() }
        #expect(fixture.requests.count == count + 1)
        fixture.fail(nil)
        try await fixture.account.pull()
        #expect(fixture.account.outage == nil)
        try await fixture.settle()
        #expect(try await fixture.operations().isEmpty)
        await fixture.account.close()
    }

    @Test("Automatic pulls wait until the remote is reachable, and start then")
    func automaticPulls() async throws {
        let fixture = try await OutageFixture { $0.pull = .every(.seconds(10)) }
        fixture.harness.remote.folder("home")
        try await fixture.pass(1)
        fixture.fail(with: Self.away)
        try await fixture.pass(60)
        let lists = fixture.requests.count { $0.verb == "LIST" }
        try await fixture.pass(600)
        #expect(fixture.requests.count { $0.verb == "LIST" } == lists)
        fixture.harness.remote.write("home/x", "1")
        fixture.fail(nil)
        try await fixture.pass(61)
        let paths = try await fixture.harness.numbers().keys.filter { $0.hasPrefix("home/") }
        #expect(paths == ["home/x"])
        await fixture.account.close()
    }

    @Test("An operation that waits for a pull continues although the pull's connection breaks")
    func waitingForPull() async throws {
        let fixture = try await OutageFixture()
        try await fixture.harness.commit { _ = try $0.createNode(at: "/f/a") }
        try await fixture.harness.drain()
        // Another machine deletes the folder.
        fixture.harness.remote.write("home/f/a", nil)
        fixture.harness.remote.write("home/f", nil)
        try await fixture.harness.commit { cloud in _ = try cloud.createNode(at: "/f/b") }
        let left = Mutex(15)
        fixture.fail { request in
            guard request.verb == "LIST", left.withLock({ $0 }) > 0 else { return nil }
            left.withLock { $0 -= 1 }
            return .before(Self.cut)
        }
        fixture.account.uploads.resume()
        try await fixture.pass(1_200)
        #expect(left.withLock { $0 } == 0)
        #expect(try await fixture.operations().isEmpty)
        #expect(fixture.harness.remote.tree["home/f/b"] != nil)
        await fixture.account.close()
    }

    @Test(
        "A download that progresses in each attempt arrives, however often its connection breaks",
        arguments: [away, cut]
    )
    func progressingDownload(error: RemoteError)
        async throws
    {
        let fixture = try await OutageFixture()
        fixture.harness.remote.folder("home")
        let text = String(repeating: "0123456789", count: 4)
        fixture.harness.remote.write("home/film", text)
        try await fixture.account.pull()
        let node = try await fixture.harness.read { try $0.node(at: "/film").id }
        // Each attempt delivers one byte.
        fixture.fail { $0.verb == "BODY" ? .cut(1) : nil }
        let account = fixture.account
        let task = Task { try await account.downloads.fetch(node) }
        for _ in 0..<120 {
            try await fixture.pass(1)
            if fixture.requests.count(where: { $0.verb.hasPrefix("GET") }) > 30 { break }
        }
        #expect(fixture.requests.count { $0.verb.hasPrefix("GET") } > 30)
        // The download also survives a long outage.
        fixture.fail(with: error)
        try await fixture.pass(300)
        fixture.fail(nil)
        try await fixture.pass(61)
        let file = try await task.value
        #expect(try String(contentsOf: file.file, encoding: .utf8) == text)
        file.release()
        await fixture.account.close()
    }

    @Test("Automatic downloads wait for a successful probe, and send no requests before it")
    func queuedDownloads()
        async throws
    {
        let fixture = try await OutageFixture { $0.download = .all }
        fixture.harness.remote.folder("home")
        for number in 0..<30 { fixture.harness.remote.write("home/\(number)", "\(number)") }
        try await fixture.account.pull()
        let marked = { try await fixture.harness.read { try $0.nodesMarkedForDownload().count } }
        for _ in 0..<500 where try await marked() > 0 { try await fixture.pass(1) }
        #expect(try await marked() == 0)
        fixture.fail(with: Self.away)
        await #expect(throws: RemoteError.self) { try await fixture.account.pull() }
        let count = fixture.requests.count
        try await fixture.harness.commit { cloud in
            for number in 0..<30 { cloud.markNeedsDownload(try cloud.node(at: TreePath(["\(number)"])), .data) }
        }
        try await fixture.pass(300)
        #expect(fixture.requests.count - count < 20, "\(fixture.requests.count - count)")
        fixture.fail(nil)
        try await fixture.pass(61)
        for _ in 0..<500 where try await marked() > 0 { try await fixture.pass(1) }
        #expect(try await marked() == 0)
        await fixture.account.close()
    }
}
