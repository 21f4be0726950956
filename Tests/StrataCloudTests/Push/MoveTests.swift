import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

@Suite struct MoveTests {
    static let abilities = [
        RemoteCapabilities(isLocal: true), RemoteCapabilities(hasFolders: false, moves: false, isLocal: true),
    ]

    @Test(arguments: abilities)
    func `a folder is not moved into what still lies in it at the remote`(_ abilities: RemoteCapabilities) async throws
    {
        let stage = try await CloudStage(
            StrictRemote(abilities),
            options: CloudOptions(retry: RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)))
        )
        let (outer, inner) = try await stage.commit { cloud in
            (try cloud.createFolder(at: "/outer").id, try cloud.createFolder(at: "/outer/inner").id)
        }
        try await stage.drain()
        try await stage.commit { cloud in try cloud.move(cloud.node(at: "/outer/inner"), to: "/inner") }
        try await stage.commit { cloud in
            for operation in try cloud.context.fetch(QueuedOperation.all) { operation.skip() }
            try cloud.move(cloud.node(at: "/outer"), to: "/inner/outer")
        }
        try await stage.drain()
        #expect(stage.remote.tree.keys.sorted() == ["home/", "home/outer/", "home/outer/inner/"])
        try await stage.commit { cloud in
            let failed = try cloud.failedOperations()
            #expect(try failed.map { try cloud.node(for: $0)?.id } == [outer])
            #expect(failed.first?.failures.list.last?.message.contains("lies below it") == true)
            // The error message suggests this.
            failed.first?.skip()
            try cloud.rename(#require(try cloud.context.find(inner)), to: "moved")
            try cloud.rename(#require(try cloud.context.find(outer)), to: "again")
        }
        try await stage.drain()
        #expect(stage.remote.tree.keys.sorted() == ["home/", "home/moved/", "home/moved/again/"])
        #expect(try await stage.queued() == [])
        await stage.account.close()
    }

    @Test func `what others write between the look and the move is not taken for known`() async throws {
        let remote = Mutex<StrictRemote?>(nil)
        let stage = try await CloudStage(
            StrictRemote { request, _ in
                // The other machine writes in the moment before the file is moved.
                if "\(request)" == "MOVE home/b" { remote.withLock { $0 }?.write("home/a", "theirs") }
                return nil
            }
        )
        remote.withLock { $0 = stage.remote }
        try await stage.fill(["/a"])
        try await stage.commit { cloud in try cloud.move(cloud.node(at: "/a"), to: "/b") }
        try await stage.drain()
        #expect(stage.remote.tree["home/b"] == "theirs")
        try await stage.account.pull()
        #expect(stage.handler.pulled().contains("modified /b: header, data"))
        await stage.account.close()
    }

    @Test(arguments: [true, false], [true, false])
    func `what others write in a folder during its move is not taken for known`(
        _ copies: Bool,
        isInterrupted: Bool
    ) async throws {
        let faults = Mutex(isInterrupted ? ["DELETE home/f/b"] : [])
        let stage = try await CloudStage(
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
        try await stage.fill(["/f/a", "/f/b"])
        try await stage.commit { cloud in try cloud.move(cloud.node(at: "/f"), to: "/g") }
        stage.remote.write("home/f/a", "theirs")
        try await stage.drain()
        #expect(stage.remote.tree["home/g/a"] == "theirs")
        try await stage.account.pull()
        #expect(stage.handler.pulled().contains("modified /g/a: header, data"))
        #expect(try await stage.account.pull() == PullSummary())
        await stage.account.close()
    }

    @Test(arguments: [true, false])
    func `what was sent without an answer and moved twice is still known for what it is`(_ keepsMarks: Bool)
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
        let stage = try await CloudStage(
            remote,
            options: CloudOptions(retry: RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2)))
        )
        try await stage.commit { _ = try $0.createNode(at: "/n") }
        stage.account.push.resume()
        while faults.withLock({ $0.count }) > 1 { await Task.yield() }
        stage.account.push.suspend()
        try await stage.commit { cloud in
            for operation in try cloud.context.fetch(QueuedOperation.all) { operation.skip() }
            try cloud.move(cloud.node(at: "/n"), to: "/m")
        }
        try await stage.commit { try $0.move($0.node(at: "/m"), to: "/o") }
        try await stage.drain()
        #expect(remote.tree.keys.sorted() == ["home/", "home/o"])
        #expect(faults.withLock { $0.isEmpty })
        try await stage.commit { try $0.delete($0.node(at: "/o")) }
        try await stage.drain()
        #expect(remote.tree.keys.sorted() == ["home/"])
        #expect(try await stage.queued() == [])
        await stage.account.close()
    }

    /// A remote that refuses files and folders with the name `bad`.
    private static func choosy(_ abilities: RemoteCapabilities) -> StrictRemote {
        StrictRemote(abilities) { request, _ in
            request.key.split(separator: "/").contains("bad") ? .before(RemoteError(.invalidKey, "No such name.")) : nil
        }
    }

    /// Runs the queued operations, and compares the nodes on this machine, the files at the remote, and the known state
    /// of the remote.
    private static func check(_ stage: CloudStage, _ keys: [String], _ location: SourceLocation = #_sourceLocation)
        async throws
    {
        try await stage.drain()
        #expect(stage.remote.tree.keys.sorted() == ["home/"] + keys, sourceLocation: location)
        #expect(try await stage.queued() == [], sourceLocation: location)
        #expect(try await stage.tree().keys.sorted() == keys, sourceLocation: location)
        let known = try await stage.read { cloud in
            try cloud.context.fetch(RemoteNode.all).filter { $0.parent != nil }.map {
                try "\($0.key)" + ($0.isFolder ? "/" : "")
            }
        }
        #expect(known.sorted() == keys, sourceLocation: location)
        await stage.account.close()
    }

    @Test(arguments: abilities)
    func
        `what passes through a folder whose move was refused, and that was deleted then, leaves the one that it lies in`(
            _ abilities: RemoteCapabilities
        ) async throws
    {
        let stage = try await CloudStage(Self.choosy(abilities))
        try await stage.fill(["/a/x"], folders: ["/b"])
        try await stage.commit { try $0.move($0.node(at: "/b"), to: "/bad") }
        try await stage.commit { try $0.move($0.node(at: "/a/x"), to: "/bad/x") }
        try await stage.commit { cloud in
            try cloud.move(cloud.node(at: "/bad/x"), to: "/y")
            try cloud.delete(cloud.node(at: "/bad"))
            try cloud.delete(cloud.node(at: "/a"))
            // The path is free when the operation creates the folder.
            try cloud.createFolder(at: "/a")
        }
        try await Self.check(stage, ["home/a/", "home/y"])
    }

    @Test(arguments: abilities)
    func `a folder that was to lie in one that was never made leaves its place before both are deleted`(
        _ abilities: RemoteCapabilities
    ) async throws {
        let stage = try await CloudStage(Self.choosy(abilities))
        try await stage.fill(["/c/f"])
        try await stage.commit { _ = try $0.createFolder(at: "/bad") }
        try await stage.commit { try $0.move($0.node(at: "/c"), to: "/bad/c") }
        try await stage.commit { try $0.move($0.node(at: "/bad/c/f"), to: "/g") }
        try await stage.commit { cloud in
            _ = try cloud.createNode(at: "/c")
            try cloud.delete(cloud.node(at: "/bad"))
        }
        try await Self.check(stage, ["home/c", "home/g"])
    }

    @Test(arguments: abilities)
    func `what passes through a folder that others have deleted leaves the one that it lies in`(
        _ abilities: RemoteCapabilities
    ) async throws {
        let stage = try await CloudStage(StrictRemote(abilities))
        try await stage.fill(["/a/x"], folders: ["/b"])
        try await stage.commit { try $0.move($0.node(at: "/a/x"), to: "/b/x") }
        try await stage.commit { cloud in
            try cloud.move(cloud.node(at: "/b/x"), to: "/y")
            try cloud.delete(cloud.node(at: "/a"))
            try cloud.createFolder(at: "/a")
        }
        stage.remote.write("home/b", nil)
        try await stage.account.pull()
        try await Self.check(stage, ["home/a/", "home/y"])
    }

    @Test(arguments: abilities)
    func `a folder that was to lie in one that others have deleted is deleted behind what is moved out of it`(
        _ abilities: RemoteCapabilities
    ) async throws {
        let stage = try await CloudStage(StrictRemote(abilities))
        try await stage.fill(["/c/f"], folders: ["/b"])
        try await stage.commit { try $0.move($0.node(at: "/c"), to: "/b/c") }
        try await stage.commit { try $0.move($0.node(at: "/b/c/f"), to: "/g") }
        try await stage.commit { cloud in
            _ = try cloud.createNode(at: "/c")
            try cloud.delete(cloud.node(at: "/b"))
        }
        stage.remote.write("home/b", nil)
        try await stage.account.pull()
        try await Self.check(stage, ["home/c", "home/g"])
    }

    @Test(arguments: abilities)
    func `what passes through a folder that others have deleted leaves its place to what comes there`(
        _ abilities: RemoteCapabilities
    ) async throws {
        let stage = try await CloudStage(StrictRemote(abilities))
        try await stage.fill(["/x"], folders: ["/b"])
        try await stage.commit { try $0.move($0.node(at: "/x"), to: "/b/x") }
        try await stage.commit { cloud in
            try cloud.move(cloud.node(at: "/b/x"), to: "/y")
            _ = try cloud.createNode(at: "/x")
        }
        stage.remote.write("home/b", nil)
        try await stage.account.pull()
        try await Self.check(stage, ["home/x", "home/y"])
    }

    @Test(arguments: abilities)
    func `what reads a file that finds its place taken and is deleted then finds it`(
        _ abilities: RemoteCapabilities
    ) async throws {
        let stage = try await CloudStage(StrictRemote(abilities))
        let node = try await stage.commit { try $0.createNode(at: "/x").id }
        stage.handler.set("only there", of: node)
        try await stage.drain()
        stage.handler.set(nil, of: node)
        try await stage.commit { try $0.move($0.node(at: "/x"), to: "/p") }
        try await stage.commit { _ = try $0.copy($0.node(at: "/p"), to: "/q") }
        try await stage.commit { cloud in
            try cloud.delete(cloud.node(at: "/p"))
            _ = try cloud.createNode(at: "/x")
        }
        stage.remote.write("home/p", "another one's")
        try await stage.drain()
        #expect(stage.remote.tree.keys.sorted() == ["home/", "home/p", "home/q", "home/x"])
        #expect(stage.remote.tree["home/q"] == "only there" && stage.remote.tree["home/p"] == "another one's")
        #expect(try await stage.queued() == [])
        #expect(try await stage.tree().keys.sorted() == ["home/q", "home/x"])
        await stage.account.close()
    }

    @Test(arguments: abilities)
    func `a folder whose name was refused keeps it while it is detached`(_ abilities: RemoteCapabilities) async throws {
        let stage = try await CloudStage(Self.choosy(abilities))
        let folder = try await stage.commit { try $0.createFolder(at: "/a/bad").id }
        try await stage.drain()
        try await stage.commit { try $0.move($0.node(at: "/a"), into: $0.root(.detached)) }
        try await stage.drain()
        #expect(try await stage.queued() == [])
        #expect(stage.remote.tree.keys.sorted() == ["home/"])
        #expect(try await stage.read { try $0.context.find(folder)?.name } == "bad")
        await stage.account.close()
    }

    @Test(arguments: abilities)
    func `where no name will do, what was deleted here is deleted there where it lies`(
        _ abilities: RemoteCapabilities
    ) async throws {
        let stage = try await CloudStage(
            StrictRemote(abilities) { request, _ in
                let isRefused = request.key.split(separator: "/").contains { $0 == "bad" || $0.hasPrefix("strata-") }
                return isRefused ? .before(RemoteError(.invalidKey, "No such name.")) : nil
            }
        )
        try await stage.fill(["/c/f"])
        try await stage.commit { _ = try $0.createFolder(at: "/bad") }
        try await stage.commit { try $0.move($0.node(at: "/c"), to: "/bad/c") }
        try await stage.commit { try $0.move($0.node(at: "/bad/c/f"), to: "/g") }
        try await stage.commit { try $0.delete($0.node(at: "/bad")) }
        try await Self.check(stage, ["home/g"])
    }
}
