import Strata
import StrataPipeline
import Testing

@testable import StrataCloud

@Suite struct RefusedNameTests {
    @Test("A node with a name that the remote refuses can be deleted again")
    func deleteRefusedName() async throws {
        let remote = StrictRemote { request, _ in
            request.key.contains("bad") ? .before(RemoteError(.invalidKey, "The name is too long.")) : nil
        }
        let harness = try await CloudHarness(remote)
        try await harness.commit { cloud in
            try cloud.createNode(at: "/bad")
            try cloud.createNode(at: "/good")
        }
        try await harness.drain()
        #expect(
            try await harness.stack.background { try $0.count(QueuedOperation.where { $0.status == .failed }) } == 1
        )
        try await harness.commit { try $0.delete($0.node(at: "/bad")) }
        try await harness.drain()
        #expect(try await harness.queued() == [])
        #expect(remote.tree.keys.sorted() == ["home/", "home/good"])
    }

    @Test("Failed operations are found by their nodes")
    func failuresByNode() async throws {
        let harness = try await CloudHarness(Self.remote(RemoteCapabilities(isLocal: true)))
        try await harness.commit { cloud in
            for name in ["bad", "good", "bad too"] { try cloud.createNode(at: TreePath([name])) }
        }
        try await harness.drain()
        let other = try await harness.stack.background { context in
            let operation = context.enqueue(Elsewhere(), in: "elsewhere")
            try context.commit()
            return operation.id
        }
        try await harness.commit { cloud in
            let failed = try cloud.failedOperations()
            #expect(try failed.map { try cloud.node(for: $0)?.path } == ["/bad", "/bad too"])
            #expect(failed.map(\.status) == [.failed, .failed])
            let foreign = try #require(try cloud.context.find(other))
            #expect(try cloud.node(for: foreign) == nil)
            try cloud.delete(cloud.node(at: "/bad"))
            failed[1].skip()
        }
        try await harness.drain()
        #expect(try await harness.read { try $0.failedOperations().count } == 0)
        await harness.account.close()
    }

    private struct Elsewhere: OperationPayload {
        static let operationType = "elsewhere"
        var nothing = 0
    }

    private static func remote(_ abilities: RemoteCapabilities) -> StrictRemote {
        StrictRemote(abilities) { request, _ in
            request.key.contains("bad") ? .before(RemoteError(.invalidKey, "The name is too long.")) : nil
        }
    }

    static let abilities = [
        RemoteCapabilities(isLocal: true), RemoteCapabilities(hasFolders: false, moves: false, isLocal: true),
    ]

    @Test("A node with a refused name is uploaded after it got another name", arguments: abilities)
    func newNameAccepted(_ abilities: RemoteCapabilities) async throws {
        let remote = Self.remote(abilities)
        let harness = try await CloudHarness(remote)
        try await harness.commit { cloud in
            try cloud.createNode(at: "/bad")
            try cloud.createNode(at: "/badFolder/in/it")
            let original = try cloud.createNode(at: "/original")
            try cloud.copy(original, to: "/badCopy")
        }
        try await harness.drain()
        #expect(
            try await harness.stack.background { try $0.count(QueuedOperation.where { $0.status == .failed }) } == 3
        )
        try await harness.commit { cloud in
            try cloud.rename(cloud.node(at: "/bad"), to: "good")
            try cloud.rename(cloud.node(at: "/badFolder"), to: "goodFolder")
            try cloud.move(cloud.node(at: "/badCopy"), to: "/goodFolder/copy")
        }
        try await harness.drain()
        #expect(try await harness.queued() == [])
        #expect(
            remote.tree.filter { !$0.key.hasSuffix("/") } == [
                "home/good": "content of /good", "home/goodFolder/in/it": "content of /goodFolder/in/it",
                "home/original": "content of /original", "home/goodFolder/copy": "content of /original",
            ]
        )
        await harness.account.close()
    }

    @Test("A move to a refused name is undone by the next move", arguments: abilities)
    func moveToRefusedName(
        _ abilities: RemoteCapabilities
    ) async throws {
        let remote = Self.remote(abilities)
        let harness = try await CloudHarness(remote)
        try await harness.commit { cloud in
            try cloud.createNode(at: "/file")
            try cloud.createNode(at: "/folder/in")
        }
        try await harness.drain()
        for (file, folder) in [("bad", "badFolder"), ("worsebad", "badder")] {
            try await harness.commit { cloud in
                for node in try cloud.root().children.fetch() {
                    try cloud.rename(node, to: node.isFolder ? folder : file)
                }
            }
            try await harness.drain()
        }
        // A node has a temporary name at the remote until its next move.
        #expect(
            remote.tree.keys.filter { !$0.hasSuffix("/") }.map { $0.prefix(12) }.sorted() == [
                "home/strata-", "home/strata-",
            ]
        )
        try await harness.commit { cloud in
            try cloud.rename(cloud.node(at: "/worsebad"), to: "good")
            try cloud.rename(cloud.node(at: "/badder"), to: "better")
        }
        try await harness.drain()
        #expect(try await harness.queued() == [])
        #expect(remote.tree.keys.filter { !$0.hasSuffix("/") }.sorted() == ["home/better/in", "home/good"])
        try await harness.commit { cloud in
            for node in try cloud.root().children.fetch() { try cloud.rename(node, to: "bad" + node.name) }
        }
        try await harness.drain()
        try await harness.commit { cloud in
            for node in try cloud.root().children.fetch() { try cloud.delete(node) }
        }
        try await harness.drain()
        #expect(try await harness.queued() == [])
        #expect(remote.tree == ["home/": ""])
        await harness.account.close()
    }
}
