import Foundation
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

/// A write with an answer is done only if the answer has a version, or the remote has the written object.
@Suite struct ConfirmedWriteTests {
    /// A harness whose remote swallows the first writes to a key.
    ///
    /// - Parameter times: the number of writes that it swallows.
    private func harness(
        swallowing key: String,
        _ abilities: RemoteCapabilities = RemoteCapabilities(isLocal: true),
        times: Int = 1
    ) async throws -> CloudHarness {
        let left = Mutex(times)
        let remote = StrictRemote(abilities) { request, _ in
            guard request.verb == "STORE", request.key == key else { return nil }
            return left.withLock { left in
                left -= 1
                return left >= 0 ? .swallowed : nil
            }
        }
        return try await CloudHarness(
            remote,
            options: CloudOptions(
                retry: RetryPolicy(maxAttempts: 3, base: .milliseconds(1), cap: .milliseconds(2)),
                partSize: 8
            )
        )
    }

    /// Expects that everything has arrived, and that a pull deletes nothing on this machine.
    private func expectArrived(_ harness: CloudHarness, _ tree: [String: String]) async throws {
        try await harness.drain()
        #expect(harness.remote.tree == tree)
        #expect(try await harness.queued() == [])
        #expect(try await harness.account.pull() == PullSummary())
        await harness.account.close()
    }

    @Test("An upload that was acknowledged and not stored is sent again", arguments: [nil, 4])
    func swallowedUpload(partSize: Int64?) async throws {
        let abilities = RemoteCapabilities(minimumPartSize: partSize, isLocal: true)
        let harness = try await harness(swallowing: "home/n", abilities)
        try await harness.commit { _ = try $0.createNode(at: "/n") }
        try await expectArrived(harness, ["home/": "", "home/n": "content of /n"])
    }

    @Test("The same applies to a replacement with content of the same size")
    func swallowedReplacement() async throws {
        let count = Mutex(0)
        let remote = StrictRemote { request, _ in
            guard request.verb == "STORE", request.key == "home/n" else { return nil }
            return count.withLock { count in
                count += 1
                return count == 2 ? .swallowed : nil
            }
        }
        let harness = try await CloudHarness(
            remote,
            options: CloudOptions(retry: RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)))
        )
        for text in ["old", "new"] {
            try await harness.commit { [handler = harness.handler] cloud in
                let node = try cloud.find("/n")
                let there = try node ?? cloud.createNode(at: "/n")
                handler.set(text, of: there.id)
                if node != nil { try cloud.upload(there) }
            }
            try await harness.drain()
        }
        #expect(count.withLock { $0 } == 3)
        try await expectArrived(harness, ["home/": "", "home/n": "new"])
    }

    @Test(
        "The writes of sidecars are checked too",
        arguments: ["home/n", "home/n%metadata", "home/n%thumbnail"]
    )
    func sidecarsAreChecked(key: String) async throws {
        let harness = try await harness(swallowing: key)
        try await harness.commit { cloud in
            _ = try cloud.createNode(at: "/n", sections: [.data, .metadata, .thumbnail])
        }
        try await harness.drain()
        let tree = harness.remote.tree
        #expect(["home/n", "home/n%metadata", "home/n%thumbnail"].allSatisfy { tree[$0] != nil })
        #expect(try await harness.queued() == [])
        #expect(try await harness.account.pull() == PullSummary())
        await harness.account.close()
    }

    @Test("Moves are checked too", arguments: [true, false])
    func movesAreChecked(moves: Bool) async throws {
        let harness = try await harness(swallowing: "home/f/m", RemoteCapabilities(moves: moves, isLocal: true))
        try await harness.fill(["/n"], folders: ["/f"])
        try await harness.commit { try $0.move($0.node(at: "/n"), to: "/f/m") }
        try await expectArrived(harness, ["home/": "", "home/f/": "", "home/f/m": "content of /n"])
    }

    @Test("Copies are checked too")
    func copiesAreChecked() async throws {
        let harness = try await harness(swallowing: "home/m")
        try await harness.fill(["/n"])
        try await harness.commit { _ = try $0.copy($0.node(at: "/n"), to: "/m") }
        try await expectArrived(harness, ["home/": "", "home/n": "content of /n", "home/m": "content of /n"])
    }

    @Test("Messages are checked too")
    func messagesAreChecked() async throws {
        let harness = try await harness(swallowing: "")
        let isFirst = Mutex(true)
        let bob = StrictRemote(name: "bob") { request, _ in
            guard request.verb == "STORE" else { return nil }
            return isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst ? .swallowed : nil
            }
        }
        harness.handler.others.withLock { $0 = ["bob": bob] }
        try await harness.fill(["/n"])
        try await harness.commit { _ = try $0.send($0.node(at: "/n"), to: ["bob"]) }
        try await harness.drain()
        #expect(bob.tree.values.contains("content of /n"))
        #expect(try await harness.queued() == [])
        await harness.account.close()
    }

    @Test("A remote that never stores the file is an error, and the local file stays")
    func neverStored() async throws {
        let harness = try await harness(swallowing: "home/n", times: .max)
        try await harness.commit { _ = try $0.createNode(at: "/n") }
        try await harness.drain()
        let messages = try await harness.read { try $0.failedOperations().flatMap { $0.failures.list.map(\.message) } }
        #expect(messages.count == 3)
        #expect(messages.allSatisfy { $0.contains("malformedAnswer") && $0.contains("The upload of 'home/n'") })
        _ = try await harness.account.pull()
        #expect(try await harness.tree().keys.contains("home/n"))
        await harness.account.close()
    }

    @Test("A listed object that cannot be read does not count as missing")
    func unreadableObject() async throws {
        let harness = try await CloudHarness()
        try await harness.fill(["/f/a", "/f/b", "/g/c"], folders: ["/f", "/g"])
        harness.remote.state.withLock { $0.unreadable = ["home/f/a"] }
        harness.remote.write("home/g/c", nil)
        #expect(try await harness.account.pull().deleted == 1)
        #expect(try await harness.tree().keys.sorted() == ["home/f/", "home/f/a", "home/f/b", "home/g/"])
        // The pull keeps missing files of the same folder as well: the unreadable entry may be one of them.
        harness.remote.write("home/f/b", nil)
        #expect(try await harness.account.pull() == PullSummary())
        harness.remote.state.withLock { $0.unreadable = [] }
        #expect(try await harness.account.pull().deleted == 1)
        #expect(try await harness.tree().keys.contains("home/f/a"))
        await harness.account.close()
    }

    @Test("A fallback version is recognized as one, also when it comes from the store")
    func fallbackVersion() throws {
        let tag = ETag.ofLastResort(size: 3, modifiedAt: Date(timeIntervalSince1970: 784_111_777.9))
        #expect(tag == ETag.ofLastResort(size: 3, modifiedAt: Date(timeIntervalSince1970: 784_111_777)))
        #expect(tag.isWeak && tag.isOfLastResort && ETag(stored: tag.stored) == tag)
        #expect(!ETag("strata-time-1-2").isOfLastResort && !ETag("x", isWeak: true).isOfLastResort)
    }
}
