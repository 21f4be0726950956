import Foundation
import StoreModels
import Strata
import StrataPipeline
import Testing

@Suite("Pipelines of a read-only stack", .timeLimit(.minutes(1))) struct ReadOnlyStackTests {
    private struct Errand: OperationPayload {
        var number: Int
    }

    @Test("Opening a pipeline or broker throws readOnly, and contexts read the queue")
    func reading() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("queue.sqlite"))
        let writer = try await ContextStack.open(location, models: Pipeline.models, stack: .rootOnly)
        try await writer.background { context in
            context.enqueue(Errand(number: 1), in: "errands")
            try context.commit()
        }
        let reader = try await ContextStack.open(
            location,
            models: Pipeline.models,
            stack: .rootOnly,
            configuration: StoreConfiguration(isReadOnly: true)
        )
        let pipelineError = await #expect(throws: StrataError.self) {
            _ = try await Pipeline.open(reader, named: "errands") { (_: Attempt<Errand>) in .done }
        }
        #expect(pipelineError?.code == .readOnly)
        let brokerError = await #expect(throws: StrataError.self) {
            _ = try await TaskBroker.open(reader, named: "broker", handles: { _ in true }) { handlers in
                handlers.on(Errand.self) { _, _ in .done }
            }
        }
        #expect(brokerError?.code == .readOnly)
        let names = try await reader.background { try $0.pipelineSnapshots().map(\.name.rawValue) }
        #expect(names == ["errands"])
        try await reader.close()
        try await writer.close()
    }
}
