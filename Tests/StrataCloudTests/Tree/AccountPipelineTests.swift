import Strata
import StrataPipeline
import Testing

@testable import StrataCloud

private struct Errand: OperationPayload {
    var number: Int
}

@Suite("Pipelines of accounts", .timeLimit(.minutes(1))) struct AccountPipelineTests {
    @Test("Operations in the pipelines of accounts are those whose name begins with the prefix")
    func ofAccounts() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let own = AccountPipelines.name(of: "alice")
        let empty = AccountPipelines.name(of: "")
        let others: [PipelineName] = ["cloud", "cloud/alice", "clouds.alice", "Cloud.alice", "c", "work"]
        try await stack.background { context in
            for (number, name) in ([own, empty] + others).enumerated() {
                context.enqueue(Errand(number: number), in: name)
            }
            try context.commit()
        }
        let found = try await stack.background { context in
            try context.fetch(QueuedOperation.all.ofAccounts).map(\.pipeline.rawValue)
        }
        #expect(Set(found) == [own.rawValue, empty.rawValue])
        try await stack.close()
    }
}
