import Strata
import StrataPipeline
import StrataTesting
import Testing

@testable import StrataCloud

@Suite("Nodes that operation handlers create") struct HandlerCreatedNodeTests {
    private struct Import: OperationPayload {
        var number: Int
    }

    @Test(
        "A folder that a handler creates is sent before the files in it, even if no operation was waiting before",
        .timeLimit(.minutes(1))
    )
    func order() async throws {
        let harness = try await CloudHarness()
        let account = harness.account
        let imports = try await Pipeline.open(
            account.uploads.stack,
            named: "import",
            options: PipelineOptions(maxConcurrent: 1)
        ) { (attempt: Attempt<Import>) in
            .done { context in
                let (cloud, number) = (context.cloud(account), attempt.payload.number)
                _ = try cloud.createFolder(at: TreePath(["\(number)"]))
                for name in ["a", "b"] { _ = try cloud.createNode(at: TreePath(["\(number)", name])) }
            }
        }
        account.uploads.resume()
        for number in 0..<20 {
            try await account.uploads.stack.background { context in
                context.enqueue(Import(number: number), in: "import")
                try context.commit()
            }
            try await imports.waitUntilIdle()
            // After this, no operation waits for another one when the next import begins.
            try await harness.drain()
            account.uploads.resume()
        }
        #expect(harness.remote.refusals == [])
        #expect(harness.remote.tree.count { $0.key.hasSuffix("/a") || $0.key.hasSuffix("/b") } == 40)
        let (attempts, dependencies) = try await harness.read { cloud in
            (
                try cloud.context.sum(FinishedOperation.all, \.attempts),
                try cloud.context.count(OperationDependency.all)
            )
        }
        #expect(attempts == 20 + 60)
        #expect(dependencies == 0)
    }
}
