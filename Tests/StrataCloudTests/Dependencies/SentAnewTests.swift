import Foundation
import Strata
import StrataPipeline
import Testing

@testable import StrataCloud

/// An operation that sends a node again goes before the operations that already wait. Some of these go before others
/// themselves.
@Suite struct SentAnewTests {
    private func stage(_ paths: [TreePath], folders: [TreePath] = []) async throws -> CloudStage {
        let stage = try await CloudStage()
        try await stage.fill(paths, folders: folders)
        return stage
    }

    @Test func `a folder and a file that were moved into each other's places, and that others have deleted`()
        async throws
    {
        let stage = try await stage(["/x"], folders: ["/e", "/q"])
        try await stage.commit { try $0.move($0.node(at: "/x"), to: "/e/y") }
        try await stage.commit { try $0.move($0.node(at: "/q"), to: "/x") }
        try await stage.commit { try $0.move($0.node(at: "/e/y"), to: "/x/y") }
        stage.remote.write("home/x", nil)
        stage.remote.write("home/q", nil)
        try await stage.account.pull()
        try await stage.drain()
        try await stage.account.pull()
        try await stage.drain()
        #expect(try await stage.tree().keys.sorted() == ["home/e/", "home/x/", "home/x/y"])
        #expect(stage.remote.tree.keys.sorted() == ["home/", "home/e/", "home/x/", "home/x/y"])
    }

    @Test(arguments: [false, true])
    func `the order of those that go before others follows from theirs, whatever they were queued behind`(
        isFolderFirst: Bool
    ) async throws {
        let stage = try await stage(["/x"], folders: ["/e", "/q"])
        let (file, folder) = try await stage.read { cloud in
            (try cloud.node(at: "/x").id, try cloud.node(at: "/q").id)
        }
        try await stage.commit { try $0.move($0.node(at: "/x"), to: "/e/y") }
        try await stage.commit { try $0.move($0.node(at: "/q"), to: "/x") }
        try await stage.commit { try $0.move($0.node(at: "/e/y"), to: "/x/y") }
        stage.remote.write("home/x", nil)
        stage.remote.write("home/q", nil)
        try await stage.commit { cloud in
            // The file goes before its moves. The folder goes before the file, and does not wait for the operations
            // that wait for the file.
            if isFolderFirst { try cloud.sendAnew(cloud.context.find(folder)!, []) }
            try cloud.sendAnew(cloud.context.find(file)!, .data)
            if !isFolderFirst { try cloud.sendAnew(cloud.context.find(folder)!, []) }
        }
        #expect(try await stage.queued().count == 5)
        try await stage.drain()
        try await stage.account.pull()
        try await stage.drain()
        #expect(stage.remote.tree.keys.sorted() == ["home/", "home/e/", "home/x/", "home/x/y"])
    }

    @Test func `what is queued behind it comes behind what it has gone before as well`() async throws {
        let stage = try await stage(["/x"])
        try await stage.commit { try $0.rename($0.node(at: "/x"), to: "y") }
        try await stage.commit { try $0.sendAnew($0.node(at: "/y"), .data) }
        try await stage.commit { try $0.rename($0.node(at: "/y"), to: "z") }
        let (operations, dependencies) = try await stage.read { cloud in
            let operations = try cloud.operations(for: cloud.node(at: "/z")).sorted { $0.id < $1.id }
            return (operations.map(\.id), try operations.map { try $0.dependencies() })
        }
        #expect(dependencies == [[operations[1]], [], [operations[0], operations[1]]])
    }

    @Test func `what one commit sends anew twice is sent in turn`() async throws {
        let stage = try await stage(["/x"])
        try await stage.commit { cloud in
            let node = try cloud.node(at: "/x")
            for _ in 0..<3 { try cloud.sendAnew(node, .data) }
        }
        let pairs = try await stage.stack.background { context in
            try context.fetch(OperationDependency.all).map { [$0.dependant, $0.prerequisite] }
        }
        let operations = pairs.flatMap { $0 }
        #expect(Set(operations).count == 3 && pairs.allSatisfy { $0[0] > $0[1] })
    }
}
