import Foundation
import Strata
import StrataPipeline
import Testing

@testable import StrataCloud

/// The rules of automatic dependencies: operations in the order of their commits, and the operations that each waits
/// for.
@Suite struct AutomaticDependencyTests {
    /// Runs each step in its own commit. Gives, for each queued operation, the operations that it depends on.
    /// Operations are numbered from 1.
    private func dependencies(
        _ harness: CloudHarness,
        _ steps: [@Sendable (CloudContext) throws -> Void]
    ) async throws -> [Int: Set<Int>] {
        for step in steps { try await harness.commit { try step($0) } }
        return try await harness.read { cloud in
            let operations = try cloud.context.fetch(
                QueuedOperation.all.sorted { [$0.commit.ascending, $0.id.ascending] }
            )
            let places = Dictionary(uniqueKeysWithValues: operations.enumerated().map { ($1.id, $0 + 1) })
            var found: [Int: Set<Int>] = [:]
            for (index, operation) in operations.enumerated() {
                let others = try operation.dependencies().compactMap { places[$0] }
                if !others.isEmpty { found[index + 1] = Set(others) }
            }
            return found
        }
    }

    /// A harness whose remote already has some folders and files.
    private func harness(_ paths: [TreePath] = []) async throws -> CloudHarness {
        let harness = try await CloudHarness()
        try await harness.commit { cloud in
            for path in paths {
                if path.name?.first?.isUppercase ?? false || path.names == ["foo"] || path.names == ["moo"] {
                    try cloud.createFolder(at: path)
                } else {
                    try cloud.createNode(at: path)
                }
            }
        }
        try await harness.drain()
        #expect(harness.remote.refusals == [])
        #expect(try await harness.read { try $0.context.count(QueuedOperation.all) } == 0)
        #expect(try await harness.read { try $0.context.count(ResourceAccess.all) } == 0)
        return harness
    }

    @Test("The upload of a node waits for the folder that contains it") func a1() async throws {
        let harness = try await harness(["/foo"])
        let found = try await dependencies(
            harness,
            [{ try $0.createFolder(at: "/foo/bar") }, { try $0.createNode(at: "/foo/bar/buzz") }]
        )
        #expect(found == [2: [1]])
    }

    @Test("Operations on one path run in order: free it, fill it, move the folder, and fill the moved folder") func a2()
        async throws
    {
        let harness = try await harness(["/foo"])
        let found = try await dependencies(
            harness,
            [
                { try $0.delete($0.node(at: "/foo")) }, { try $0.createFolder(at: "/foo") },
                { try $0.move($0.node(at: "/foo"), to: "/moo") }, { try $0.createNode(at: "/moo/cow") },
            ]
        )
        #expect(found == [2: [1], 3: [2], 4: [3]])
    }

    @Test("Operations on nodes in different folders do not wait for each other") func a3() async throws {
        let harness = try await harness(["/Moo", "/Quack"])
        let found = try await dependencies(
            harness,
            [{ try $0.createNode(at: "/Moo/cow") }, { try $0.createNode(at: "/Quack/duck") }]
        )
        #expect(found == [:])
    }

    @Test("A second upload of a node waits for its first upload") func a5() async throws {
        let found = try await dependencies(
            harness(),
            [{ try $0.createNode(at: "/a") }, { _ = try $0.upload($0.node(at: "/a")) }]
        )
        #expect(found == [2: [1]])
    }

    @Test("A move waits for the upload that creates its node") func a6() async throws {
        let found = try await dependencies(
            harness(),
            [{ try $0.createNode(at: "/a") }, { try $0.move($0.node(at: "/a"), to: "/b") }]
        )
        #expect(found == [2: [1]])
    }

    @Test("An upload waits for the move of its node") func a7() async throws {
        let found = try await dependencies(
            harness(["/a"]),
            [{ try $0.move($0.node(at: "/a"), to: "/b") }, { _ = try $0.upload($0.node(at: "/b")) }]
        )
        #expect(found == [2: [1]])
    }

    @Test("A move waits for the delete that frees its target path") func a9() async throws {
        let found = try await dependencies(
            harness(["/a", "/b"]),
            [{ try $0.delete($0.node(at: "/b")) }, { try $0.move($0.node(at: "/a"), to: "/b") }]
        )
        #expect(found == [2: [1]])
    }

    @Test("A delete waits for the move of its node") func a10() async throws {
        let found = try await dependencies(
            harness(["/a"]),
            [{ try $0.move($0.node(at: "/a"), to: "/b") }, { try $0.delete($0.node(at: "/b")) }]
        )
        #expect(found == [2: [1]])
    }

    @Test("A second move of a node waits for the first") func a11() async throws {
        let found = try await dependencies(
            harness(["/a"]),
            [{ try $0.move($0.node(at: "/a"), to: "/b") }, { try $0.move($0.node(at: "/b"), to: "/c") }]
        )
        #expect(found == [2: [1]])
    }

