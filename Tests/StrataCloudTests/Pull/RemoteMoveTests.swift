import Foundation
import Strata
import StrataPipeline
import Testing

@testable import StrataCloud

/// Other machines move and delete folders for which this machine has queued operations.
@Suite struct RemoteMoveTests {
    private func harness(_ paths: [TreePath]) async throws -> CloudHarness {
        let harness = try await CloudHarness()
        try await harness.fill(paths)
        return harness
    }

    private func edit(_ harness: CloudHarness, _ path: TreePath, _ text: String) async throws {
        try await harness.commit { cloud in
            let node = try cloud.node(at: path)
            harness.handler.set(text, of: node.id)
            try cloud.upload(node)
        }
    }

    /// Lets both sides work until a pull finds no changes.
    private func settle(_ harness: CloudHarness) async throws {
        for _ in 0..<8 {
            try await harness.drain()
            let summary = try await harness.account.pull()
            let queued = try await harness.queued()
            if summary == PullSummary(), queued.isEmpty { return }
        }
        Issue.record("It does not come to an end: \(try await harness.queued())")
    }

    @Test("An upload follows a file whose old folder was deleted")
    func oldFolderGone() async throws {
        let harness = try await harness(["/e1/e4/f11"])
        harness.remote.rename("home/e1/e4/f11", to: "home/e1/g25")
        harness.remote.write("home/e1/e4", nil)
        try await edit(harness, "/e1/e4/f11", "edited")
        try await settle(harness)
        #expect(harness.remote.tree == ["home/": "", "home/e1/": "", "home/e1/g25": "edited"])
        #expect(try await harness.tree().keys.sorted() == ["home/e1/", "home/e1/g25"])
        #expect(try await harness.read { try $0.conflicts().count } == 0)
    }

