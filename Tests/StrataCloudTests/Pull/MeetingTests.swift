import Foundation
import Strata
import StrataPipeline
import Synchronization
import Testing

import StrataTesting
@testable import StrataCloud

/// This machine and other machines change the same nodes at the same time. These cases were found by reading the code.
@Suite struct MeetingTests {
    private func stage(_ paths: [TreePath], _ remote: StrictRemote = StrictRemote()) async throws -> CloudStage {
        let stage = try await CloudStage(
            remote,
            options: CloudOptions(retry: RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)))
        )
        try await stage.fill(paths)
        _ = stage.handler.pulled()
        return stage
    }

    @Test func `what lies in a folder that was moved from here is not taken for gone before that is written down`()
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
        let stage = try await CloudStage(
            remote,
            options: CloudOptions(retry: RetryPolicy(base: .seconds(3600), cap: .seconds(7200)))
        )
        try await stage.commit { cloud in for path in ["/f/x", "/f/y"] as [TreePath] { try cloud.createNode(at: path) }
        }
        try await stage.drain()
        try await stage.commit { try $0.move($0.node(at: "/f"), to: "/g") }
        stage.account.push.resume()
        for _ in 0..<2000 {
            if try await stage.read({ try $0.context.exists(QueuedOperation.where { $0.status == .held }) }) { break }
            try await Task.sleep(for: .milliseconds(1))
        }
        stage.account.push.suspend()
        #expect(Set(remote.tree.keys) == ["home/", "home/g/", "home/g/x", "home/g/y"])
        let summary = try await stage.account.pull()
        #expect(summary.deleted == 0 && summary.new == 0 && summary.renamed == 0)
        #expect(try await stage.tree().keys.sorted() == ["home/g/", "home/g/x", "home/g/y"])
        try await stage.commit { cloud in
            for operation in try cloud.context.fetch(QueuedOperation.all) { operation.retry() }
        }
        try await stage.drain()
        #expect(try await stage.account.pull() == PullSummary())
        #expect(try await stage.tree().keys.sorted() == ["home/g/", "home/g/x", "home/g/y"])
    }

    @Test(arguments: [true, false])
    func `what is detached and comes back before its delete is moved`(isOneCommit: Bool) async throws {
        let stage = try await CloudStage()
        try await stage.commit { cloud in
            try cloud.createNode(at: "/a/x")
            try cloud.createNode(at: "/a/f/y", sections: [.data, .metadata])
        }
        try await stage.drain()
        let before = stage.remote.tree
        try await stage.commit { cloud in
            for (path, name) in [("/a/x", "x"), ("/a/f", "f")] as [(TreePath, String)] {
                try cloud.move(cloud.node(at: path), to: TreePath([name], in: .detached))
                if isOneCommit {
                    try cloud.move(cloud.node(at: TreePath([name], in: .detached)), to: TreePath(["b", name]))
                }
            }
        }
        if !isOneCommit {
            try await stage.commit { cloud in
                for name in ["x", "f"] {
                    try cloud.move(cloud.node(at: TreePath([name], in: .detached)), to: TreePath(["b", name]))
                }
            }
        }
        try await stage.drain()
        #expect(try await stage.queued() == [])
        let moved = before.keys.map { $0.replacing("home/a/", with: "home/b/") }
        #expect(stage.remote.tree.keys.sorted() == (moved + ["home/a/"]).sorted())
        try await stage.account.pull()
        #expect(stage.handler.pulled() == [])
    }

    @Test func `what others write to what is detached here is not deleted, and found as theirs`() async throws {
        let stage = try await CloudStage()
        try await stage.commit { _ = try $0.createNode(at: "/x") }
        try await stage.drain()
        try await stage.commit { try $0.move($0.node(at: "/x"), to: TreePath(["x"], in: .detached)) }
        stage.remote.write("home/x", "theirs")
        try await stage.account.pull()
        try await stage.drain()
        #expect(stage.remote.tree["home/x"] == "theirs")
        try await stage.account.pull()
        #expect(stage.handler.pulled() == ["new /x"])
        #expect(try await stage.read { try $0.find(TreePath(["x"], in: .detached)) != nil })
    }

    @Test func `what others delete is kept where it is detached here`() async throws {
        let stage = try await CloudStage()
        try await stage.commit { _ = try $0.createNode(at: "/x") }
        try await stage.drain()
        try await stage.commit { try $0.move($0.node(at: "/x"), to: TreePath(["x"], in: .detached)) }
        stage.remote.write("home/x", nil)
        try await stage.account.pull()
        #expect(try await stage.read { try $0.find(TreePath(["x"], in: .detached)) != nil })
        try await stage.drain()
        try await stage.commit { try $0.move($0.node(at: TreePath(["x"], in: .detached)), to: "/y") }
        try await stage.drain()
        #expect(stage.remote.tree == ["home/": "", "home/y": "content of /y"])
    }

    @Test func `a copy that is detached is sent when it has a place`() async throws {
        let stage = try await CloudStage()
        try await stage.commit { _ = try $0.createNode(at: "/x") }
        try await stage.commit { _ = try $0.copy($0.node(at: "/x"), to: TreePath(["c"], in: .detached)) }
        try await stage.drain()
        #expect(try await stage.queued() == [])
        try await stage.commit { try $0.move($0.node(at: TreePath(["c"], in: .detached)), to: "/y") }
        try await stage.drain()
        #expect(stage.remote.tree["home/y"] == "content of /y")
    }

    @Test func `what goes with files is sent anew with them`() async throws {
        let stage = try await CloudStage()
        try await stage.commit { _ = try $0.createNode(at: "/f/x", sections: [.data, .metadata]) }
        try await stage.drain()
        let count = stage.remote.tree.count
        try await stage.commit { try $0.move($0.node(at: "/f"), to: "/g") }
        stage.remote.state.withLock { state in state.entries = state.entries.filter { !$0.key.hasPrefix("home/f") } }
        try await stage.drain()
        #expect(stage.remote.tree.count == count)
        #expect(stage.remote.tree["home/g/x"] == "content of /g/x")
    }

    @Test func `sizes that cannot be are no reason to crash`() {
        var files = ProgressBacklog.Files()
        for _ in 0..<3 { files.add(.max) }
        files.add(.min)
        #expect(files.count == 4 && files.bytes > 0)
        for _ in 0..<3 { files.add(.max, times: -1) }
        files.add(.min, times: -1)
        #expect(files.count == 0 && files.bytes == 0)
    }

    @Test func `what was written by others and deleted here is not deleted there`() async throws {
        let stage = try await stage(["/a"])
        try await stage.commit { try $0.delete($0.node(at: "/a")) }
        stage.remote.write("home/a", "theirs")
        try await stage.account.pull()
        try await stage.drain()
        #expect(stage.remote.tree["home/a"] == "theirs")
        try await stage.account.pull()
        #expect(try await stage.read { try $0.find("/a") != nil })
    }

    @Test func `what was written by others and moved from here is of another version, not of one that is known`()
        async throws
    {
        let stage = try await stage(["/a"])
        stage.remote.write("home/a", "theirs")
        try await stage.commit { try $0.move($0.node(at: "/a"), to: "/b") }
        try await stage.drain()
        try await stage.commit { _ = try $0.upload($0.node(at: "/b")) }
        try await stage.drain()
        #expect(stage.remote.tree["home/b"] == "theirs")
        #expect(try await stage.read { try $0.conflicts().count } == 1)
    }

    @Test func `a new node that has moved on gives way where it was made, and arrives where it is`() async throws {
        let stage = try await stage(["/y/z"])
        stage.remote.write("home/a", "theirs")
        try await stage.commit { cloud in
            let node = try cloud.createNode(at: "/a")
            stage.handler.set("ours", of: node.id)
        }
        try await stage.commit { try $0.move($0.node(at: "/a"), to: "/y/a") }
        try await stage.drain()
        #expect(stage.remote.tree["home/a"] == "theirs")
        #expect(stage.remote.tree["home/y/a"] == "ours")
        #expect(try await stage.read { try $0.context.count(QueuedOperation.all) } == 0)
    }

    @Test func `a known file in whose place others have put a folder takes another name`() async throws {
        let stage = try await stage(["/a"])
        stage.remote.write("home/a", nil)
        stage.remote.folder("home/a")
        try await stage.commit { _ = try $0.upload($0.node(at: "/a")) }
        try await stage.drain()
        #expect(stage.remote.tree == ["home/": "", "home/a/": "", "home/a 2": "content of /a 2"])
        _ = try await stage.account.pull()
        #expect(try await stage.tree().keys.sorted() == ["home/a 2", "home/a/"])
        #expect(try await stage.queued() == [])
    }

    @Test func `what is to lie in a folder that others have deleted waits for the pull, which brings the folder back`()
        async throws
    {
        let stage = try await stage(["/f/x"])
        stage.account.suspendPulls()
        for path in ["home/f/x", "home/f"] { stage.remote.write(path, nil) }
        try await stage.commit { _ = try $0.createNode(at: "/f/y") }
        try await stage.drain()
        let waiting = try await stage.read { cloud in
            try cloud.context.fetch(QueuedOperation.all).map { "\($0.status) \($0.constraint ?? "")" }
        }
        #expect(waiting == ["held pull"])
        try await stage.account.pull()
        try await stage.drain()
        #expect(stage.remote.tree == ["home/": "", "home/f/": "", "home/f/y": "content of /f/y"])
        #expect(try await stage.queued() == [])
    }

    @Test func `the pull that something waits for comes by itself, a while behind the last one`() async throws {
        let clock = VirtualClock()
        let stage = try await CloudStage(options: CloudOptions(clock: clock), isSuspended: false)
        func becomes(_ state: [String]) async throws -> Bool {
            for _ in 0..<2000 {
                if try await stage.read({ try $0.context.fetch(QueuedOperation.all).map { $0.constraint ?? "" } })
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
        try await stage.commit { _ = try $0.createNode(at: "/f/1") }
        try #require(try await becomes([]))
        try await stage.account.pull()
        for path in ["home/f/1", "home/f"] { stage.remote.write(path, nil) }
        try await stage.commit { _ = try $0.createNode(at: "/f/2") }
        try #require(try await becomes([]))
        #expect(stage.remote.tree == ["home/": "", "home/f/": "", "home/f/2": "content of /f/2"])
        // This pull follows the one that the account has started by itself.
        try await stage.account.pull()
        for path in ["home/f/2", "home/f"] { stage.remote.write(path, nil) }
        try await stage.commit { _ = try $0.createNode(at: "/f/3") }
        #expect(try await becomes(["pull"]))
        clock.advance(by: .seconds(5))
        try #require(try await becomes([]))
        #expect(stage.remote.tree == ["home/": "", "home/f/": "", "home/f/3": "content of /f/3"])
        await stage.account.close()
    }

    @Test func `what others have deleted does not hold what passes through it`() async throws {
        let stage = try await stage(["/a", "/d", "/f/x"])
        stage.account.suspendPulls()
        // One node moves on, one is deleted, and one is new. All three pass through a folder that other machines have
        // deleted.
        try await stage.commit { cloud in
            try cloud.move(cloud.node(at: "/a"), to: "/f/a")
            try cloud.move(cloud.node(at: "/d"), to: "/f/d")
            try cloud.createNode(at: "/f/new")
        }
        try await stage.commit { cloud in
            try cloud.move(cloud.node(at: "/f/a"), to: "/b")
            try cloud.delete(cloud.node(at: "/f/d"))
            try cloud.move(cloud.node(at: "/f/new"), to: "/new")
        }
        for path in ["home/f/x", "home/f"] { stage.remote.write(path, nil) }
        for _ in 0..<3 {
            try await stage.drain()
            try await stage.account.pull()
        }
        #expect(try await stage.queued() == [])
        #expect(try await stage.tree().keys.sorted() == ["home/b", "home/new"])
        #expect(stage.remote.tree == ["home/": "", "home/b": "content of /a", "home/new": "content of /new"])
    }

    @Test func `a folder that did not get its place, and was deleted, does not hide what lies there`() async throws {
        let stage = try await stage(["/a"])
        stage.account.suspendPulls()
        try await stage.commit { _ = try $0.createFolder(at: "/c") }
        stage.remote.write("home/c", "theirs")
        try await stage.commit { cloud in
            try cloud.move(cloud.node(at: "/a"), to: "/c/b")
            try cloud.delete(cloud.node(at: "/c"))
        }
        try await stage.drain()
        try await stage.account.pull()
        #expect(try await stage.queued() == [])
        #expect(stage.remote.tree == ["home/": "", "home/c": "theirs"])
        #expect(try await stage.tree().keys.sorted() == ["home/c"])
    }

    @Test
    func `what comes before others that wait comes before those that have failed, and behind none that waits for it`()
        async throws
    {
        let stage = try await stage(["/p/f/known"])
        try await stage.commit { _ = try $0.createNode(at: "/p/f/x") }
        try await stage.commit { try $0.rename($0.node(at: "/p"), to: "q") }
        for path in ["home/p/f/known", "home/p/f"] { stage.remote.write(path, nil) }
        try await stage.account.pull()
        try await stage.drain()
        try await stage.account.pull()
        #expect(stage.remote.tree == ["home/": "", "home/q/": "", "home/q/f/": "", "home/q/f/x": "content of /q/f/x"])
        #expect(try await stage.read { try $0.context.count(QueuedOperation.all) } == 0)
    }

    @Test func `credentials that change while they are being refused are tried at once`() async throws {
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
        let stage = try await CloudStage(remote)
        try await stage.commit { _ = try $0.createNode(at: "/n") }
        stage.account.push.resume()
        for await _ in begun { break }
        try await stage.account.credentialsChanged()
        gate.open()
        try await stage.drain()
        #expect(stage.remote.tree["home/n"] != nil)
    }

    @Test func `two contexts that move two folders into each other are no ring`() async throws {
        let stage = try await stage(["/a/x", "/b/y"])
        let account = stage.account
        let error = await #expect(throws: (any Error).self) {
            try await stage.stack.background { first in
                let cloud = first.cloud(account)
                try cloud.move(cloud.node(at: "/a"), to: "/b/a")
                try await stage.stack.overStore { second in
                    let cloud = second.cloud(account)
                    try cloud.move(cloud.node(at: "/b"), to: "/a/b")
                    try second.commit()
                }
                try first.commit()
            }
        }
        #expect((error as? CloudError)?.code == .nodeBelowItself, "\(String(describing: error))")
        #expect(try await stage.read { try $0.node(at: "/a/b/y").path } == "/a/b/y")
    }

    @Test func `names of the remote that are one here are two nodes`() async throws {
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

    @Test func `a file that has become a folder is another thing`() async throws {
        let stage = try await stage(["/a"])
        stage.remote.write("home/a", nil)
        stage.remote.folder("home/a")
        stage.remote.write("home/a/x", "1")
        for _ in 0..<3 { try await stage.account.pull() }
        #expect(try await stage.tree().keys.sorted() == ["home/a/", "home/a/x"])
    }

    @Test func `a node that was moved out by hand outlives the delete of its folder`() async throws {
        let stage = try await stage(["/f/x", "/f/y"])
        try await stage.commit { cloud in
            try cloud.move(cloud.node(at: "/f/x"), to: "/x")
            try cloud.delete(cloud.node(at: "/f"))
        }
        try await stage.commit { cloud in
            for operation in try cloud.operations(for: cloud.node(at: "/x")) { operation.skip() }
        }
        try await stage.drain()
        #expect(stage.remote.tree["home/f/x"] == "content of /f/x")
        #expect(stage.remote.tree["home/f/y"] == nil)
    }

    @Test func `a copy of what was never sent has the content of its original`() async throws {
        let stage = try await CloudStage(handler: TestHandler())
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
            stage.stack,
            id: "linked",
            remote: stage.remote,
            handler: Linking { link in links.withLock { $0.append(link) } },
            options: CloudOptions(isSuspended: true)
        )
        let link = try await stage.stack.background { context in
            let cloud = context.cloud(account)
            let note = context.insert(Note(text: "x"))
            try cloud.createNode(at: "/a", content: note.id)
            try context.commit()
            try cloud.copy(cloud.node(at: "/a"), to: "/b")
            try cloud.delete(cloud.node(at: "/a"))
            try context.commit()
            return note.id.description
        }
        account.push.resume()
        for _ in 0..<2000 {
            if try await stage.stack.background({ try $0.count(QueuedOperation.all) }) == 0 { break }
            try await Task.sleep(for: .milliseconds(1))
        }
        #expect(stage.remote.tree["home/b"] == link)
        await account.close()
    }
}
