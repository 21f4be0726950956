import Strata
import StrataPipeline
import StrataTesting
import Testing

@testable import StrataCloud

@Suite("Nodes that operation handlers create") struct MadeByHandlerTests {
    private struct Import: OperationPayload {
        var number: Int
    }

    @Test(
        "A folder that a handler creates is sent before the files in it, even if no operation was waiting before",
        .timeLimit(.minutes(1))
    )
    func order() async throws {
        let stage = try await CloudStage()
        let account = stage.account
        let imports = try await Pipeline.open(account.push.stack, named: "import", maxConcurrent: 1) {
            (attempt: Attempt<Import>) in
            .done { context in
                let (cloud, number) = (context.cloud(account), attempt.payload.number)
                _ = try cloud.createFolder(at: TreePath(["\(number)"]))
                for name in ["a", "b"] { _ = try cloud.createNode(at: TreePath(["\(number)", name])) }
            }
        }
        account.push.resume()
        for number in 0..<20 {
            try await account.push.stack.background { context in
                context.enqueue(Import(number: number), in: "import")
                try context.commit()
            }
            try await imports.drained()
            // After this, no operation waits for another one when the next import begins.
            try await stage.drain()
            account.push.resume()
        }
        #expect(stage.remote.refusals == [])
        #expect(stage.remote.tree.count { $0.key.hasSuffix("/a") || $0.key.hasSuffix("/b") } == 40)
        let (attempts, dependencies) = try await stage.read { cloud in
            (
                try cloud.context.sum(FinishedOperation.all, \.attempts),
                try cloud.context.count(OperationDependency.all)
            )
        }
        #expect(attempts == 20 + 60)
        #expect(dependencies == 0)
    }
}