    @Test("An upload follows a file whose folder was renamed")
    func renamedFolder() async throws {
        let harness = try await harness(["/d/f", "/stay"])
        harness.remote.carry("home/d", to: "home/e")
        try await edit(harness, "/d/f", "edited")
        try await settle(harness)
        #expect(
            harness.remote.tree == ["home/": "", "home/e/": "", "home/e/f": "edited", "home/stay": "content of /stay"]
        )
        #expect(try await harness.tree().keys.sorted() == ["home/e/", "home/e/f", "home/stay"])
    }

    @Test("An upload that follows a moved file is held if others have edited the file")
    func conflictAfterMove() async throws {
        let harness = try await harness(["/d/f"])
        harness.remote.carry("home/d", to: "home/e")
        try await edit(harness, "/d/f", "edited")
        try await harness.drain()
        try await harness.account.pull()
        harness.remote.write("home/e/f", "theirs")
        try await harness.drain()
        #expect(harness.remote.tree["home/e/f"] == "theirs")
        #expect(try await harness.read { try $0.conflicts().count } == 1)
    }

    @Test("Two files that exchange places between folders that others have deleted arrive")
    func exchangedInDeletedFolders() async throws {
        let harness = try await harness(["/q/m", "/r/k"])
        try await harness.commit { cloud in
            try cloud.move(cloud.node(at: "/q/m"), to: "/r/m")
            try cloud.move(cloud.node(at: "/r/k"), to: "/q/k")
        }
        for path in ["home/q/m", "home/r/k", "home/q", "home/r"] { harness.remote.write(path, nil) }
        try await settle(harness)
        #expect(Set(harness.remote.tree.keys) == ["home/", "home/q/", "home/q/k", "home/r/", "home/r/m"])
    }

    @Test("An operation in a folder that others have deleted ends", arguments: [true, false])
    func deletedFolder(_ isMove: Bool) async throws {
        let harness = try await harness(["/n/old", "/other"])
        let (isAsked, mayGoOn) = (AsyncStream.makeStream(of: Void.self), AsyncStream.makeStream(of: Void.self))
        try await harness.commit { cloud in
            try cloud.createNode(at: "/n/new")
            if isMove { try cloud.move(cloud.node(at: "/other"), to: "/n/other") }
        }
        harness.handler.state.withLock { state in
            state.gate = {
                isAsked.continuation.yield()
                for await _ in mayGoOn.stream { break }
            }
        }
        harness.account.uploads.resume()
        for await _ in isAsked.stream { break }
        harness.handler.state.withLock { $0.gate = nil }
        for path in ["home/n/old", "home/n/other", "home/n"] { harness.remote.write(path, nil) }
        try await harness.account.pull()
        mayGoOn.continuation.yield()
        try await settle(harness)
        #expect(harness.remote.tree["home/n/new"] == "content of /n/new")
        #expect(try await harness.read { try $0.failedOperations().isEmpty })
    }

    @Test(
        "An upload that waits for a decision continues if others have deleted the file",
        arguments: [ConflictResolution.mine, .theirs, nil],
        [true, false]
    )
    func heldAndDeleted(
        _ resolution: ConflictResolution?,
        isPulled: Bool
    ) async throws {
        let harness = try await harness(["/n"])
        harness.remote.write("home/n", "theirs")
        try await edit(harness, "/n", "mine")
        try await harness.drain()
        #expect(try await harness.read { try $0.conflicts().count } == 1)
        try await harness.account.pull()
        harness.remote.write("home/n", nil)
        if isPulled { try await harness.account.pull() }
        if let resolution {
            try await harness.commit { cloud in
                for conflict in try cloud.conflicts() { try cloud.resolve(conflict, resolution) }
            }
        }
        guard resolution != nil || isPulled else { return }
        try await settle(harness)
        // The file stays deleted only if the decision came before the pull that found the delete.
        let isGone = resolution == .theirs && !isPulled
        #expect(harness.remote.tree["home/n"] == (isGone ? nil : "mine"))
        #expect(try await harness.read { try $0.conflicts().isEmpty })
    }

    @Test("An operation creates a folder that no pull restores")
    func folderMadeByOperation() async throws {
        let harness = try await harness(["/f/x"])
        let node = try await harness.commit { cloud in
            let node = try cloud.createNode(at: "/f/y")
            harness.handler.set("y", of: node.id)
            return node.id
        }
        for path in ["home/f/x", "home/f"] { harness.remote.write(path, nil) }
        // The loop represents pulls that find nothing, as if each of them left the folder alone.
        for _ in 0..<2 {
            try await harness.drain()
            #expect(try await harness.read { try $0.context.fetch(QueuedOperation.all).map(\.constraint) } == ["pull"])
            try await harness.commit { cloud in
                for operation in try cloud.operations(for: cloud.context.find(node)!) { operation.retry() }
            }
        }
        try await harness.drain()
        #expect(harness.remote.tree["home/f/y"] == "y")
        #expect(try await harness.queued() == [])
    }

    // MARK: Rows without a folder

    @Test("A folder is not forgotten before the files that are known in it")
    func folderOfKnownFiles() async throws {
        let harness = try await harness(["/f/x"])
        let error = await #expect(throws: StrataError.self) {
            try await harness.commit { cloud in cloud.context.delete(try #require(cloud.node(at: "/f").remote)) }
        }
        #expect(error?.code == .deleteDenied)
    }

    @Test("A node that lost its folder in an older store has no key, and is uploaded to its place")
    func olderStore() async throws {
        let harness = try await harness(["/f/x", "/f/y"])
        try await harness.commit { cloud in
            let row = try #require(cloud.node(at: "/f/x").remote)
            row.parent = nil
            #expect { try row.key } throws: { ($0 as? CloudError)?.code == .noSuchFolder }
        }
        await harness.account.close()
        let again = try await CloudHarness(harness.remote, stack: harness.stack)
        try await again.drain()
        try await again.account.pull()
        #expect(Set(harness.remote.tree.keys) == ["home/", "home/f/", "home/f/x", "home/f/y"])
        #expect(try await again.tree().keys.sorted() == ["home/f/", "home/f/x", "home/f/y"])
        #expect(try await again.read { try $0.node(at: "/f/x").remote?.key.path } == "home/f/x")
    }

    @Test(
        "A taken name gets the next number",
        arguments: [
            ("f25", ["f25"], "f25 2"), ("f25 2", ["f25 2"], "f25 3"), ("a 9.txt", ["a 9.txt", "a 10.txt"], "a 11.txt"),
            ("report 2024.txt", ["report 2024.txt"], "report 2024 2.txt"), ("a 02", ["a 02"], "a 02 2"),
            ("7", ["7"], "7 2"),
            ("a 1", ["a 1"], "a 1 2"),
        ]
    )
    func takenName(_ name: String, _ taken: [String], _ free: String) async throws {
        let harness = try await CloudHarness()
        let found = try await harness.commit { cloud in
            for name in taken { _ = try cloud.createNode(at: TreePath([name])) }
            return try cloud.freeName(for: name, in: cloud.root())
        }
        #expect(found == free)
    }

    @Test("A thousand taken names are handled")
    func manyTakenNames() async throws {
        let harness = try await CloudHarness()
        let error = await #expect(throws: CloudError.self) {
            try await harness.read { cloud in
                _ = try cloud.freeName(
                    for: "a",
                    in: cloud.root().id,
                    besides: Set(["a"] + (2..<2000).map { UTF8Text("a \($0)") })
                )
            }
        }
        #expect(error?.code == .pathOccupied)
    }
}
