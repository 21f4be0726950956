import Foundation
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import StrataCloud

/// The rules of superseded uploads and of conflicts, with the strict remote.
@Suite struct PushTests {
    private func puts(_ harness: CloudHarness) -> [String] {
        harness.remote.requests.filter { $0.verb == "PUT" }.map(\.key)
    }

    @Test("Waiting uploads of one node are sent as one upload") func m1() async throws {
        let harness = try await CloudHarness()
        try await harness.commit { _ = try $0.createNode(at: "/n") }
        for _ in 0..<2 { try await harness.commit { _ = try $0.upload($0.node(at: "/n")) } }
        try await harness.drain()
        #expect(puts(harness) == ["home/n"])
        let results = try await harness.read { cloud in
            try cloud.context.fetch(FinishedOperation.all.sorted { $0.commit }).map(\.result)
        }
        #expect(results == [.completed, .skipped, .skipped])
        #expect(harness.handler.state.withLock { $0.uploaded } == ["data of /n"])
    }

    /// Makes the stored payload of an operation unreadable before its handler runs.
    private struct PayloadDamage: HandlerInterceptor {
        let stack: ContextStack
        var isSpent: Bool { false }

        func replacement(for operation: Int64) -> HandlerReplacement? {
            { [stack] handler in
                try stack.transact(author: "test") { transaction in
                    try transaction.run(
                        "UPDATE \"QueuedOperation\" SET \"payload\" = x'00' WHERE \"id\" = ?",
                        [.integer(operation)]
                    )
                }
                return try await handler()
            }
        }
    }

    @Test("A running upload does not read its own payload again")
    func ownPayload() async throws {
        let harness = try await CloudHarness()
        harness.account.uploads.intercept(PayloadDamage(stack: harness.stack))
        try await harness.commit { _ = try $0.createNode(at: "/n") }
        try await harness.drain()
        #expect(harness.remote.tree["home/n"] == "content of /n")
        #expect(try await harness.queued() == [])
        await harness.account.close()
    }

    @Test("An operation of an earlier version that would send the record of a file leaves the file a file")
    func recordOfFile() async throws {
        let harness = try await CloudHarness()
        try await harness.commit { _ = try $0.createNode(at: "/n") }
        try await harness.drain()
        let content = try #require(harness.remote.tree["home/n"])
        let id = try await harness.commit { cloud in
            let node = try cloud.node(at: "/n")
            let parent = try #require(node.parent)
            let work = CloudWork.createFolder(node.id.rawValue, CloudWork.Place(of: node, in: parent))
            return cloud.queue(work, reads: [], writes: [.node(node.id)]).id
        }
        try await harness.drain()
        #expect(harness.remote.tree["home/n"] == content)
        #expect(try await harness.read { try $0.node(at: "/n").remote?.isFolder } == false)
        #expect(try await harness.read { try $0.context.finishedOperation(id)?.result } == .skipped)
    }

    @Test("Without coalescing, each upload of a node expects the version that the one before has written") func m2()
        async throws
    {
        let harness = try await CloudHarness()
        try await harness.commit { _ = try $0.createNode(at: "/n") }
        try await harness.drain()
        for _ in 0..<3 { try await harness.commit { _ = try $0.upload($0.node(at: "/n"), coalescesUploads: false) } }
        try await harness.drain()
        #expect(puts(harness) == ["home/n", "home/n", "home/n", "home/n"])
        #expect(harness.remote.refusals == [])
        #expect(try await harness.read { try $0.context.count(CloudConflict.all) } == 0)
    }

    @Test("A node that changes while its upload runs is sent again, without a conflict") func m3() async throws {
        let (begun, hasBegun) = AsyncStream.makeStream(of: Void.self)
        let gate = Gate()
        let harness = try await CloudHarness(GatedRemote.strict(begin: hasBegun, gate))
        try await harness.commit { cloud in
            let node = try cloud.createNode(at: "/n")
            harness.handler.set("first", of: node.id)
        }
        harness.account.uploads.resume()
        for await _ in begun { break }
        try await harness.commit { cloud in
            let node = try cloud.node(at: "/n")
            harness.handler.set("second", of: node.id)
            try cloud.upload(node)
        }
        gate.open()
        try await harness.drain()
        #expect(puts(harness) == ["home/n", "home/n"])
        #expect(harness.remote.tree["home/n"] == "second")
        #expect(harness.remote.refusals == [])
    }

