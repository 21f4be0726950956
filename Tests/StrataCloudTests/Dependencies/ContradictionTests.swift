import Foundation
import Strata
import StrataPipeline
import Testing

@testable import StrataCloud

/// If an application's dependency contradicts the effects of two operations, the commit refuses it and drops neither
/// operation.
@Suite struct ContradictionTests {
    private struct Step: OperationPayload { var name = "" }

    private func error(_ body: () async throws -> Void) async throws -> PipelineError {
        try await #require(throws: PipelineError.self) { try await body() }
    }

    @Test func `a folder that is to wait for a file in it is refused by the commit that makes both`() async throws {
        let stage = try await CloudStage()
        let error = try await error {
            try await stage.commit { cloud in
                let file = try cloud.createNode(at: "/x/a")
                try cloud.operations(for: cloud.node(at: "/x"))[0].addDependencies(cloud.operations(for: file))
            }
        }
        #expect(error.code == .dependencyCycle && error.operations.count == 2)
        let (queued, isThere) = try await stage.read { cloud in
            (try cloud.context.count(QueuedOperation.all), try cloud.find("/x") != nil)
        }
        #expect(queued == 0 && !isThere)
        await stage.account.close()
    }

    @Test func `the same by way of an operation of the application's`() async throws {
        let stage = try await CloudStage()
        let error = try await error {
            try await stage.commit { cloud in
                let file = try cloud.createNode(at: "/x/a")
                let upload = try cloud.operations(for: file)
                let step = cloud.context.enqueue(Step(), in: "steps")
                try step.addDependencies(upload)
                try cloud.operations(for: cloud.node(at: "/x"))[0].addDependencies([step])
            }
        }
        #expect(error.code == .dependencyCycle && error.operations.count == 3)
        await stage.account.close()
    }

    @Test func `an upload that is to wait for what reads its content`() async throws {
        let stage = try await CloudStage()
        let error = try await error {
            try await stage.commit { cloud in
                let file = try cloud.createNode(at: "/a")
                let step = cloud.enqueue(Step(), in: "steps", reads: [.content(file.id)])
                for upload in try cloud.operations(for: file) { try upload.addDependencies([step]) }
            }
        }
        #expect(error.code == .dependencyCycle && error.operations.count == 2)
        await stage.account.close()
    }

    @Test func `what is sent anew before others is not to wait for one of these`() async throws {
        let stage = try await CloudStage()
        try await stage.fill(["/x"])
        try await stage.commit { try $0.rename($0.node(at: "/x"), to: "y") }
        let error = try await error {
            try await stage.commit { cloud in
                let node = try cloud.node(at: "/y")
                let move = try cloud.operations(for: node)
                try cloud.sendAnew(node, .data)
                for upload in try cloud.operations(for: node) where upload.commit <= 0 {
                    try upload.addDependencies(move)
                }
            }
        }
        #expect(error.code == .dependencyCycle && error.operations.count == 2)
        #expect(try await stage.queued().count == 1)
        await stage.account.close()
    }

    @Test func `a dependency that agrees with what both do stays beside it`() async throws {
        let stage = try await CloudStage()
        try await stage.commit { cloud in
            let file = try cloud.createNode(at: "/x/a")
            let folder = try cloud.operations(for: cloud.node(at: "/x"))
            for upload in try cloud.operations(for: file) { try upload.addDependencies(folder) }
        }
        try await stage.drain()
        #expect(stage.remote.tree["home/x/a"] == "content of /x/a")
        await stage.account.close()
    }

    @Test func `a node gives way to a name that nothing queued fills or frees`() async throws {
        let stage = try await CloudStage()
        try await stage.fill(["/a 2"])
        try await stage.commit { cloud in
            let upload = try cloud.operations(for: cloud.createNode(at: "/a"))
            let other = try cloud.node(at: "/a 2")
            try cloud.rename(other, to: "b")
            // The move frees the path of the upload, so the upload would run after the move.
            for move in try cloud.operations(for: other) { try move.addDependencies(upload) }
        }
        stage.remote.write("home/a", "of others")
        try await stage.account.pull()
        try await stage.drain()
        #expect(
            stage.remote.tree == [
                "home/": "", "home/a": "of others", "home/b": "content of /a 2", "home/a 3": "content of /a 3",
            ]
        )
        await stage.account.close()
    }
}
