import Foundation
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

@Suite("Pulls from a remote that has a change feed") struct FeedTests {
    private func harness(
        _ paths: [TreePath],
        handler: TestHandler = TestHandler(),
        fault: @escaping @Sendable (StrictRemote.Request, Int) -> StrictRemote.Fault? = { _, _ in nil }
    ) async throws -> CloudHarness {
        let remote = StrictRemote(RemoteCapabilities(hasChangeFeed: true, isLocal: true), fault: fault)
        let harness = try await CloudHarness(remote, handler: handler)
        try await harness.fill(paths)
        // The first pull asks for everything.
        #expect(try await harness.account.pull() == PullSummary())
        harness.remote.state.withLock { $0.requests = [] }
        return harness
    }

    private func requests(_ harness: CloudHarness) -> [String] {
        harness.remote.state.withLock { state in
            defer { state.requests = [] }
            return state.requests.map(\.verb)
        }
    }

    private func position(_ harness: CloudHarness) async throws -> FeedPosition? {
        try await harness.read { try $0.context.first(AccountRecord.all)?.feedPosition }
    }

    @Test("Only changes are requested, page by page")
    func onlyChanges() async throws {
        let harness = try await harness(["/a", "/f/b", "/f/c", "/old/deep/d", "/gone/e"])
        #expect(try await harness.account.pull() == PullSummary())
        #expect(requests(harness) == ["FEED"])
        harness.remote.write("home/a", "other")
        harness.remote.write("home/f/new", "new")
        harness.remote.rename("home/f/b", to: "home/b")
        harness.remote.carry("home/old", to: "home/moved")
        // If a folder is gone, the feed contains only the folder, not its contents.
        harness.remote.state.withLock { state in state.entries = state.entries.filter { !$0.key.hasPrefix("home/gone") }
        }
        #expect(try await harness.account.pull().deferred == 0)
        #expect(Set(requests(harness)) == ["FEED"])
        #expect(
            harness.handler.pulled() == [
                "deleted /gone", "deleted /gone/e", "deleted /old", "deleted /old/deep", "modified /a: header, data",
                "moved /f/b to /b", "moved /old/deep/d to /moved/deep/d", "new /f/new", "new /moved", "new /moved/deep",
            ]
        )
        #expect(try await harness.account.pull() == PullSummary())
        await harness.account.close()
    }

    @Test("A file in place of a former folder does not hide the folder's changes")
    func fileReplacedFolder() async throws {
        let harness = try await harness(["/f/a", "/f/g/b"])
        harness.remote.state.withLock { state in
            state.entries = state.entries.filter { !$0.key.hasPrefix("home/f") }
            state.entries["home/f"] = StrictRemote.Entry(data: Data("file".utf8), version: 100)
        }
        for _ in 0..<3 { try await harness.account.pull() }
        #expect(Set(try await harness.tree().keys) == ["home/f"])
        await harness.account.close()
    }

    @Test("If the remote does not know the token anymore, the pull requests everything")
    func expiredToken() async throws {
        let harness = try await harness(["/a", "/b"])
        harness.remote.write("home/a", nil)
        harness.remote.write("home/c", "new")
        harness.remote.state.withLock { $0.firstCursor = 1000 }
        try await harness.account.pull()
        #expect(harness.handler.pulled() == ["deleted /a", "new /c"])
        // A feed from its beginning does not contain deleted objects. Their absence proves nothing.
        #expect(requests(harness) == ["FEED", "FEED", "HEAD"])
        await harness.account.close()
    }

    @Test("A deferred change is examined again automatically")
    func deferredChanges() async throws {
        let harness = try await harness(["/a", "/b"])
        // A pull postpones changes of this node while an upload of it is queued.
        try await harness.commit { cloud in _ = try cloud.upload(cloud.node(at: "/a")) }
        harness.remote.write("home/a", "other")
        harness.remote.write("home/a%" + Sidecar.metadata, "metadata")
        for verbs in [["FEED"], ["HEAD", "HEAD", "FEED"], ["HEAD", "HEAD", "FEED"]] {
            #expect(try await harness.account.pull().deferred == 1)
            #expect(requests(harness) == verbs)
            #expect(try await position(harness)?.keys.map(\.path) == ["home/a", "home/a%" + Sidecar.metadata])
        }
        harness.remote.write("home/b", "other")
        #expect(try await harness.account.pull().modified == 1)
        try await harness.commit { cloud in
            for operation in try cloud.operations(for: cloud.node(at: "/a")) { operation.skip() }
        }
        #expect(try await harness.account.pull().modified == 1)
        #expect(
            harness.handler.pulled() == ["modified /a: header, metadata, data", "modified /b: header, data"]
        )
        #expect(try await position(harness)?.keys == [])
        _ = requests(harness)
        #expect(try await harness.account.pull() == PullSummary())
        #expect(requests(harness) == ["FEED"])
        await harness.account.close()
    }

    @Test("A deferred change is examined at the place where its folder has moved")
    func movedDeferredChanges() async throws {
        let harness = try await harness(["/a"])
        harness.remote.folder("home/f")
        harness.remote.write("home/f%" + Sidecar.content, "content")
        for name in ["b", "c", "d"] { harness.remote.write("home/f/\(name)", name) }
        #expect(try await harness.account.pull().new == 4)
        // Another machine moves the folder, and deletes and changes files in it.
        harness.remote.carry("home/f", to: "home/g")
        harness.remote.rename("home/f%" + Sidecar.content, to: "home/g%" + Sidecar.content)
        harness.remote.write("home/g/b", nil)
        harness.remote.write("home/g/c", "other")
        for _ in 0..<3 { try await harness.account.pull() }
        #expect(
            Set(try await harness.tree().keys.filter { !$0.contains("%") }) == [
                "home/a", "home/g/", "home/g/c", "home/g/d",
            ]
        )
        #expect(try await position(harness)?.keys == [])
        await harness.account.close()
    }

    @Test("Many deferred changes are reported once more, and then requested with a full listing")
    func manyDeferredChanges() async throws {
        let harness = try await harness((0...FeedPosition.most).map { TreePath(["\($0)"]) })
        let before = try await position(harness)
        let count = FeedPosition.most + 1
        try await harness.commit { cloud in
            for number in 0..<count { _ = try cloud.upload(cloud.node(at: TreePath(["\(number)"]))) }
        }
        for number in 0..<count { harness.remote.write("home/\(number)", "other") }
        #expect(try await harness.account.pull().deferred == count)
        #expect(try await position(harness)?.cursor == before?.cursor)
        #expect(try await harness.account.pull().deferred == count)
        #expect(try await position(harness) == nil)
        #expect(try await harness.account.pull().deferred == count)
        try await harness.commit { cloud in
            for operation in try cloud.context.fetch(QueuedOperation.all) { operation.skip() }
        }
        #expect(try await harness.account.pull().modified == count)
        #expect(try await position(harness) != nil)
        #expect(try await harness.account.pull() == PullSummary())
        await harness.account.close()
    }

    @Test("An unresolved conflict does not cause a full listing")
    func unresolvedConflict() async throws {
        let harness = try await harness(["/a"])
        harness.remote.write("home/a", "theirs")
        try await harness.commit { cloud in
            harness.handler.set("mine", of: try cloud.node(at: "/a").id)
            try cloud.upload(cloud.node(at: "/a"))
        }
        try await harness.drain()
        _ = requests(harness)
        for verbs in [["FEED"], ["HEAD", "FEED"], ["HEAD", "FEED"]] {
            #expect(try await harness.account.pull().deferred == 1)
            #expect(requests(harness) == verbs)
        }
        try await harness.commit { cloud in
            for conflict in try cloud.conflicts() { try cloud.resolve(conflict, .mine) }
        }
        try await harness.drain()
        #expect(try await harness.account.pull() == PullSummary())
        #expect(try await position(harness)?.keys == [])
        #expect(harness.remote.tree["home/a"] == "mine")
        await harness.account.close()
    }

    @Test("Content of a folder with an unreadable name is ignored, as with listings")
    func unreadableFolderName() async throws {
        let harness = try await harness(["/a"])
        for path in ["home/50%", "home/50%/f", "home/f%z"] { harness.remote.folder(path) }
        for path in ["home/50%/x", "home/50%/f/x", "home/f%z/x"] { harness.remote.write(path, "unreadable") }
        #expect(try await harness.account.pull() == PullSummary())
        #expect(try await position(harness)?.keys == [])
        #expect(Set(try await harness.tree().keys) == ["home/a"])
        await harness.account.close()
    }

    @Test("A folder that cannot be deleted is found again", arguments: [true, false])
    func undeletableFolder(isPulledBefore: Bool) async throws {
        let harness = try await harness(["/f/a"])
        try await harness.commit { try $0.delete($0.node(at: "/f")) }
        harness.remote.write("home/f/b", "theirs")
        if isPulledBefore { try await harness.account.pull() }
        // The folder contains a file that this machine does not know, and no feed entry names the folder itself.
        try await harness.drain()
        for _ in 0..<2 { try await harness.account.pull() }
        #expect(Set(try await harness.tree().keys) == ["home/f/", "home/f/b"])
        #expect(try await harness.account.pull() == PullSummary())
        #expect(try await position(harness)?.keys == [])
        await harness.account.close()
    }

    @Test("A pull does not overwrite a token that another process has written")
    func tokenOfOtherProcess() async throws {
        let (begun, hasBegun) = AsyncStream.makeStream(of: Void.self)
        let isGated = Mutex(false)
        let gate = Gate()
        let harness = try await harness(["/a"]) { request, _ in
            guard request.verb == "FEED", isGated.withLock({ $0 }) else { return nil }
            hasBegun.yield()
            return .gate(gate)
        }
        try await harness.commit { cloud in _ = try cloud.upload(cloud.node(at: "/a")) }
        harness.remote.write("home/a", "other")
        isGated.withLock { $0 = true }
        let pull = Task { try await harness.account.pull() }
        for await _ in begun { break }
        try await harness.stack.overStore { context in
            try context.accountRecord("alice").feedPosition = FeedPosition("0")
            try context.commit()
        }
        gate.open()
        #expect(try await pull.value.deferred == 1)
        #expect(try await position(harness)?.cursor == "0")
        // The next pull still checks the keys that this pull has postponed.
        #expect(try await position(harness)?.keys.map(\.path) == ["home/a"])
        await harness.account.close()
    }

    @Test("A change that is reported during an upload to the same place is not forgotten")
    func reportedDuringUpload() async throws {
        let harness = try await harness([])
        let number = try await harness.commit { try $0.createNode(at: "/a").id }
        // This machine is about to send a file, and another machine sends its own first.
        try await harness.stack.overStore { [info = harness.account.info] context in
            let cloud = CloudContext(context, info)
            let made = RemoteNode(account: "alice", segment: "a", isFolder: false, isCertain: false)
            let row = try #require(try context.insert(made, as: number.counterpart(RemoteNode.self)))
            (row.parent, row.node) = (try cloud.remote(cloud.root().id.rawValue), try context.find(number))
            try context.commit()
        }
        harness.remote.folder("home")
        harness.remote.write("home/a", "theirs")
        try await harness.account.pull()
        #expect(try await position(harness)?.keys.map(\.path) == ["home/a"])
        try await harness.drain()
        try await harness.account.pull()
        #expect(Set(try await harness.tree().keys) == ["home/a", "home/a 2"])
        await harness.account.close()
    }

    @Test("A change that is reported before a local delete is not forgotten")
    func reportedBeforeLocalDelete() async throws {
        let harness = try await harness(["/a"])
        try await harness.commit { try $0.delete($0.node(at: "/a")) }
        harness.remote.write("home/a", "theirs")
        try await harness.account.pull()
        // The delete finds another version than it expects.
        try await harness.drain()
        for _ in 0..<2 { try await harness.account.pull() }
        #expect(Set(try await harness.tree().keys) == ["home/a"])
        await harness.account.close()
    }

    @Test("A file is found again if its local delete was skipped")
    func skippedDelete() async throws {
        let harness = try await harness(["/a"])
        try await harness.commit { try $0.delete($0.node(at: "/a")) }
        try await harness.commit { for operation in try $0.context.fetch(QueuedOperation.all) { operation.skip() } }
        for _ in 0..<2 { try await harness.account.pull() }
        #expect(Set(try await harness.tree().keys) == ["home/a"])
        await harness.account.close()
    }

    @Test("A remote that has lost everything deletes no local file")
    func emptyRemote() async throws {
        let harness = try await harness(["/a", "/f/b"])
        harness.remote.state.withLock { $0.entries = [:] }
        let error = await #expect(throws: CloudError.self) { try await harness.account.pull() }
        #expect(error?.code == .incompatibleRemote)
        #expect(try await harness.tree().count == 3)
        await harness.account.close()
    }

    @Test("A change that the handler refuses is reported again")
    func refusedByHandler() async throws {
        let harness = try await harness(["/a"])
        harness.remote.write("home/b", "new")
        let before = try await position(harness)
        harness.handler.state.withLock { $0.refusesPulls = true }
        await #expect(throws: (any Error).self) { try await harness.account.pull() }
        #expect(try await position(harness) == before)
        harness.handler.state.withLock { $0.refusesPulls = false }
        #expect(try await harness.account.pull().new == 1)
        await harness.account.close()
    }

    @Test("A change in a folder before its local move is found at the new place")
    func changeBeforeFolderMove()
        async throws
    {
        let harness = try await CloudHarness(StrictRemote(RemoteCapabilities(hasChangeFeed: true, isLocal: true)))
        try await harness.commit { cloud in
            for name in ["renamed", "changed", "deleted", "same"] {
                try cloud.createNode(at: TreePath(["f", "in", name]))
            }
        }
        try await harness.drain()
        try await harness.account.pull()
        harness.remote.rename("home/f/in/renamed", to: "home/f/in/other")
        harness.remote.write("home/f/in/changed", "theirs")
        harness.remote.write("home/f/in/deleted", nil)
        try await harness.commit { try $0.rename($0.node(at: "/f"), to: "g") }
        try await harness.drain()
        _ = harness.handler.pulled()
        try await harness.account.pull()
        #expect(Set(try await harness.tree().keys).union(["home/"]) == Set(harness.remote.tree.keys))
        #expect(
            harness.handler.pulled() == [
                "deleted /g/in/deleted", "modified /g/in/changed: header, data",
                "moved /g/in/renamed to /g/in/other",
            ]
        )
        await harness.account.close()
    }
}