    @Test("A node in a copied folder waits for the copy") func a12() async throws {
        let found = try await dependencies(
            harness(["/Folder"]),
            [{ try $0.copy($0.node(at: "/Folder"), to: "/x") }, { try $0.createNode(at: "/x/child") }]
        )
        #expect(found == [2: [1]])
    }

    @Test("A message to another account waits for the upload of the node that it copies") func a13() async throws {
        let harness = try await harness()
        let found = try await dependencies(
            harness,
            [
                { try $0.createNode(at: "/a") },
                { cloud in
                    let node = try cloud.node(at: "/a")
                    cloud.enqueue(
                        Message(to: "bob"),
                        in: "messages",
                        reads: [.node(node.id), .content(node.id)],
                        writes: [cloud.resource("inbox of bob")]
                    )
                },
            ]
        )
        #expect(found == [2: [1]])
    }

    @Test("A move waits for the folder that it moves the node into") func a16() async throws {
        let found = try await dependencies(
            harness(["/a"]),
            [{ try $0.createFolder(at: "/F") }, { try $0.move($0.node(at: "/a"), to: "/F/a") }]
        )
        #expect(found == [2: [1]])
    }

    @Test("The delete of a folder skips queued uploads into the folder") func a18() async throws {
        let harness = try await harness(["/F"])
        _ = try await dependencies(
            harness,
            [{ try $0.createNode(at: "/F/a") }, { try $0.delete($0.node(at: "/F")) }]
        )
        let kinds = try await harness.read { cloud in
            try cloud.context.fetch(QueuedOperation.all).map { try $0.payload(as: CloudWork.self).kind }
        }
        #expect(kinds == [.delete])
        try await harness.drain()
        #expect(harness.remote.tree == ["home/": ""])
        #expect(harness.remote.refusals == [])
    }

    @Test("Operations of the application that write the same resource run in order") func a19() async throws {
        let harness = try await harness()
        let avatar: @Sendable (String) -> @Sendable (CloudContext) throws -> Void = { name in
            { $0.enqueue(Message(to: name), in: "avatars", writes: [$0.resource("avatar \(name)")]) }
        }
        let found = try await dependencies(harness, [avatar("X"), avatar("X"), avatar("Y")])
        #expect(found == [2: [1]])
    }

    @Test("Operations of different accounts do not wait for each other") func a20() async throws {
        let harness = try await harness()
        let other = try await CloudHarness(StrictRemote(name: "other"), stack: harness.stack, id: "bob")
        try await harness.commit { _ = try $0.createNode(at: "/a") }
        try await other.commit { _ = try $0.createNode(at: "/a") }
        let count = try await harness.read { try $0.context.count(OperationDependency.all) }
        #expect(count == 0)
        try await harness.drain()
        #expect(harness.remote.tree == ["home/": "", "home/a": "content of /a"])
        #expect(other.remote.requests == [])
        try await other.drain()
        #expect(other.remote.tree == ["home/": "", "home/a": "content of /a"])
    }

    @Test("The move of a folder waits for uploads into the folder, because the remote addresses files by path")
    func a21()
        async throws
    {
        let found = try await dependencies(
            harness(["/foo"]),
            [{ try $0.createNode(at: "/foo/x") }, { try $0.move($0.node(at: "/foo"), to: "/moo") }]
        )
        #expect(found == [2: [1]])
    }

    @Test("A queued upload waits for a folder that an operation creates again") func a22() async throws {
        let harness = try await harness(["/F"])
        try await harness.commit { _ = try $0.createNode(at: "/F/a") }
        // Another machine has deleted the folder at the remote while an upload into it is queued.
        try await harness.commit { cloud in
            let folder = try cloud.node(at: "/F")
            let place = CloudWork.Place(of: folder, in: try #require(folder.parent))
            cloud.queue(
                .createFolder(folder.id.rawValue, place),
                reads: [],
                writes: [.node(folder.id)],
                before: .node(folder.id)
            )
        }
        let found = try await dependencies(harness, [])
        #expect(found == [1: [2]])
    }

    @Test("A rename that changes only the case of a name does not wait for anything") func a24() async throws {
        let harness = try await CloudHarness(options: CloudOptions(names: .caseInsensitive))
        try await harness.commit { _ = try $0.createFolder(at: "/Foo") }
        try await harness.drain()
        let found = try await dependencies(harness, [{ try $0.rename($0.node(at: "/FOO"), to: "foo") }])
        #expect(found == [:])
        try await harness.drain()
        #expect(harness.remote.tree == ["home/": "", "home/foo/": ""])
        #expect(harness.remote.refusals == [])
    }
}

struct Message: OperationPayload { var to: String }