    @Test("A delete skips the waiting uploads of the nodes below it") func m5m7() async throws {
        let harness = try await CloudHarness()
        try await harness.commit { _ = try $0.createNode(at: "/f/g/kept") }
        try await harness.drain()
        try await harness.commit { cloud in
            for name in ["1", "2", "g/3"] { try cloud.createNode(at: TreePath(parsing: "/f/\(name)")) }
            try cloud.upload(cloud.node(at: "/f/g/kept"))
        }
        let before = puts(harness)
        try await harness.commit { try $0.delete($0.node(at: "/f")) }
        #expect(try await harness.read { try $0.context.count(FinishedOperation.where { $0.result == .skipped }) } == 4)
        try await harness.drain()
        #expect(puts(harness) == before)
        #expect(harness.remote.tree == ["home/": ""])
        #expect(try await harness.read { try $0.context.count(RemoteNode.all) } == 4)
        #expect(try await harness.read { try $0.context.count(ResourceAccess.all) } == 0)
    }

    @Test("A delete of a node cancels the running upload of the node, and runs after it") func m6() async throws {
        let (begun, hasBegun) = AsyncStream.makeStream(of: Void.self)
        let gate = Gate()
        let harness = try await CloudHarness(GatedRemote.strict(begin: hasBegun, gate))
        try await harness.commit { _ = try $0.createNode(at: "/n") }
        harness.account.uploads.resume()
        for await _ in begun { break }
        try await harness.commit { try $0.delete($0.node(at: "/n")) }
        gate.open()
        try await harness.drain()
        #expect(harness.remote.tree == ["home/": ""])
        #expect(try await harness.read { try $0.context.count(QueuedOperation.all) } == 0)
    }

