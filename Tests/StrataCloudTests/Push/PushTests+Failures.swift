import Foundation
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

/// Lost answers, and servers that fail, refuse or defer requests.
extension PushTests {
    @Test(
        "A file that a server has stored incompletely is uploaded again, and does not count as a new file",
        arguments: [true, false]
    )
    func truncatedByServer(isNew: Bool) async throws {
        let cuts = Mutex(isNew ? 1 : 0)
        let harness = try await CloudHarness(
            StrictRemote { request, _ in
                request.verb == "WRITE" && cuts.takeOne() ? .cut(4) : nil
            },
            options: CloudOptions(retry: RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)))
        )
        try await harness.commit { _ = try $0.createNode(at: "/n") }
        try await harness.drain()
        if !isNew {
            cuts.withLock { $0 = 1 }
            try await harness.commit { cloud in
                let node = try cloud.node(at: "/n")
                harness.handler.set("written anew", of: node.id)
                try cloud.upload(node)
            }
            try await harness.drain()
        }
        #expect(harness.remote.tree == ["home/": "", "home/n": isNew ? "content of /n" : "written anew"])
        #expect(try await harness.read { try $0.conflicts().count } == 0)
    }

    @Test("A file from another machine is moved although the answer is lost", arguments: [nil, "theirs"] as [String?])
    func lostMoveAnswer(written: String?) async throws {
        let remote = Mutex<StrictRemote?>(nil)
        let isFirst = Mutex(1)
        let abilities = RemoteCapabilities(hasFolders: false, copies: true, moves: false, isLocal: true)
        let strict = StrictRemote(abilities) { request, _ in
            guard request.description == "DELETE home/a",
                isFirst.takeOne()
            else {
                return nil
            }
            // The other machine writes another version instead.
            if let written {
                remote.withLock { $0 }?.write("home/a", written)
                return nil
            }
            return .answerLost
        }
        remote.withLock { $0 = strict }
        strict.folder("home")
        strict.write("home/a", "0123456789")
        let harness = try await CloudHarness(
            strict,
            options: CloudOptions(retry: RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)))
        )
        try await harness.account.pull()
        try await harness.commit { try $0.move($0.node(at: "/a"), to: "/b") }
        try await harness.drain()
        #expect(strict.tree == ["home/": "", "home/b": written ?? "0123456789"])
        try await harness.account.pull()
        let node = try await harness.read { try $0.node(at: "/b").id }
        let file = try await harness.account.downloads.fetch(node)
        #expect(try String(contentsOf: file.file, encoding: .utf8) == written ?? "0123456789")
        file.release()
        #expect(try await harness.numbers().keys.filter { $0.hasPrefix("home/") } == ["home/b"])
        await harness.account.close()
        remote.withLock { $0 = nil }
    }

    @Test("An upload whose answer was lost is recognized at the next attempt, without a conflict") func m10()
        async throws
    {
        let lost = Mutex(0)
        let harness = try await CloudHarness(
            StrictRemote { request, _ in
                guard request.verb == "PUT" else { return nil }
                return lost.withLock { count in
                    count += 1
                    return count % 2 == 1 ? .answerLost : nil
                }
            },
            options: CloudOptions(retry: RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)))
        )
        try await harness.commit { _ = try $0.createNode(at: "/n") }
        try await harness.drain()
        try await harness.commit { cloud in
            let node = try cloud.node(at: "/n")
            harness.handler.set("again", of: node.id)
            try cloud.upload(node)
        }
        try await harness.drain()
        #expect(harness.remote.tree == ["home/": "", "home/n": "again"])
        #expect(try await harness.read { try $0.context.count(CloudConflict.all) } == 0)
        #expect(try await harness.read { try $0.context.count(FinishedOperation.all) } == 2)
    }

    @Test("An upload that fails at every attempt ends as a failed operation that lists its failures") func m11()
        async throws
    {
        let harness = try await CloudHarness(
            StrictRemote { request, _ in
                request.verb == "PUT" ? .before(RemoteError(.refused, "No.", status: 418)) : nil
            },
            options: CloudOptions(retry: RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)))
        )
        try await harness.commit { _ = try $0.createNode(at: "/n") }
        try await harness.drain()
        try await harness.read { cloud in
            let operation = try #require(cloud.operations(for: cloud.node(at: "/n")).first)
            #expect(operation.status == .failed)
            #expect(operation.failures.list.count == 10)
        }
    }

    @Test("Operations that were queued while the remote was unreachable are all sent when it is back") func m13()
        async throws
    {
        let isThere = Mutex(false)
        let network = ManualConstraint("the network", isSatisfied: false)
        let remote = StrictRemote { _, _ in
            isThere.withLock { $0 } ? nil : .before(RemoteError(.unreachable, "No route."))
        }
        let harness = try await CloudHarness(remote, options: CloudOptions(reachability: network))
        for folder in 0..<20 {
            try await harness.commit { cloud in
                for file in 0..<24 { try cloud.createNode(at: TreePath(["\(folder)", "\(file)"])) }
            }
        }
        harness.account.uploads.resume()
        for _ in 0..<2000 {
            let held = try await harness.read {
                try $0.context.count(QueuedOperation.where { $0.constraint == "the network" })
            }
            if held > 0 { break }
            try await Task.sleep(for: .milliseconds(1))
        }
        #expect(harness.remote.tree == [:])
        isThere.withLock { $0 = true }
        network.set(true)
        try await harness.drain()
        #expect(try await harness.read { try $0.context.count(QueuedOperation.all) } == 0)
        #expect(harness.remote.tree.count == 1 + 20 + 480)
        #expect(harness.remote.refusals == [])
    }

    @Test("An upload that the server defers is snoozed, and uses no attempt")
    func snoozedByServer() async throws {
        let count = Mutex(0)
        let harness = try await CloudHarness(
            StrictRemote { request, _ in
                guard request.verb == "PUT",
                    count.withLock({
                        $0 += 1; return $0 <= 15
                    })
                else { return nil }
                return .before(RemoteError(.throttled, "Later.", status: 429, retryAfter: .milliseconds(1)))
            }
        )
        try await harness.commit { _ = try $0.createNode(at: "/n") }
        try await harness.drain()
        #expect(harness.remote.tree["home/n"] != nil)
        #expect(try await harness.read { try $0.context.first(FinishedOperation.all)?.attempts } == 1)
    }

    @Test("An operation refused for its credentials waits until the credentials change")
    func refusedCredentials() async throws {
        let isKnown = Mutex(false)
        let harness = try await CloudHarness(
            StrictRemote { _, _ in isKnown.withLock { $0 } ? nil : .before(RemoteError(.unauthorized, "Who?")) }
        )
        try await harness.commit { _ = try $0.createNode(at: "/n") }
        try await harness.drain()
        let row = try await harness.read { try $0.context.first(QueuedOperation.all)?.snapshot }
        #expect(row?.status == .held && row?.attempts == 0)
        isKnown.withLock { $0 = true }
        try await harness.account.credentialsChanged()
        try await harness.drain()
        #expect(harness.remote.tree["home/n"] != nil)
    }
}
