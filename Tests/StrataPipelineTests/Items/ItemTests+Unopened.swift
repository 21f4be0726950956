import Foundation
import StoreModels
import Strata
import StrataTesting
import TestHomeTraits
import Testing

@testable import StrataPipeline

/// Tools that open the store of a program without the models of its pipelines.
extension ItemTests {
    @Test(
        "A tool that opens the store without pipelines leaves the queue as it is, and deleted objects are skipped",
        .aboutTheFile("opens some of the models, which a store with a home refuses")
    )
    func withoutPipelines() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("letters.sqlite"))
        let program = try await Self.open(location)
        let id = try await program.background { context in
            let id = context.enqueue(Letter(text: "a"), in: .work).id
            _ = context.enqueue(Letter(text: "b"), in: .work)
            try context.commit()
            return id
        }
        let tool = try await ContextStack.open(
            location,
            models: [Letter.self],
            stack: .rootOnly,
            configuration: StoreConfiguration(allowsUnopenedModels: true)
        )
        let error = await #expect(throws: PipelineError.self) {
            _ = try await Pipeline.open(tool, named: .work) { (_: Attempt<QueuedItem<Letter>>) in .done }
        }
        #expect(error?.code == .modelsMissing)
        try await tool.background { context in
            try context.first(Letter.where { $0.text == "b" })?.text = "c"
            for letter in try context.fetch(Letter.where { $0.text == "a" }) { context.delete(letter) }
            try context.commit()
        }
        try await tool.close()
        #expect(try await Self.counts(program) == [2, 2, 1])
        let pipeline = try await Pipeline.open(program, named: .work) { (_: Attempt<QueuedItem<Letter>>) in .done }
        try await pipeline.waitUntilIdle()
        let isQueued = try await program.background { context in
            try context.exists(QueuedOperation.where { $0.id == id })
        }
        #expect(!isQueued)
        #expect(try await Self.counts(program) == [0, 0, 1])
        try await program.close()
    }
}
