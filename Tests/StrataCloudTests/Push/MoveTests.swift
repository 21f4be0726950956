import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

@Suite struct MoveTests {
    static let abilities = [
        RemoteCapabilities(isLocal: true), RemoteCapabilities(hasFolders: false, moves: false, isLocal: true),
    ]

    @Test("A folder is not moved into a folder that still lies inside it at the remote", arguments: abilities)
    func intoOwnDescendant(_ abilities: RemoteCapabilities) async throws {
        let harness = try await CloudHarness(
            StrictRemote(abilities),
            options: CloudOptions(retry: RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)))
        )
        let (outer, inner) = try await harness.commit { cloud in
            (try cloud.createFolder(at: "/outer").id, try cloud.createFolder(at: "/outer/inner").id)
        }
        try await harness.drain()
        try await harness.commit { cloud in try cloud.move(cloud.node(at: "/outer/inner"), to: "/inner") }
        try await harness.commit { cloud in
            for operation in try cloud.context.fetch(QueuedOperation.all) { operation.skip() }
            try cloud.move(cloud.node(at: "/outer"), to: "/inner/outer")
        }
        try await harness.drain()
        #expect(harness.remote.tree.keys.sorted() == ["home/", "home/outer/", "home/outer/inner/"])
        try await harness.commit { cloud in
            let failed = try cloud.failedOperations()
            #expect(try failed.map { try cloud.node(for: $0)?.id } == [outer])
            #expect(failed.first?.failures.list.last?.message.contains("is below the node") == true)
            // The error message suggests this.
            failed.first?.skip()
            try cloud.rename(#require(try cloud.context.find(inner)), to: "moved")
            try cloud.rename(#require(try cloud.context.find(outer)), to: "again")
        }
        try await harness.drain()
        #expect(harness.remote.tree.keys.sorted() == ["home/", "home/moved/", "home/moved/again/"])
        #expect(try await harness.queued() == [])
        await harness.account.close()
    }

    @Test("A remote edit between the check and the move does not become the known version")
    func writtenBeforeMove() async throws {
        let remote = Mutex<StrictRemote?>(nil)
        let harness = try await CloudHarness(
            StrictRemote { request, _ in
                // The other machine writes in the moment before the file is moved.
                if "\(request)" == "MOVE home/b" { remote.withLock { $0 }?.write("home/a", "theirs") }
                return nil
            }
        )
        remote.withLock { $0 = harness.remote }
        try await harness.fill(["/a"])
        try await harness.commit { cloud in try cloud.move(cloud.node(at: "/a"), to: "/b") }
        try await harness.drain()
        #expect(harness.remote.tree["home/b"] == "theirs")
        try await harness.account.pull()
        #expect(harness.handler.pulled().contains("modified /b: header, data"))
        await harness.account.close()
    }

    @Test(
        "A remote edit in a folder during its move does not become the known version",
        arguments: [true, false],
        [true, false]
    )
    func writtenDuringMove(
        _ copies: Bool,
        isInterrupted: Bool
    ) async throws {
        let faults = Mutex(isInterrupted ? ["DELETE home/f/b"] : [])
        let harness = try await CloudHarness(
            StrictRemote(RemoteCapabilities(hasFolders: false, copies: copies, moves: false, isLocal: true)) {
                request,
                _ in
                faults.withLock { faults in
                    guard faults.first == "\(request)" else { return nil }
                    faults = []
                    return .before(RemoteError(.unavailable, "Not now."))
                }
            },
            options: CloudOptions(retry: RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)))
        )
        try await harness.fill(["/f/a", "/f/b"])
        try await harness.commit { cloud in try cloud.move(cloud.node(at: "/f"), to: "/g") }
        harness.remote.write("home/f/a", "theirs")
        try await harness.drain()
        #expect(harness.remote.tree["home/g/a"] == "theirs")
        try await harness.account.pull()
        #expect(harness.handler.pulled().contains("modified /g/a: header, data"))
        #expect(try await harness.account.pull() == PullSummary())
        await harness.account.close()
    }

    @Test("A file whose upload got no answer and that was moved twice is still recognized", arguments: [true, false])
    func movedTwice(_ keepsMarks: Bool)
        async throws
    {
        let faults = Mutex(["PUT home/n", "HEAD home/o"])
        let remote = StrictRemote(
            RemoteCapabilities(hasFolders: false, moves: false, keepsMarks: keepsMarks, isLocal: true)
        ) {
            request,
            _ in
            let place = faults.withLock { $0.firstIndex(of: "\(request)").map { $0 } }
            guard let place else { return nil }
            faults.withLock { _ = $0.remove(at: place) }
            return request.verb == "PUT" ? .answerLost : .before(RemoteError(.unavailable, "Not now."))
        }
        let harness = try await CloudHarness(
            remote,
            options: CloudOptions(retry: RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)))
        )
        try await harness.commit { _ = try $0.createNode(at: "/n") }
        harness.account.uploads.resume()
        while faults.withLock({ $0.count }) > 1, !Task.isCancelled { await Task.yield() }
        harness.account.uploads.suspend()
        try await harness.commit { cloud in
            for operation in try cloud.context.fetch(QueuedOperation.all) { operation.skip() }
            try cloud.move(cloud.node(at: "/n"), to: "/m")
        }
        try await harness.commit { try $0.move($0.node(at: "/m"), to: "/o") }
        try await harness.drain()
        #expect(remote.tree.keys.sorted() == ["home/", "home/o"])
        #expect(faults.withLock { $0.isEmpty })
        try await harness.commit { try $0.delete($0.node(at: "/o")) }
        try await harness.drain()
        #expect(remote.tree.keys.sorted() == ["home/"])
        #expect(try await harness.queued() == [])
        await harness.account.close()
    }

    /// A remote that refuses files and folders with the name `bad`.
    private static func choosy(_ abilities: RemoteCapabilities) -> StrictRemote {
        StrictRemote(abilities) { request, _ in
            request.key.split(separator: "/").contains("bad") ? .before(RemoteError(.invalidKey, "No such name.")) : nil
        }
    }

    /// Runs the queued operations, and compares the nodes on this machine, the files at the remote, and the known state
    /// of the remote.
    private static func check(_ harness: CloudHarness, _ keys: [String], _ location: SourceLocation = #_sourceLocation)
        async throws
    {
        try await harness.drain()
        #expect(harness.remote.tree.keys.sorted() == ["home/"] + keys, sourceLocation: location)
        #expect(try await harness.queued() == [], sourceLocation: location)
        #expect(try await harness.tree().keys.sorted() == keys, sourceLocation: location)
        let known = try await harness.read { cloud in
            try cloud.context.fetch(RemoteNode.all).filter { $0.parent != nil }.map {
                try "\($0.key)" + ($0.isFolder ? "/" : "")
            }
        }
        #expect(known.sorted() == keys, sourceLocation: location)
        await harness.account.close()
    }

    @Test(
        "A node that passes through a folder whose move was refused leaves the parent before the deletes",
        arguments: abilities
    )
    func refusedFolderMove(
        _ abilities: RemoteCapabilities
    ) async throws {
        let harness = try await CloudHarness(Self.choosy(abilities))
        try await harness.fill(["/a/x"], folders: ["/b"])
        try await harness.commit { try $0.move($0.node(at: "/b"), to: "/bad") }
        try await harness.commit { try $0.move($0.node(at: "/a/x"), to: "/bad/x") }
        try await harness.commit { cloud in
            try cloud.move(cloud.node(at: "/bad/x"), to: "/y")
            try cloud.delete(cloud.node(at: "/bad"))
            try cloud.delete(cloud.node(at: "/a"))
            // The path is free when the operation creates the folder.
            try cloud.createFolder(at: "/a")
        }
        try await Self.check(harness, ["home/a/", "home/y"])
    }

    @Test(
        "A folder below a folder that was never created leaves its place before both are deleted",
        arguments: abilities
    )
    func neverCreatedParent(
        _ abilities: RemoteCapabilities
    ) async throws {
        let harness = try await CloudHarness(Self.choosy(abilities))
        try await harness.fill(["/c/f"])
        try await harness.commit { _ = try $0.createFolder(at: "/bad") }
        try await harness.commit { try $0.move($0.node(at: "/c"), to: "/bad/c") }
        try await harness.commit { try $0.move($0.node(at: "/bad/c/f"), to: "/g") }
        try await harness.commit { cloud in
            _ = try cloud.createNode(at: "/c")
            try cloud.delete(cloud.node(at: "/bad"))
        }
        try await Self.check(harness, ["home/c", "home/g"])
    }

    @Test("Nodes that pass through a folder that others have deleted leave its parent", arguments: abilities)
    func leavesDeletedFolder(
        _ abilities: RemoteCapabilities
    ) async throws {
        let harness = try await CloudHarness(StrictRemote(abilities))
        try await harness.fill(["/a/x"], folders: ["/b"])
        try await harness.commit { try $0.move($0.node(at: "/a/x"), to: "/b/x") }
        try await harness.commit { cloud in
            try cloud.move(cloud.node(at: "/b/x"), to: "/y")
            try cloud.delete(cloud.node(at: "/a"))
            try cloud.createFolder(at: "/a")
        }
        harness.remote.write("home/b", nil)
        try await harness.account.pull()
        try await Self.check(harness, ["home/a/", "home/y"])
    }

    @Test("A folder below a deleted folder is deleted after the nodes that move out of it", arguments: abilities)
    func deleteAfterMovesOut(
        _ abilities: RemoteCapabilities
    ) async throws {
        let harness = try await CloudHarness(StrictRemote(abilities))
        try await harness.fill(["/c/f"], folders: ["/b"])
        try await harness.commit { try $0.move($0.node(at: "/c"), to: "/b/c") }
        try await harness.commit { try $0.move($0.node(at: "/b/c/f"), to: "/g") }
        try await harness.commit { cloud in
            _ = try cloud.createNode(at: "/c")
            try cloud.delete(cloud.node(at: "/b"))
        }
        harness.remote.write("home/b", nil)
        try await harness.account.pull()
        try await Self.check(harness, ["home/c", "home/g"])
    }

    @Test(
        "A node that passes through a folder that others have deleted leaves its place to a new node",
        arguments: abilities
    )
    func placeForNewNode(
        _ abilities: RemoteCapabilities
    ) async throws {
        let harness = try await CloudHarness(StrictRemote(abilities))
        try await harness.fill(["/x"], folders: ["/b"])
        try await harness.commit { try $0.move($0.node(at: "/x"), to: "/b/x") }
        try await harness.commit { cloud in
            try cloud.move(cloud.node(at: "/b/x"), to: "/y")
            _ = try cloud.createNode(at: "/x")
        }
        harness.remote.write("home/b", nil)
        try await harness.account.pull()
        try await Self.check(harness, ["home/x", "home/y"])
    }

    @Test(
        "A copy finds its source although the move of the source was blocked and the source was then deleted",
        arguments: abilities
    )
    func copyOfBlockedMove(
        _ abilities: RemoteCapabilities
    ) async throws {
        let harness = try await CloudHarness(StrictRemote(abilities))
        let node = try await harness.commit { try $0.createNode(at: "/x").id }
        harness.handler.set("only there", of: node)
        try await harness.drain()
        harness.handler.set(nil, of: node)
        try await harness.commit { try $0.move($0.node(at: "/x"), to: "/p") }
        try await harness.commit { _ = try $0.copy($0.node(at: "/p"), to: "/q") }
        try await harness.commit { cloud in
            try cloud.delete(cloud.node(at: "/p"))
            _ = try cloud.createNode(at: "/x")
        }
        harness.remote.write("home/p", "another one's")
        try await harness.drain()
        #expect(harness.remote.tree.keys.sorted() == ["home/", "home/p", "home/q", "home/x"])
        #expect(harness.remote.tree["home/q"] == "only there" && harness.remote.tree["home/p"] == "another one's")
        #expect(try await harness.queued() == [])
        #expect(try await harness.tree().keys.sorted() == ["home/q", "home/x"])
        await harness.account.close()
    }

    @Test("A folder whose name was refused keeps its old name while it is detached", arguments: abilities)
    func detachedKeepsName(_ abilities: RemoteCapabilities) async throws {
        let harness = try await CloudHarness(Self.choosy(abilities))
        let folder = try await harness.commit { try $0.createFolder(at: "/a/bad").id }
        try await harness.drain()
        try await harness.commit { try $0.move($0.node(at: "/a"), into: $0.root(.detached)) }
        try await harness.drain()
        #expect(try await harness.queued() == [])
        #expect(harness.remote.tree.keys.sorted() == ["home/"])
        #expect(try await harness.read { try $0.context.find(folder)?.name } == "bad")
        await harness.account.close()
    }

    @Test("If no temporary name is accepted, a deleted node is deleted at its place", arguments: abilities)
    func deleteInPlace(
        _ abilities: RemoteCapabilities
    ) async throws {
        let harness = try await CloudHarness(
            StrictRemote(abilities) { request, _ in
                let isRefused = request.key.split(separator: "/").contains { $0 == "bad" || $0.hasPrefix("strata-") }
                return isRefused ? .before(RemoteError(.invalidKey, "No such name.")) : nil
            }
        )
        try await harness.fill(["/c/f"])
        try await harness.commit { _ = try $0.createFolder(at: "/bad") }
        try await harness.commit { try $0.move($0.node(at: "/c"), to: "/bad/c") }
        try await harness.commit { try $0.move($0.node(at: "/bad/c/f"), to: "/g") }
        try await harness.commit { try $0.delete($0.node(at: "/bad")) }
        try await Self.check(harness, ["home/g"])
    }
}
