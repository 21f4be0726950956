import Foundation
import Strata
import StrataPipeline
import Testing

@testable import StrataCloud

/// The rows of the table of automatic dependencies: operations in the order of their commits, and what each waits for.
@Suite struct DependencyRowTests {
    /// The operations that steps have queued, one commit each, and which of the others each depends on, by their numbers from 1.
    private func dependencies(
        _ stage: CloudStage,
        _ steps: [@Sendable (CloudContext) throws -> Void]
    ) async throws -> [Int: Set<Int>] {
        for step in steps { try await stage.commit { try step($0) } }
        return try await stage.read { cloud in
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

    /// A stage whose remote has some folders and files already.
    private func stage(_ paths: [TreePath] = [], keepsRecords: Bool = false) async throws -> CloudStage {
        let stage = try await CloudStage(StrictRemote(RemoteCapabilities(keepsRecords: keepsRecords, isLocal: true)))
        try await stage.commit { cloud in
            for path in paths {
                if path.name?.first?.isUppercase ?? false || path.names == ["foo"] || path.names == ["moo"] {
                    try cloud.createFolder(at: path)
                } else {
                    try cloud.createNode(at: path)
                }
            }
        }
        try await stage.drain()
        #expect(stage.remote.refusals == [])
        #expect(try await stage.read { try $0.context.count(QueuedOperation.all) } == 0)
        #expect(try await stage.read { try $0.context.count(CloudAccess.all) } == 0)
        return stage
    }

    @Test("A1 a node comes behind the folder that it lies in") func a1() async throws {
        let stage = try await stage(["/foo"])
        let found = try await dependencies(
            stage,
            [{ try $0.createFolder(at: "/foo/bar") }, { try $0.createNode(at: "/foo/bar/buzz") }]
        )
        #expect(found == [2: [1]])
    }

    @Test("A2 a place is freed, filled, moved and filled below in turn") func a2() async throws {
        let stage = try await stage(["/foo"])
        let found = try await dependencies(
            stage,
            [
                { try $0.delete($0.node(at: "/foo")) }, { try $0.createFolder(at: "/foo") },
                { try $0.move($0.node(at: "/foo"), to: "/moo") }, { try $0.createNode(at: "/moo/cow") },
            ]
        )
        #expect(found == [2: [1], 3: [2], 4: [3]])
    }

    @Test("A3 nodes of different folders have nothing to do with each other") func a3() async throws {
        let stage = try await stage(["/Moo", "/Quack"])
        let found = try await dependencies(
            stage,
            [{ try $0.createNode(at: "/Moo/cow") }, { try $0.createNode(at: "/Quack/duck") }]
        )
        #expect(found == [:])
    }

    @Test("A4 the content of a new node comes behind its record") func a4() async throws {
        let stage = try await stage(keepsRecords: true)
        let found = try await dependencies(stage, [{ try $0.createNode(at: "/n") }])
        #expect(found == [2: [1]])
    }

    @Test("A5 an edit comes behind the node itself") func a5() async throws {
        let found = try await dependencies(
            stage(),
            [{ try $0.createNode(at: "/a") }, { _ = try $0.upload($0.node(at: "/a")) }]
        )
        #expect(found == [2: [1]])
    }

    @Test("A6 a move comes behind the node itself") func a6() async throws {
        let found = try await dependencies(
            stage(),
            [{ try $0.createNode(at: "/a") }, { try $0.move($0.node(at: "/a"), to: "/b") }]
        )
        #expect(found == [2: [1]])
    }

    @Test("A7 an upload comes behind the move of its node") func a7() async throws {
        let found = try await dependencies(
            stage(["/a"]),
            [{ try $0.move($0.node(at: "/a"), to: "/b") }, { _ = try $0.upload($0.node(at: "/b")) }]
        )
        #expect(found == [2: [1]])
    }

    @Test("A9 a move comes behind the delete that frees its place") func a9() async throws {
        let found = try await dependencies(
            stage(["/a", "/b"]),
            [{ try $0.delete($0.node(at: "/b")) }, { try $0.move($0.node(at: "/a"), to: "/b") }]
        )
        #expect(found == [2: [1]])
    }

    @Test("A10 a delete comes behind the move of its node") func a10() async throws {
        let found = try await dependencies(
            stage(["/a"]),
            [{ try $0.move($0.node(at: "/a"), to: "/b") }, { try $0.delete($0.node(at: "/b")) }]
        )
        #expect(found == [2: [1]])
    }

    @Test("A11 moves of one node come one behind the other") func a11() async throws {
        let found = try await dependencies(
            stage(["/a"]),
            [{ try $0.move($0.node(at: "/a"), to: "/b") }, { try $0.move($0.node(at: "/b"), to: "/c") }]
        )
        #expect(found == [2: [1]])
    }

    @Test("A12 what lies in a copy comes behind the copy") func a12() async throws {
        let found = try await dependencies(
            stage(["/Folder"]),
            [{ try $0.copy($0.node(at: "/Folder"), to: "/x") }, { try $0.createNode(at: "/x/child") }]
        )
        #expect(found == [2: [1]])
    }

    @Test("A13 a message to somebody else comes behind the node that it copies") func a13() async throws {
        let stage = try await stage()
        let found = try await dependencies(
            stage,
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

    @Test("A16 a move comes behind the folder that it leads into") func a16() async throws {
        let found = try await dependencies(
            stage(["/a"]),
            [{ try $0.createFolder(at: "/F") }, { try $0.move($0.node(at: "/a"), to: "/F/a") }]
        )
        #expect(found == [2: [1]])
    }

    @Test("A18 the delete of a folder leaves out what was to be put into it") func a18() async throws {
        let stage = try await stage(["/F"])
        _ = try await dependencies(
            stage,
            [{ try $0.createNode(at: "/F/a") }, { try $0.delete($0.node(at: "/F")) }]
        )
        let kinds = try await stage.read { cloud in
            try cloud.context.fetch(QueuedOperation.all).map { try $0.payload(as: CloudWork.self).kind }
        }
        #expect(kinds == [.delete])
        try await stage.drain()
        #expect(stage.remote.tree == ["home/": ""])
        #expect(stage.remote.refusals == [])
    }

    @Test("A19 operations by hand come one behind the other where they write the same") func a19() async throws {
        let stage = try await stage()
        let avatar: @Sendable (String) -> @Sendable (CloudContext) throws -> Void = { name in
            { $0.enqueue(Message(to: name), in: "avatars", writes: [$0.resource("avatar \(name)")]) }
        }
        let found = try await dependencies(stage, [avatar("X"), avatar("X"), avatar("Y")])
        #expect(found == [2: [1]])
    }

    @Test("A20 accounts have nothing to do with each other") func a20() async throws {
        let stage = try await stage()
        let other = try await CloudStage(StrictRemote(name: "other"), stack: stage.stack, id: "bob")
        try await stage.commit { _ = try $0.createNode(at: "/a") }
        try await other.commit { _ = try $0.createNode(at: "/a") }
        let count = try await stage.read { try $0.context.count(OperationDependency.all) }
        #expect(count == 0)
        try await stage.drain()
        #expect(stage.remote.tree == ["home/": "", "home/a": "content of /a"])
        #expect(other.remote.requests == [])
        try await other.drain()
        #expect(other.remote.tree == ["home/": "", "home/a": "content of /a"])
    }

    @Test("A21 the move of a folder waits for what is put into it, since things lie by their paths") func a21()
        async throws
    {
        let found = try await dependencies(
            stage(["/foo"]),
            [{ try $0.createNode(at: "/foo/x") }, { try $0.move($0.node(at: "/foo"), to: "/moo") }]
        )
        #expect(found == [2: [1]])
    }

    @Test("A22 what waits comes behind a folder that has to be made first after all") func a22() async throws {
        let stage = try await stage(["/F"])
        try await stage.commit { _ = try $0.createNode(at: "/F/a") }
        // Somebody has deleted the folder at the remote, while there is something to be put into it.
        try await stage.commit { cloud in
            let folder = try cloud.node(at: "/F")
            let work = CloudWork(kind: .record, node: folder.id.number, isFolder: true)
            cloud.queue(work, reads: [], writes: [.node(folder.id)], before: .node(folder.id))
        }
        let found = try await dependencies(stage, [])
        #expect(found == [1: [2]])
    }

    @Test("A24 a name that changes its case stays at its place") func a24() async throws {
        let stage = try await CloudStage(options: CloudOptions(names: .caseInsensitive))
        try await stage.commit { _ = try $0.createFolder(at: "/Foo") }
        try await stage.drain()
        let found = try await dependencies(stage, [{ try $0.rename($0.node(at: "/FOO"), to: "foo") }])
        #expect(found == [:])
        try await stage.drain()
        #expect(stage.remote.tree == ["home/": "", "home/foo/": ""])
        #expect(stage.remote.refusals == [])
    }
}

struct Message: OperationPayload { var to: String }
