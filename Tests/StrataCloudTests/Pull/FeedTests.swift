import Foundation
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

@Suite("Pulls from a remote that has a change feed") struct FeedTests {
    private func stage(
        _ paths: [TreePath],
        handler: TestHandler = TestHandler(),
        fault: @escaping @Sendable (StrictRemote.Request, Int) -> StrictRemote.Fault? = { _, _ in nil }
    ) async throws -> CloudStage {
        let remote = StrictRemote(RemoteCapabilities(hasChangeFeed: true, isLocal: true), fault: fault)
        let stage = try await CloudStage(remote, handler: handler)
        try await stage.fill(paths)
        // The first pull asks for everything.
        #expect(try await stage.account.pull() == PullSummary())
        stage.remote.state.withLock { $0.requests = [] }
        return stage
    }

    private func requests(_ stage: CloudStage) -> [String] {
        stage.remote.state.withLock { state in
            defer { state.requests = [] }
            return state.requests.map(\.verb)
        }
    }

    private func position(_ stage: CloudStage) async throws -> FeedPosition? {
        try await stage.read { try $0.context.first(AccountRecord.all)?.feedPosition }
    }

    @Test func `only what has changed is asked for, page by page`() async throws {
        let stage = try await stage(["/a", "/f/b", "/f/c", "/old/deep/d", "/gone/e"])
        #expect(try await stage.account.pull() == PullSummary())
        #expect(requests(stage) == ["FEED"])
        stage.remote.write("home/a", "other")
        stage.remote.write("home/f/new", "new")
        stage.remote.rename("home/f/b", to: "home/b")
        stage.remote.carry("home/old", to: "home/moved")
        // If a folder is gone, the feed contains only the folder, not its contents.
        stage.remote.state.withLock { state in state.entries = state.entries.filter { !$0.key.hasPrefix("home/gone") } }
        #expect(try await stage.account.pull().postponed == 0)
        #expect(Set(requests(stage)) == ["FEED"])
        #expect(
            stage.handler.pulled() == [
                "deleted /gone", "deleted /gone/e", "deleted /old", "deleted /old/deep", "modified /a: header, data",
                "moved /f/b to /b", "moved /old/deep/d to /moved/deep/d", "new /f/new", "new /moved", "new /moved/deep",
            ]
        )
        #expect(try await stage.account.pull() == PullSummary())
        await stage.account.close()
    }

    @Test func `a file where a folder was hides nothing of that`() async throws {
        let stage = try await stage(["/f/a", "/f/g/b"])
        stage.remote.state.withLock { state in
            state.entries = state.entries.filter { !$0.key.hasPrefix("home/f") }
            state.entries["home/f"] = StrictRemote.Entry(data: Data("file".utf8), version: 100)
        }
        for _ in 0..<3 { try await stage.account.pull() }
        #expect(Set(try await stage.tree().keys) == ["home/f"])
        await stage.account.close()
    }

    @Test func `where the moment is not known any more, everything is asked for`() async throws {
        let stage = try await stage(["/a", "/b"])
        stage.remote.write("home/a", nil)
        stage.remote.write("home/c", "new")
        stage.remote.state.withLock { $0.firstCursor = 1000 }
        try await stage.account.pull()
        #expect(stage.handler.pulled() == ["deleted /a", "new /c"])
        // A feed from its beginning does not contain deleted objects. Their absence proves nothing.
        #expect(requests(stage) == ["FEED", "FEED", "HEAD"])
        await stage.account.close()
    }

    @Test func `what a pull has left is looked at again by itself`() async throws {
        let stage = try await stage(["/a", "/b"])
        // A pull postpones changes of this node while an upload of it is queued.
        try await stage.commit { cloud in _ = try cloud.upload(cloud.node(at: "/a")) }
        stage.remote.write("home/a", "other")
        stage.remote.write("home/a%" + Sidecar.metadata, "metadata")
        for verbs in [["FEED"], ["HEAD", "HEAD", "FEED"], ["HEAD", "HEAD", "FEED"]] {
            #expect(try await stage.account.pull().postponed == 1)
            #expect(requests(stage) == verbs)
            #expect(try await position(stage)?.keys.map(\.path) == ["home/a", "home/a%" + Sidecar.metadata])
        }
        stage.remote.write("home/b", "other")
        #expect(try await stage.account.pull().modified == 1)
        try await stage.commit { cloud in
            for operation in try cloud.operations(for: cloud.node(at: "/a")) { operation.skip() }
        }
        #expect(try await stage.account.pull().modified == 1)
        #expect(
            stage.handler.pulled() == ["modified /a: header, metadata, data", "modified /b: header, data"]
        )
        #expect(try await position(stage)?.keys == [])
        _ = requests(stage)
        #expect(try await stage.account.pull() == PullSummary())
        #expect(requests(stage) == ["FEED"])
        await stage.account.close()
    }

    @Test func `what a pull has left is looked at where it has come to with the folder above it`() async throws {
        let stage = try await stage(["/a"])
        stage.remote.folder("home/f")
        stage.remote.write("home/f%" + Sidecar.content, "content")
        for name in ["b", "c", "d"] { stage.remote.write("home/f/\(name)", name) }
        #expect(try await stage.account.pull().new == 4)
        // Another machine moves the folder, and deletes and changes files in it.
        stage.remote.carry("home/f", to: "home/g")
        stage.remote.rename("home/f%" + Sidecar.content, to: "home/g%" + Sidecar.content)
        stage.remote.write("home/g/b", nil)
        stage.remote.write("home/g/c", "other")
        for _ in 0..<3 { try await stage.account.pull() }
        #expect(
            Set(try await stage.tree().keys.filter { !$0.contains("%") }) == [
                "home/a", "home/g/", "home/g/c", "home/g/d",
            ]
        )
        #expect(try await position(stage)?.keys == [])
        await stage.account.close()
    }

    @Test func `much that a pull has left is told of once more, and then asked for with everything`() async throws {
        let stage = try await stage((0...FeedPosition.most).map { TreePath(["\($0)"]) })
        let before = try await position(stage)
        let count = FeedPosition.most + 1
        try await stage.commit { cloud in
            for number in 0..<count { _ = try cloud.upload(cloud.node(at: TreePath(["\(number)"]))) }
        }
        for number in 0..<count { stage.remote.write("home/\(number)", "other") }
        #expect(try await stage.account.pull().postponed == count)
        #expect(try await position(stage)?.cursor == before?.cursor)
        #expect(try await stage.account.pull().postponed == count)
        #expect(try await position(stage) == nil)
        #expect(try await stage.account.pull().postponed == count)
        try await stage.commit { cloud in
            for operation in try cloud.context.fetch(QueuedOperation.all) { operation.skip() }
        }
        #expect(try await stage.account.pull().modified == count)
        #expect(try await position(stage) != nil)
        #expect(try await stage.account.pull() == PullSummary())
        await stage.account.close()
    }

    @Test func `a conflict that nobody resolves has nothing else asked for`() async throws {
        let stage = try await stage(["/a"])
        stage.remote.write("home/a", "theirs")
        try await stage.commit { cloud in
            stage.handler.set("mine", of: try cloud.node(at: "/a").id)
            try cloud.upload(cloud.node(at: "/a"))
        }
        try await stage.drain()
        _ = requests(stage)
        for verbs in [["FEED"], ["HEAD", "FEED"], ["HEAD", "FEED"]] {
            #expect(try await stage.account.pull().postponed == 1)
            #expect(requests(stage) == verbs)
        }
        try await stage.commit { cloud in
            for conflict in try cloud.conflicts() { try cloud.resolve(conflict, .mine) }
        }
        try await stage.drain()
        #expect(try await stage.account.pull() == PullSummary())
        #expect(try await position(stage)?.keys == [])
        #expect(stage.remote.tree["home/a"] == "mine")
        await stage.account.close()
    }

    @Test func `what lies in a folder whose name cannot be read is left alone, as by listings`() async throws {
        let stage = try await stage(["/a"])
        for path in ["home/50%", "home/50%/f", "home/f%z"] { stage.remote.folder(path) }
        for path in ["home/50%/x", "home/50%/f/x", "home/f%z/x"] { stage.remote.write(path, "unreadable") }
        #expect(try await stage.account.pull() == PullSummary())
        #expect(try await position(stage)?.keys == [])
        #expect(Set(try await stage.tree().keys) == ["home/a"])
        await stage.account.close()
    }

    @Test(arguments: [true, false])
    func `a folder that cannot be deleted is found again`(isPulledBefore: Bool) async throws {
        let stage = try await stage(["/f/a"])
        try await stage.commit { try $0.delete($0.node(at: "/f")) }
        stage.remote.write("home/f/b", "theirs")
        if isPulledBefore { try await stage.account.pull() }
        // The folder contains a file that this machine does not know, and no feed entry names the folder itself.
        try await stage.drain()
        for _ in 0..<2 { try await stage.account.pull() }
        #expect(Set(try await stage.tree().keys) == ["home/f/", "home/f/b"])
        #expect(try await stage.account.pull() == PullSummary())
        #expect(try await position(stage)?.keys == [])
        await stage.account.close()
    }

    @Test func `a pull leaves the moment alone that another process has written meanwhile`() async throws {
        let (begun, hasBegun) = AsyncStream.makeStream(of: Void.self)
        let isGated = Mutex(false)
        let gate = Gate()
        let stage = try await stage(["/a"]) { request, _ in
            guard request.verb == "FEED", isGated.withLock({ $0 }) else { return nil }
            hasBegun.yield()
            return .gate(gate)
        }
        try await stage.commit { cloud in _ = try cloud.upload(cloud.node(at: "/a")) }
        stage.remote.write("home/a", "other")
        isGated.withLock { $0 = true }
        let pull = Task { try await stage.account.pull() }
        for await _ in begun { break }
        try await stage.stack.overStore { context in
            try context.accountRecord("alice").feedPosition = FeedPosition("0")
            try context.commit()
        }
        gate.open()
        #expect(try await pull.value.postponed == 1)
        #expect(try await position(stage)?.cursor == "0")
        // The next pull still checks the keys that this pull has postponed.
        #expect(try await position(stage)?.keys.map(\.path) == ["home/a"])
        await stage.account.close()
    }

    @Test func `what is told of while something is being sent to its place is not forgotten`() async throws {
        let stage = try await stage([])
        let number = try await stage.commit { try $0.createNode(at: "/a").id }
        // This machine is about to send a file, and another machine sends its own first.
        try await stage.stack.overStore { [facts = stage.account.facts] context in
            let cloud = CloudContext(context, facts)
            let made = RemoteNode(account: "alice", segment: "a", isFolder: false, isCertain: false)
            let row = try #require(try context.insert(made, as: number.counterpart(RemoteNode.self)))
            (row.parent, row.node) = (try cloud.remote(cloud.root().id.number), try context.find(number))
            try context.commit()
        }
        stage.remote.folder("home")
        stage.remote.write("home/a", "theirs")
        try await stage.account.pull()
        #expect(try await position(stage)?.keys.map(\.path) == ["home/a"])
        try await stage.drain()
        try await stage.account.pull()
        #expect(Set(try await stage.tree().keys) == ["home/a", "home/a 2"])
        await stage.account.close()
    }

    @Test func `what is told of while it is to be deleted from here is not forgotten`() async throws {
        let stage = try await stage(["/a"])
        try await stage.commit { try $0.delete($0.node(at: "/a")) }
        stage.remote.write("home/a", "theirs")
        try await stage.account.pull()
        // The delete finds another version than it expects.
        try await stage.drain()
        for _ in 0..<2 { try await stage.account.pull() }
        #expect(Set(try await stage.tree().keys) == ["home/a"])
        await stage.account.close()
    }

    @Test func `what was deleted here, and is not to be deleted there after all, is found again`() async throws {
        let stage = try await stage(["/a"])
        try await stage.commit { try $0.delete($0.node(at: "/a")) }
        try await stage.commit { for operation in try $0.context.fetch(QueuedOperation.all) { operation.skip() } }
        for _ in 0..<2 { try await stage.account.pull() }
        #expect(Set(try await stage.tree().keys) == ["home/a"])
        await stage.account.close()
    }

    @Test func `a remote that has lost everything deletes nothing here`() async throws {
        let stage = try await stage(["/a", "/f/b"])
        stage.remote.state.withLock { $0.entries = [:] }
        let error = await #expect(throws: CloudError.self) { try await stage.account.pull() }
        #expect(error?.code == .remoteUnfit)
        #expect(try await stage.tree().count == 3)
        await stage.account.close()
    }

    @Test func `what a handler refuses is told of again`() async throws {
        let stage = try await stage(["/a"])
        stage.remote.write("home/b", "new")
        let before = try await position(stage)
        stage.handler.state.withLock { $0.refusesPulls = true }
        await #expect(throws: (any Error).self) { try await stage.account.pull() }
        #expect(try await position(stage) == before)
        stage.handler.state.withLock { $0.refusesPulls = false }
        #expect(try await stage.account.pull().new == 1)
        await stage.account.close()
    }

    @Test func `what others have done in a folder before it is moved from here is found where it lies then`()
        async throws
    {
        let stage = try await CloudStage(StrictRemote(RemoteCapabilities(hasChangeFeed: true, isLocal: true)))
        try await stage.commit { cloud in
            for name in ["renamed", "changed", "deleted", "same"] {
                try cloud.createNode(at: TreePath(["f", "in", name]))
            }
        }
        try await stage.drain()
        try await stage.account.pull()
        stage.remote.rename("home/f/in/renamed", to: "home/f/in/other")
        stage.remote.write("home/f/in/changed", "theirs")
        stage.remote.write("home/f/in/deleted", nil)
        try await stage.commit { try $0.rename($0.node(at: "/f"), to: "g") }
        try await stage.drain()
        _ = stage.handler.pulled()
        try await stage.account.pull()
        #expect(Set(try await stage.tree().keys).union(["home/"]) == Set(stage.remote.tree.keys))
        #expect(
            stage.handler.pulled() == [
                "deleted /g/in/deleted", "modified /g/in/changed: header, data",
                "moved /g/in/renamed to /g/in/other",
            ]
        )
        await stage.account.close()
    }
}
