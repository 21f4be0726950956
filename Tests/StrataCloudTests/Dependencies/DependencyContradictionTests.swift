import Foundation
import Strata
import StrataPipeline
import Testing

@testable import StrataCloud

/// If an application's dependency contradicts the effects of two operations, the commit refuses it and drops neither
/// operation.
@Suite struct DependencyContradictionTests {
    private struct Step: OperationPayload { var name = "" }

    private func error(_ body: () async throws -> Void) async throws -> PipelineError {
        try await #require(throws: PipelineError.self) { try await body() }
    }

    @Test("A folder that waits for a file inside it is refused in the commit that creates both")
    func folderWaitsForContent() async throws {
        let harness = try await CloudHarness()
        let error = try await error {
            try await harness.commit { cloud in
                let file = try cloud.createNode(at: "/x/a")
                try cloud.operations(for: cloud.node(at: "/x"))[0].addDependencies(cloud.operations(for: file))
            }
        }
        #expect(error.code == .dependencyCycle && error.operations.count == 2)
        let (queued, isThere) = try await harness.read { cloud in
            (try cloud.context.count(QueuedOperation.all), try cloud.find("/x") != nil)
        }
        #expect(queued == 0 && !isThere)
        await harness.account.close()
    }

    @Test("The same is refused if one of the application's operations is in between")
    func byWayOfOtherOperation() async throws {
        let harness = try await CloudHarness()
        let error = try await error {
            try await harness.commit { cloud in
                let file = try cloud.createNode(at: "/x/a")
                let upload = try cloud.operations(for: file)
                let step = cloud.context.enqueue(Step(), in: "steps")
                try step.addDependencies(upload)
                try cloud.operations(for: cloud.node(at: "/x"))[0].addDependencies([step])
            }
        }
        #expect(error.code == .dependencyCycle && error.operations.count == 3)
        await harness.account.close()
    }

    @Test("An upload that waits for a reader of its content is refused")
    func uploadWaitsForReader() async throws {
        let harness = try await CloudHarness()
        let error = try await error {
            try await harness.commit { cloud in
                let file = try cloud.createNode(at: "/a")
                let step = cloud.enqueue(Step(), in: "steps", reads: [.content(file.id)])
                for upload in try cloud.operations(for: file) { try upload.addDependencies([step]) }
            }
        }
        #expect(error.code == .dependencyCycle && error.operations.count == 2)
        await harness.account.close()
    }

    @Test("An operation requeued ahead of others does not wait for one of them")
    func requeuedBeforeOthers() async throws {
        let harness = try await CloudHarness()
        try await harness.fill(["/x"])
        try await harness.commit { try $0.rename($0.node(at: "/x"), to: "y") }
        let error = try await error {
            try await harness.commit { cloud in
                let node = try cloud.node(at: "/y")
                let move = try cloud.operations(for: node)
                try cloud.requeueUpload(node, .data)
                for upload in try cloud.operations(for: node) where upload.commit <= 0 {
                    try upload.addDependencies(move)
                }
            }
        }
        #expect(error.code == .dependencyCycle && error.operations.count == 2)
        #expect(try await harness.queued().count == 1)
        await harness.account.close()
    }

    @Test("A dependency that agrees with the effects of both operations is kept")
    func agreeingDependency() async throws {
        let harness = try await CloudHarness()
        try await harness.commit { cloud in
            let file = try cloud.createNode(at: "/x/a")
            let folder = try cloud.operations(for: cloud.node(at: "/x"))
            for upload in try cloud.operations(for: file) { try upload.addDependencies(folder) }
        }
        try await harness.drain()
        #expect(harness.remote.tree["home/x/a"] == "content of /x/a")
        await harness.account.close()
    }

    @Test("A node makes room for a name that no queued operation fills or frees")
    func freedName() async throws {
        let harness = try await CloudHarness()
        try await harness.fill(["/a 2"])
        try await harness.commit { cloud in
            let upload = try cloud.operations(for: cloud.createNode(at: "/a"))
            let other = try cloud.node(at: "/a 2")
            try cloud.rename(other, to: "b")
            // The move frees the path of the upload, so the upload would run after the move.
            for move in try cloud.operations(for: other) { try move.addDependencies(upload) }
        }
        harness.remote.write("home/a", "of others")
        try await harness.account.pull()
        try await harness.drain()
        #expect(
            harness.remote.tree == [
                "home/": "", "home/a": "of others", "home/b": "content of /a 2", "home/a 3": "content of /a 3",
            ]
        )
        await harness.account.close()
    }
}
