import Foundation
import Strata
import StrataPipeline
import Testing

@testable import StrataCloud

/// An operation that sends a node again goes before the operations that already wait. Some of these go before others
/// themselves.
@Suite struct RequeuedUploadTests {
    private func harness(_ paths: [TreePath], folders: [TreePath] = []) async throws -> CloudHarness {
        let harness = try await CloudHarness()
        try await harness.fill(paths, folders: folders)
        return harness
    }

    @Test("A folder and a file that exchanged places and that others have deleted")
    func exchangedAndDeleted()
        async throws
    {
        let harness = try await harness(["/x"], folders: ["/e", "/q"])
        try await harness.commit { try $0.move($0.node(at: "/x"), to: "/e/y") }
        try await harness.commit { try $0.move($0.node(at: "/q"), to: "/x") }
        try await harness.commit { try $0.move($0.node(at: "/e/y"), to: "/x/y") }
        harness.remote.write("home/x", nil)
        harness.remote.write("home/q", nil)
        try await harness.account.pull()
        try await harness.drain()
        try await harness.account.pull()
        try await harness.drain()
        #expect(try await harness.tree().keys.sorted() == ["home/e/", "home/x/", "home/x/y"])
        #expect(harness.remote.tree.keys.sorted() == ["home/", "home/e/", "home/x/", "home/x/y"])
    }

    @Test(
        "The order of operations that go first follows from their own order, whatever they were queued after",
        arguments: [false, true]
    )
    func orderOfPredecessors(
        isFolderFirst: Bool
    ) async throws {
        let harness = try await harness(["/x"], folders: ["/e", "/q"])
        let (file, folder) = try await harness.read { cloud in
            (try cloud.node(at: "/x").id, try cloud.node(at: "/q").id)
        }
        try await harness.commit { try $0.move($0.node(at: "/x"), to: "/e/y") }
        try await harness.commit { try $0.move($0.node(at: "/q"), to: "/x") }
        try await harness.commit { try $0.move($0.node(at: "/e/y"), to: "/x/y") }
        harness.remote.write("home/x", nil)
        harness.remote.write("home/q", nil)
        try await harness.commit { cloud in
            // The file goes before its moves. The folder goes before the file, and does not wait for the operations
            // that wait for the file.
            if isFolderFirst { try cloud.requeueUpload(cloud.context.find(folder)!, []) }
            try cloud.requeueUpload(cloud.context.find(file)!, .data)
            if !isFolderFirst { try cloud.requeueUpload(cloud.context.find(folder)!, []) }
        }
        #expect(try await harness.queued().count == 5)
        try await harness.drain()
        try await harness.account.pull()
        try await harness.drain()
        #expect(harness.remote.tree.keys.sorted() == ["home/", "home/e/", "home/x/", "home/x/y"])
    }

    @Test("An operation queued after a requeued one also runs after the operations that this one preceded")
    func queuedAfterwards() async throws {
        let harness = try await harness(["/x"])
        try await harness.commit { try $0.rename($0.node(at: "/x"), to: "y") }
        try await harness.commit { try $0.requeueUpload($0.node(at: "/y"), .data) }
        try await harness.commit { try $0.rename($0.node(at: "/y"), to: "z") }
        let (operations, dependencies) = try await harness.read { cloud in
            let operations = try cloud.operations(for: cloud.node(at: "/z")).sorted { $0.id < $1.id }
            return (operations.map(\.id), try operations.map { try $0.dependencies() })
        }
        #expect(dependencies == [[operations[1]], [], [operations[0], operations[1]]])
    }

    @Test("Two operations that one commit requeues run in order")
    func requeuedTwice() async throws {
        let harness = try await harness(["/x"])
        try await harness.commit { cloud in
            let node = try cloud.node(at: "/x")
            for _ in 0..<3 { try cloud.requeueUpload(node, .data) }
        }
        let pairs = try await harness.stack.background { context in
            try context.fetch(OperationDependency.all).map { [$0.dependant, $0.prerequisite] }
        }
        let operations = pairs.flatMap { $0 }
        #expect(Set(operations).count == 3 && pairs.allSatisfy { $0[0] > $0[1] })
    }
}