    @Test(
        "An upload never overwrites a version by another machine, and the application resolves the conflict",
        arguments: [ConflictResolution.merged, .mine, .theirs, .both]
    )
    func m8(
        _ resolution: ConflictResolution
    ) async throws {
        let harness = try await CloudHarness()
        try await harness.commit { cloud in
            try cloud.createNode(at: "/n.txt")
            try cloud.createNode(at: "/other")
        }
        try await harness.drain()
        harness.remote.write("home/n.txt", "theirs")
        try await harness.commit { cloud in
            let node = try cloud.node(at: "/n.txt")
            harness.handler.set("ours", of: node.id)
            try cloud.upload(node)
            try cloud.upload(cloud.node(at: "/other"))
        }
        try await harness.drain()
        #expect(harness.remote.tree["home/n.txt"] == "theirs")
        #expect(puts(harness).filter { $0 == "home/other" }.count == 2)
        try await harness.commit { cloud in
            let conflict = try #require(cloud.conflicts().first)
            #expect(conflict.node?.path == "/n.txt")
            let held = try cloud.operations(for: #require(conflict.node))
            #expect(held.map(\.status) == [.held])
            #expect(held.map(\.constraint) == ["conflict"])
            try cloud.resolve(conflict, resolution)
        }
        try await harness.drain()
        #expect(try await harness.read { try $0.conflicts().count } == 0)
        #expect(try await harness.read { try $0.context.count(QueuedOperation.all) } == 0)
        let isMarked = try await harness.read { try $0.isMarkedForDownload($0.node(at: "/n.txt"), .data) }
        switch resolution {
        case .merged, .mine:
            #expect(harness.remote.tree["home/n.txt"] == "ours")
            #expect(!isMarked)
        case .theirs:
            #expect(harness.remote.tree["home/n.txt"] == "theirs")
            #expect(isMarked)
        case .both:
            #expect(harness.remote.tree["home/n.txt"] == "theirs")
            #expect(harness.remote.tree["home/n 2.txt"] == "content of /n 2.txt")
            #expect(isMarked)
        }
    }

    @Test("A refused resolution changes nothing")
    func refusedResolution() async throws {
        let harness = try await CloudHarness()
        try await harness.commit { _ = try $0.createNode(at: "/n") }
        try await harness.drain()
        harness.remote.write("home/n", "theirs")
        try await harness.commit { cloud in
            let node = try cloud.node(at: "/n")
            harness.handler.set("ours", of: node.id)
            try cloud.upload(node)
        }
        try await harness.drain()
        try await harness.commit { cloud in
            let conflict = try #require(cloud.conflicts().first)
            let error = #expect(throws: CloudError.self) { try cloud.resolve(conflict, .both, name: "") }
            #expect(error?.code == .invalidName)
        }
        try await harness.commit { cloud in
            let conflict = try #require(cloud.conflicts().first)
            #expect(try cloud.operations(for: #require(conflict.node)).map(\.status) == [.held])
            try cloud.resolve(conflict, .mine)
        }
        try await harness.drain()
        #expect(harness.remote.tree == ["home/": "", "home/n": "ours"])
    }

    @Test(
        "Files that others write in a folder during its file-by-file move are moved too",
        arguments: ["COPY home/b/x", "DELETE home/a/x"]
    )
    func editDuringFolderMove(moment: String) async throws {
        let remote = Mutex<StrictRemote?>(nil)
        let times = Mutex(2)
        let abilities = RemoteCapabilities(hasFolders: false, copies: true, moves: false, isLocal: true)
        let strict = StrictRemote(abilities) { request, _ in
            guard request.description == moment,
                times.takeOne()
            else { return nil }
            remote.withLock { $0 }?.write("home/a/x", "later \(times.withLock { $0 })")
            return nil
        }
        remote.withLock { $0 = strict }
        let harness = try await CloudHarness(strict)
        try await harness.commit { cloud in
            for name in ["x", "y", "z"] { try cloud.createNode(at: TreePath(["a", name])) }
        }
        try await harness.drain()
        try await harness.commit { try $0.move($0.node(at: "/a"), to: "/b") }
        try await harness.drain()
        #expect(harness.remote.tree.keys.sorted() == ["home/", "home/b/", "home/b/x", "home/b/y", "home/b/z"])
        #expect(harness.remote.tree["home/b/x"] == "later 0")
        #expect(try await harness.read { try $0.find("/b/z") != nil })
        remote.withLock { $0 = nil }
    }

    @Test("If another machine has taken the path of a new node, the node takes another name") func m15() async throws {
        let harness = try await CloudHarness()
        try await harness.commit { _ = try $0.createFolder(at: "/f") }
        try await harness.drain()
        harness.remote.write("home/f/name.ext", "theirs")
        try await harness.commit { cloud in
            let node = try cloud.createNode(at: "/f/name.ext")
            harness.handler.set("ours", of: node.id)
        }
        try await harness.drain()
        #expect(harness.remote.tree["home/f/name.ext"] == "theirs")
        #expect(harness.remote.tree["home/f/name 2.ext"] == "ours")
        #expect(try await harness.read { try $0.find("/f/name 2.ext") != nil })
        #expect(try await harness.read { try $0.find("/f/name.ext") == nil })
    }

    @Test("A node that was created and deleted before a commit is never queued")
    func createdAndDeleted() async throws {
        let harness = try await CloudHarness()
        try await harness.commit { cloud in
            try cloud.createNode(at: "/f/a")
            try cloud.delete(cloud.node(at: "/f"))
        }
        #expect(try await harness.read { try $0.context.count(QueuedOperation.all) } == 0)
        #expect(try await harness.read { try $0.context.count(ResourceAccess.all) } == 0)
        try await harness.drain()
        #expect(harness.remote.requests == [])
    }

    @Test("The delete of a folder keeps files that others have put into it")
    func nonEmptyFolder() async throws {
        let harness = try await CloudHarness()
        try await harness.commit { _ = try $0.createNode(at: "/f/mine") }
        try await harness.drain()
        harness.remote.write("home/f/theirs", "x")
        harness.remote.write("home/f/mine", "changed")
        try await harness.commit { try $0.delete($0.node(at: "/f")) }
        try await harness.drain()
        #expect(harness.remote.tree == ["home/": "", "home/f/": "", "home/f/theirs": "x", "home/f/mine": "changed"])
    }
}
