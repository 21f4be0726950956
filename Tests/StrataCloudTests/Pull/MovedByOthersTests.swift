import Foundation
import Strata
import StrataPipeline
import Testing

@testable import StrataCloud

/// Other machines move and delete folders for which this machine has queued operations.
@Suite struct MovedByOthersTests {
    private func stage(_ paths: [TreePath]) async throws -> CloudStage {
        let stage = try await CloudStage()
        try await stage.fill(paths)
        return stage
    }

    private func edit(_ stage: CloudStage, _ path: TreePath, _ text: String) async throws {
        try await stage.commit { cloud in
            let node = try cloud.node(at: path)
            stage.handler.set(text, of: node.id)
            try cloud.upload(node)
        }
    }

    /// Lets both sides work until a pull finds no changes.
    private func settle(_ stage: CloudStage) async throws {
        for _ in 0..<8 {
            try await stage.drain()
            let summary = try await stage.account.pull()
            let queued = try await stage.queued()
            if summary == PullSummary(), queued.isEmpty { return }
        }
        Issue.record("It does not come to an end: \(try await stage.queued())")
    }

    @Test func `an upload follows a file whose old folder is gone`() async throws {
        let stage = try await stage(["/e1/e4/f11"])
        stage.remote.rename("home/e1/e4/f11", to: "home/e1/g25")
        stage.remote.write("home/e1/e4", nil)
        try await edit(stage, "/e1/e4/f11", "edited")
        try await settle(stage)
        #expect(stage.remote.tree == ["home/": "", "home/e1/": "", "home/e1/g25": "edited"])
        #expect(try await stage.tree().keys.sorted() == ["home/e1/", "home/e1/g25"])
        #expect(try await stage.read { try $0.conflicts().count } == 0)
    }

