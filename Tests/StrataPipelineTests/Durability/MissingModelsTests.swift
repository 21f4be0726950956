import StoreModels
import Strata
import Testing

@testable import StrataPipeline

@Suite("A stack that was opened without the models of pipelines")
struct MissingModelsTests {
    @Test("Enqueueing without the models of pipelines reports which models to add")
    func missingModels() async throws {
        let stack = try await ContextStack.open(.inMemory, models: [Mark.self], stack: .rootOnly)
        try await stack.background { context in
            context.enqueue(Named(name: "A"), in: .work)
            let error = #expect(throws: StrataError.self) { try context.commit() }
            #expect(error?.code == .unknownModel && error?.message.contains("+ Pipeline.models") == true)
            let other = #expect(throws: StrataError.self) { _ = try context.count(QueuedOperation.self) }
            #expect(other?.message.contains("+ Pipeline.models") == true)
            context.rollback()
        }
        try await stack.close()
    }
}
