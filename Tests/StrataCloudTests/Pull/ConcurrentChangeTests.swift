import Foundation
import Strata
import StrataPipeline
import Synchronization
import Testing

import StrataTesting
@testable import StrataCloud

/// This machine and other machines change the same nodes at the same time. These cases were found by reading the code.
@Suite struct ConcurrentChangeTests {
    private func harness(_ paths: [TreePath], _ remote: StrictRemote = StrictRemote()) async throws -> CloudHarness {
        let harness = try await CloudHarness(
            remote,
            options: CloudOptions(retry: RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)))
        )
        try await harness.fill(paths)
        _ = harness.handler.pulled()
        return harness
    }

    @Test("Content of a locally moved folder does not count as missing before the move is recorded")
    func movedFolder()
        async throws
    {
        let isFirst = Mutex(true)
        let remote = StrictRemote { request, _ in
            guard request.verb == "MOVE",
                isFirst.withLock({ first in
                    defer { first = false }; return first
                })
            else { return nil }
            return .answerLost
        }
        let harness = try await CloudHarness(
            remote,
            options: CloudOptions(retry: RetryPolicy(base: .seconds(3600), cap: .seconds(7200)))
        )
        try await harness.commit { cloud in
            for path in ["/f/x", "/f/y"] as [TreePath] { try cloud.createNode(at: path) }
        }
        try await harness.drain()
        try await harness.commit { try $0.move($0.node(at: "/f"), to: "/g") }
        harness.account.uploads.resume()
        for _ in 0..<2000 {
            if try await harness.read({ try $0.context.exists(QueuedOperation.where { $0.status == .held }) }) { break }
            try await Task.sleep(for: .milliseconds(1))
        }
        harness.account.uploads.suspend()
        #expect(Set(remote.tree.keys) == ["home/", "home/g/", "home/g/x", "home/g/y"])
        let summary = try await harness.account.pull()
        #expect(summary.deleted == 0 && summary.new == 0 && summary.displaced == 0)
        #expect(try await harness.tree().keys.sorted() == ["home/g/", "home/g/x", "home/g/y"])
        try await harness.commit { cloud in
            for operation in try cloud.context.fetch(QueuedOperation.all) { operation.retry() }
        }
        try await harness.drain()
        #expect(try await harness.account.pull() == PullSummary())
        #expect(try await harness.tree().keys.sorted() == ["home/g/", "home/g/x", "home/g/y"])
    }

    @Test("A detached node that returns before its delete is moved", arguments: [true, false])
    func reattached(isOneCommit: Bool) async throws {
        let harness = try await CloudHarness()
        try await harness.commit { cloud in
            try cloud.createNode(at: "/a/x")
            try cloud.createNode(at: "/a/f/y", sections: [.data, .metadata])
        }
        try await harness.drain()
        let before = harness.remote.tree
        try await harness.commit { cloud in
            for (path, name) in [("/a/x", "x"), ("/a/f", "f")] as [(TreePath, String)] {
                try cloud.move(cloud.node(at: path), to: TreePath([name], in: .detached))
                if isOneCommit {
                    try cloud.move(cloud.node(at: TreePath([name], in: .detached)), to: TreePath(["b", name]))
                }
            }
        }
        if !isOneCommit {
            try await harness.commit { cloud in
                for name in ["x", "f"] {
                    try cloud.move(cloud.node(at: TreePath([name], in: .detached)), to: TreePath(["b", name]))
                }
            }
        }
        try await harness.drain()
        #expect(try await harness.queued() == [])
        let moved = before.keys.map { $0.replacing("home/a/", with: "home/b/") }
        #expect(harness.remote.tree.keys.sorted() == (moved + ["home/a/"]).sorted())
        try await harness.account.pull()
        #expect(harness.handler.pulled() == [])
    }

    @Test("A remote edit of a detached file is not deleted, and is found as a remote file")
    func editOfDetached() async throws {
        let harness = try await CloudHarness()
        try await harness.commit { _ = try $0.createNode(at: "/x") }
        try await harness.drain()
        try await harness.commit { try $0.move($0.node(at: "/x"), to: TreePath(["x"], in: .detached)) }
        harness.remote.write("home/x", "theirs")
        try await harness.account.pull()
        try await harness.drain()
        #expect(harness.remote.tree["home/x"] == "theirs")
        try await harness.account.pull()
        #expect(harness.handler.pulled() == ["new /x"])
        #expect(try await harness.read { try $0.find(TreePath(["x"], in: .detached)) != nil })
    }

    @Test("A detached file that others delete is kept")
    func remoteDeleteOfDetached() async throws {
        let harness = try await CloudHarness()
        try await harness.commit { _ = try $0.createNode(at: "/x") }
        try await harness.drain()
        try await harness.commit { try $0.move($0.node(at: "/x"), to: TreePath(["x"], in: .detached)) }
        harness.remote.write("home/x", nil)
        try await harness.account.pull()
        #expect(try await harness.read { try $0.find(TreePath(["x"], in: .detached)) != nil })
        try await harness.drain()
        try await harness.commit { try $0.move($0.node(at: TreePath(["x"], in: .detached)), to: "/y") }
        try await harness.drain()
        #expect(harness.remote.tree == ["home/": "", "home/y": "content of /y"])
    }

    @Test("A detached copy is uploaded once it has a place")
    func detachedCopy() async throws {
        let harness = try await CloudHarness()
        try await harness.commit { _ = try $0.createNode(at: "/x") }
        try await harness.commit { _ = try $0.copy($0.node(at: "/x"), to: TreePath(["c"], in: .detached)) }
        try await harness.drain()
        #expect(try await harness.queued() == [])
        try await harness.commit { try $0.move($0.node(at: TreePath(["c"], in: .detached)), to: "/y") }
        try await harness.drain()
        #expect(harness.remote.tree["home/y"] == "content of /y")
    }

    @Test("The sidecars of a file are requeued with the file")
    func sidecarsRequeued() async throws {
        let harness = try await CloudHarness()
        try await harness.commit { _ = try $0.createNode(at: "/f/x", sections: [.data, .metadata]) }
        try await harness.drain()
        let count = harness.remote.tree.count
        try await harness.commit { try $0.move($0.node(at: "/f"), to: "/g") }
        harness.remote.state.withLock { state in state.entries = state.entries.filter { !$0.key.hasPrefix("home/f") } }
        try await harness.drain()
        #expect(harness.remote.tree.count == count)
        #expect(harness.remote.tree["home/g/x"] == "content of /g/x")
    }

    @Test("Impossible sizes do not cause a crash")
    func impossibleSizes() {
        var files = ProgressBacklog.Files()
        for _ in 0..<3 { files.add(.max) }
        files.add(.min)
        #expect(files.count == 4 && files.bytes > 0)
        for _ in 0..<3 { files.add(.max, times: -1) }
        files.add(.min, times: -1)
        #expect(files.count == 0 && files.bytes == 0)
    }

    @Test("A remote edit of a locally deleted file is not deleted at the remote")
    func editedAndDeleted() async throws {
        let harness = try await harness(["/a"])
        try await harness.commit { try $0.delete($0.node(at: "/a")) }
        harness.remote.write("home/a", "theirs")
        try await harness.account.pull()
        try await harness.drain()
        #expect(harness.remote.tree["home/a"] == "theirs")
        try await harness.account.pull()
        #expect(try await harness.read { try $0.find("/a") != nil })
    }

    @Test("A remote edit of a locally moved file is a new version, not the known one")
    func editedAndMoved()
        async throws
    {
        let harness = try await harness(["/a"])
        harness.remote.write("home/a", "theirs")
        try await harness.commit { try $0.move($0.node(at: "/a"), to: "/b") }
        try await harness.drain()
        try await harness.commit { _ = try $0.upload($0.node(at: "/b")) }
        try await harness.drain()
        #expect(harness.remote.tree["home/b"] == "theirs")
        #expect(try await harness.read { try $0.conflicts().count } == 1)
    }

    @Test("A new node that has moved gives up its first place, and arrives at its new place")
    func newNodeMoved() async throws {
        let harness = try await harness(["/y/z"])
        harness.remote.write("home/a", "theirs")
        try await harness.commit { cloud in
            let node = try cloud.createNode(at: "/a")
            harness.handler.set("ours", of: node.id)
        }
        try await harness.commit { try $0.move($0.node(at: "/a"), to: "/y/a") }
        try await harness.drain()
        #expect(harness.remote.tree["home/a"] == "theirs")
        #expect(harness.remote.tree["home/y/a"] == "ours")
        #expect(try await harness.read { try $0.context.count(QueuedOperation.all) } == 0)
    }

    @Test("A known file takes another name if others have put a folder in its place")
    func folderInPlaceOfFile() async throws {
        let harness = try await harness(["/a"])
        harness.remote.write("home/a", nil)
        harness.remote.folder("home/a")
        try await harness.commit { _ = try $0.upload($0.node(at: "/a")) }
        try await harness.drain()
        #expect(harness.remote.tree == ["home/": "", "home/a/": "", "home/a 2": "content of /a 2"])
        _ = try await harness.account.pull()
        #expect(try await harness.tree().keys.sorted() == ["home/a 2", "home/a/"])
        #expect(try await harness.queued() == [])
    }

    @Test("An operation in a folder that others have deleted waits for the pull that restores the folder")
    func parentDeleted()
        async throws
    {
        let harness = try await harness(["/f/x"])
        harness.account.suspendPulls()
        for path in ["home/f/x", "home/f"] { harness.remote.write(path, nil) }
        try await harness.commit { _ = try $0.createNode(at: "/f/y") }
        try await harness.drain()
        let waiting = try await harness.read { cloud in
            try cloud.context.fetch(QueuedOperation.all).map { "\($0.status) \($0.constraint ?? "")" }
        }
        #expect(waiting == ["held pull"])
        try await harness.account.pull()
        try await harness.drain()
        #expect(harness.remote.tree == ["home/": "", "home/f/": "", "home/f/y": "content of /f/y"])
        #expect(try await harness.queued() == [])
    }

    @Test("The pull that an operation waits for starts automatically, some time after the last pull")
    func automaticPull() async throws {
        let clock = VirtualClock()
        let harness = try await CloudHarness(options: CloudOptions(clock: clock), isSuspended: false)
        func becomes(_ state: [String]) async throws -> Bool {
            for _ in 0..<2000 {
                if try await harness.read({ try $0.context.fetch(QueuedOperation.all).map { $0.constraint ?? "" } })
                    == state
                {
                    return true
                }
                // If an operation starts to wait after a pull has ended, it is tried again after a second. If the
                // operation was still running when the pull looked at its folder, it waits for the next pull, five
                // seconds later.
                clock.advance(by: .milliseconds(5))
                try await Task.sleep(for: .milliseconds(1))
            }
            return false
        }
        try await harness.commit { _ = try $0.createNode(at: "/f/1") }
        try #require(try await becomes([]))
        try await harness.account.pull()
        for path in ["home/f/1", "home/f"] { harness.remote.write(path, nil) }
        try await harness.commit { _ = try $0.createNode(at: "/f/2") }
        try #require(try await becomes([]))
        #expect(harness.remote.tree == ["home/": "", "home/f/": "", "home/f/2": "content of /f/2"])
        // This pull follows the one that the account has started by itself.
        try await harness.account.pull()
        for path in ["home/f/2", "home/f"] { harness.remote.write(path, nil) }
        try await harness.commit { _ = try $0.createNode(at: "/f/3") }
        #expect(try await becomes(["pull"]))
        clock.advance(by: .seconds(5))
        try #require(try await becomes([]))
        #expect(harness.remote.tree == ["home/": "", "home/f/": "", "home/f/3": "content of /f/3"])
        await harness.account.close()
    }

    @Test("A remote delete does not hold operations that pass through the deleted node")
    func passingThrough() async throws {
        let harness = try await harness(["/a", "/d", "/f/x"])
        harness.account.suspendPulls()
        // One node moves on, one is deleted, and one is new. All three pass through a folder that other machines have
        // deleted.
        try await harness.commit { cloud in
            try cloud.move(cloud.node(at: "/a"), to: "/f/a")
            try cloud.move(cloud.node(at: "/d"), to: "/f/d")
            try cloud.createNode(at: "/f/new")
        }
        try await harness.commit { cloud in
            try cloud.move(cloud.node(at: "/f/a"), to: "/b")
            try cloud.delete(cloud.node(at: "/f/d"))
            try cloud.move(cloud.node(at: "/f/new"), to: "/new")
        }
        for path in ["home/f/x", "home/f"] { harness.remote.write(path, nil) }
        for _ in 0..<3 {
            try await harness.drain()
            try await harness.account.pull()
        }
        #expect(try await harness.queued() == [])
        #expect(try await harness.tree().keys.sorted() == ["home/b", "home/new"])
        #expect(harness.remote.tree == ["home/": "", "home/b": "content of /a", "home/new": "content of /new"])
    }

    @Test("A deleted folder that never got its place does not hide other nodes there")
    func folderWithoutPlace() async throws {
        let harness = try await harness(["/a"])
        harness.account.suspendPulls()
        try await harness.commit { _ = try $0.createFolder(at: "/c") }
        harness.remote.write("home/c", "theirs")
        try await harness.commit { cloud in
            try cloud.move(cloud.node(at: "/a"), to: "/c/b")
            try cloud.delete(cloud.node(at: "/c"))
        }
        try await harness.drain()
        try await harness.account.pull()
        #expect(try await harness.queued() == [])
        #expect(harness.remote.tree == ["home/": "", "home/c": "theirs"])
        #expect(try await harness.tree().keys.sorted() == ["home/c"])
    }

    @Test("A requeued operation runs before waiting operations that have failed, and after none that waits for it")
    func requeuedOrder()
        async throws
    {
        let harness = try await harness(["/p/f/known"])
        try await harness.commit { _ = try $0.createNode(at: "/p/f/x") }
        try await harness.commit { try $0.rename($0.node(at: "/p"), to: "q") }
        for path in ["home/p/f/known", "home/p/f"] { harness.remote.write(path, nil) }
        try await harness.account.pull()
        try await harness.drain()
        try await harness.account.pull()
        #expect(
            harness.remote.tree == ["home/": "", "home/q/": "", "home/q/f/": "", "home/q/f/x": "content of /q/f/x"]
        )
        #expect(try await harness.read { try $0.context.count(QueuedOperation.all) } == 0)
    }

    @Test("Credentials that change during a refusal are tried at once")
    func changedCredentials() async throws {
        let (begun, hasBegun) = AsyncStream.makeStream(of: Void.self)
        let gate = Gate()
        let isFirst = Mutex(true)
        let remote = StrictRemote { request, _ in
            guard request.verb == "PUT",
                isFirst.withLock({ first in
                    defer { first = false }; return first
                })
            else { return nil }
            hasBegun.yield()
            return .refusal(gate, RemoteError(.unauthorized, "Who?"))
        }
        let harness = try await CloudHarness(remote)
        try await harness.commit { _ = try $0.createNode(at: "/n") }
        harness.account.uploads.resume()
        for await _ in begun { break }
        try await harness.account.credentialsChanged()
        gate.open()
        try await harness.drain()
        #expect(harness.remote.tree["home/n"] != nil)
    }

    @Test("Two contexts that move two folders into each other do not create a cycle")
    func movesIntoEachOther() async throws {
        let harness = try await harness(["/a/x", "/b/y"])
        let account = harness.account
        let error = await #expect(throws: (any Error).self) {
            try await harness.stack.background { first in
                let cloud = first.cloud(account)
                try cloud.move(cloud.node(at: "/a"), to: "/b/a")
                try await harness.stack.overStore { second in
                    let cloud = second.cloud(account)
                    try cloud.move(cloud.node(at: "/b"), to: "/a/b")
                    try second.commit()
                }
                try first.commit()
            }
        }
        #expect((error as? CloudError)?.code == .cyclicMove, "\(String(describing: error))")
        #expect(try await harness.read { try $0.node(at: "/a/b/y").path } == "/a/b/y")
    }

    @Test("Two remote names that are equal on this machine are two nodes")
    func equalNames() async throws {
        let place = FileManager.default.temporaryDirectory.appending(path: "strata-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: place) }
        let remote = try FolderRemote(place, isDurable: false)
        let stack = try await ContextStack.open(.inMemory, models: [Note.self] + CloudAccount.models, stack: .rootOnly)
        let account = try await CloudAccount.open(stack, id: "alice", remote: remote, handler: TestHandler())
        try await remote.createFolder(RemoteKey(["home"]))
        for name in ["\u{dc}", "U\u{308}"] {
            _ = try await remote.put(RemoteBody(Data(name.utf8)), at: RemoteKey(["home", name]), if: .isAbsent)
        }
        #expect(try await account.pull().new == 2)
        let names = try await stack.background { try $0.cloud(account).root().children.fetch().map(\.name) }
        #expect(Set(names).count == 2)
        #expect(try await account.pull() == PullSummary())
        await account.close()
        try await stack.close()
    }

    @Test("A file that has become a folder is a new object")
    func fileBecameFolder() async throws {
        let harness = try await harness(["/a"])
        harness.remote.write("home/a", nil)
        harness.remote.folder("home/a")
        harness.remote.write("home/a/x", "1")
        for _ in 0..<3 { try await harness.account.pull() }
        #expect(try await harness.tree().keys.sorted() == ["home/a/", "home/a/x"])
    }

    @Test("A node that the application has moved out survives the delete of its folder")
    func movedOutByHand() async throws {
        let harness = try await harness(["/f/x", "/f/y"])
        try await harness.commit { cloud in
            try cloud.move(cloud.node(at: "/f/x"), to: "/x")
            try cloud.delete(cloud.node(at: "/f"))
        }
        try await harness.commit { cloud in
            for operation in try cloud.operations(for: cloud.node(at: "/x")) { operation.skip() }
        }
        try await harness.drain()
        #expect(harness.remote.tree["home/f/x"] == "content of /f/x")
        #expect(harness.remote.tree["home/f/y"] == nil)
    }

    @Test("A copy of a file that was never uploaded has the content of its original")
    func copyOfUnsent() async throws {
        let harness = try await CloudHarness(handler: TestHandler())
        let links = Mutex<[String?]>([])
        final class Linking: CloudHandler {
            let links: @Sendable (String?) -> Void
            init(_ links: @escaping @Sendable (String?) -> Void) { self.links = links }
            func content(for request: ContentRequest) async throws -> RemoteBody? {
                links(request.link)
                return request.link.map { RemoteBody(Data($0.utf8)) }
            }
        }
        let account = try await CloudAccount.open(
            harness.stack,
            id: "linked",
            remote: harness.remote,
            handler: Linking { link in links.withLock { $0.append(link) } },
            options: CloudOptions(isSuspended: true)
        )
        let link = try await harness.stack.background { context in
            let cloud = context.cloud(account)
            let note = context.insert(Note(text: "x"))
            try cloud.createNode(at: "/a", content: note.id)
            try context.commit()
            try cloud.copy(cloud.node(at: "/a"), to: "/b")
            try cloud.delete(cloud.node(at: "/a"))
            try context.commit()
            return note.id.description
        }
        account.uploads.resume()
        for _ in 0..<2000 {
            if try await harness.stack.background({ try $0.count(QueuedOperation.all) }) == 0 { break }
            try await Task.sleep(for: .milliseconds(1))
        }
        #expect(harness.remote.tree["home/b"] == link)
        await account.close()
    }
}