    @Test func `an upload follows a file whose folder has another name`() async throws {
        let stage = try await stage(["/d/f", "/stay"])
        stage.remote.carry("home/d", to: "home/e")
        try await edit(stage, "/d/f", "edited")
        try await settle(stage)
        #expect(
            stage.remote.tree == ["home/": "", "home/e/": "", "home/e/f": "edited", "home/stay": "content of /stay"]
        )
        #expect(try await stage.tree().keys.sorted() == ["home/e/", "home/e/f", "home/stay"])
    }

    @Test func `an upload that follows a file is held where others have written it since`() async throws {
        let stage = try await stage(["/d/f"])
        stage.remote.carry("home/d", to: "home/e")
        try await edit(stage, "/d/f", "edited")
        try await stage.drain()
        try await stage.account.pull()
        stage.remote.write("home/e/f", "theirs")
        try await stage.drain()
        #expect(stage.remote.tree["home/e/f"] == "theirs")
        #expect(try await stage.read { try $0.conflicts().count } == 1)
    }

    @Test func `two files that change places between folders which others have deleted arrive`() async throws {
        let stage = try await stage(["/q/m", "/r/k"])
        try await stage.commit { cloud in
            try cloud.move(cloud.node(at: "/q/m"), to: "/r/m")
            try cloud.move(cloud.node(at: "/r/k"), to: "/q/k")
        }
        for path in ["home/q/m", "home/r/k", "home/q", "home/r"] { stage.remote.write(path, nil) }
        try await settle(stage)
        #expect(Set(stage.remote.tree.keys) == ["home/", "home/q/", "home/q/k", "home/r/", "home/r/m"])
    }

    @Test(arguments: [true, false])
    func `an operation that runs in a folder which others have deleted ends`(_ isMove: Bool) async throws {
        let stage = try await stage(["/n/old", "/other"])
        let (isAsked, mayGoOn) = (AsyncStream.makeStream(of: Void.self), AsyncStream.makeStream(of: Void.self))
        try await stage.commit { cloud in
            try cloud.createNode(at: "/n/new")
            if isMove { try cloud.move(cloud.node(at: "/other"), to: "/n/other") }
        }
        stage.handler.state.withLock { state in
            state.gate = {
                isAsked.continuation.yield()
                for await _ in mayGoOn.stream { break }
            }
        }
        stage.account.push.resume()
        for await _ in isAsked.stream { break }
        stage.handler.state.withLock { $0.gate = nil }
        for path in ["home/n/old", "home/n/other", "home/n"] { stage.remote.write(path, nil) }
        try await stage.account.pull()
        mayGoOn.continuation.yield()
        try await settle(stage)
        #expect(stage.remote.tree["home/n/new"] == "content of /n/new")
        #expect(try await stage.read { try $0.failedOperations().isEmpty })
    }

    @Test(arguments: [ConflictResolution.mine, .theirs, nil], [true, false])
    func `an upload that waits for a decision goes on when others have deleted the file`(
        _ resolution: ConflictResolution?,
        isPulled: Bool
    ) async throws {
        let stage = try await stage(["/n"])
        stage.remote.write("home/n", "theirs")
        try await edit(stage, "/n", "mine")
        try await stage.drain()
        #expect(try await stage.read { try $0.conflicts().count } == 1)
        try await stage.account.pull()
        stage.remote.write("home/n", nil)
        if isPulled { try await stage.account.pull() }
        if let resolution {
            try await stage.commit { cloud in
                for conflict in try cloud.conflicts() { try cloud.resolve(conflict, resolution) }
            }
        }
        guard resolution != nil || isPulled else { return }
        try await settle(stage)
        // The file stays deleted only if the decision came before the pull that found the delete.
        let isGone = resolution == .theirs && !isPulled
        #expect(stage.remote.tree["home/n"] == (isGone ? nil : "mine"))
        #expect(try await stage.read { try $0.conflicts().isEmpty })
    }

    @Test func `what no pull brings back is made by the operation that needs it`() async throws {
        let stage = try await stage(["/f/x"])
        let node = try await stage.commit { cloud in
            let node = try cloud.createNode(at: "/f/y")
            stage.handler.set("y", of: node.id)
            return node.id
        }
        for path in ["home/f/x", "home/f"] { stage.remote.write(path, nil) }
        // The loop represents pulls that find nothing, as if each of them left the folder alone.
        for _ in 0..<2 {
            try await stage.drain()
            #expect(try await stage.read { try $0.context.fetch(QueuedOperation.all).map(\.constraint) } == ["pull"])
            try await stage.commit { cloud in
                for operation in try cloud.operations(for: cloud.context.find(node)!) { operation.retry() }
            }
        }
        try await stage.drain()
        #expect(stage.remote.tree["home/f/y"] == "y")
        #expect(try await stage.queued() == [])
    }

    // MARK: Rows without a folder

    @Test func `a folder of which files are known is not forgotten before these`() async throws {
        let stage = try await stage(["/f/x"])
        let error = await #expect(throws: StrataError.self) {
            try await stage.commit { cloud in cloud.context.delete(try #require(cloud.node(at: "/f").remote)) }
        }
        #expect(error?.code == .deleteDenied)
    }

    @Test func `what lost its folder in an older store has no key, and is sent to where it lies`() async throws {
        let stage = try await stage(["/f/x", "/f/y"])
        try await stage.commit { cloud in
            let row = try #require(cloud.node(at: "/f/x").remote)
            row.parent = nil
            #expect { try row.key } throws: { ($0 as? CloudError)?.code == .noSuchFolder }
        }
        await stage.account.close()
        let again = try await CloudStage(stage.remote, stack: stage.stack)
        try await again.drain()
        try await again.account.pull()
        #expect(Set(stage.remote.tree.keys) == ["home/", "home/f/", "home/f/x", "home/f/y"])
        #expect(try await again.tree().keys.sorted() == ["home/f/", "home/f/x", "home/f/y"])
        #expect(try await again.read { try $0.node(at: "/f/x").remote?.key.path } == "home/f/x")
    }

    @Test(arguments: [
        ("f25", ["f25"], "f25 2"), ("f25 2", ["f25 2"], "f25 3"), ("a 9.txt", ["a 9.txt", "a 10.txt"], "a 11.txt"),
        ("report 2024.txt", ["report 2024.txt"], "report 2024 2.txt"), ("a 02", ["a 02"], "a 02 2"),
        ("7", ["7"], "7 2"),
        ("a 1", ["a 1"], "a 1 2"),
    ])
    func `a name that is taken has the next number`(_ name: String, _ taken: [String], _ free: String) async throws {
        let stage = try await CloudStage()
        let found = try await stage.commit { cloud in
            for name in taken { _ = try cloud.createNode(at: TreePath([name])) }
            return try cloud.freeName(for: name, in: cloud.root())
        }
        #expect(found == free)
    }

    @Test func `a thousand names that are taken are enough`() async throws {
        let stage = try await CloudStage()
        let error = await #expect(throws: CloudError.self) {
            try await stage.read { cloud in
                _ = try cloud.freeName(
                    for: "a",
                    in: cloud.root().id,
                    besides: Set(["a"] + (2..<2000).map { UTF8Text("a \($0)") })
                )
            }
        }
        #expect(error?.code == .placeTaken)
    }
}
