import Foundation
import Strata
import StrataTesting
import TestHomeTraits
import Testing

@testable import StrataPipeline

@Suite("Names chosen by the application, and refused names", .timeLimit(.minutes(1)))
struct PipelineNameTests {
    private struct Handler: TaskHandler {
        func handle(_ attempt: Attempt<Named>) async throws -> Outcome { .done }
    }

    @Test(
        "Keys and schedules do not collide, whatever the key is",
        arguments: ["schedule tick", "tick", "start", "retry"]
    )
    func keys(_ key: String) async throws {
        let harness = try await PipelineHarness.open()
        try await harness.stack.background { context in
            context.enqueue(Named(name: "own"), in: .work, key: key)
            try context.schedule("tick", Named(name: "tick"), in: .work, .every(.seconds(60)))
            try context.commit()
        }
        for _ in 0..<3 {
            harness.clock.advance(by: .seconds(60))
            await harness.pipeline.waitUntilProcessed()
        }
        let rows = try await harness.stack.background { try $0.rows(QueuedOperation.all.sorted { $0.id.ascending }) }
        // The schedule has one operation: it was neither left out nor queued twice.
        #expect(rows.map(\.key) == [key, nil] && rows.map(\.schedule) == [nil, "tick"])
        // Only the application's operation takes the key.
        let error = await #expect(throws: StrataError.self) {
            try await harness.stack.background { context in
                context.enqueue(Named(name: "other"), in: .work, key: key)
                try context.commit()
            }
        }
        #expect(error?.code == .notUnique)
        try await harness.close()
    }

    @Test("An empty pipeline name is refused everywhere")
    func empty() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        var error = await #expect(throws: PipelineError.self) {
            try await Pipeline.open(stack, named: "") { (_: Attempt<Named>) in .done }
        }
        #expect(error?.code == .invalidArgument)
        error = await #expect(throws: PipelineError.self) {
            try await stack.background { context in
                _ = try context.schedule("tick", Named(name: "tick"), in: "", .every(.seconds(60)))
            }
        }
        #expect(error?.code == .invalidArgument)
        try await stack.background { context in
            context.enqueue(Named(name: "A"), in: "")
            let error = #expect(throws: StrataError.self) { try context.commit() }
            #expect(error?.code == .validation && error?.details.map(\.column) == ["pipeline"])
            context.rollback()
        }
        try await stack.close()
    }

    @Test("Operations that an earlier version queued under the empty name can be skipped or taken over")
    func earlier() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let ids = try await stack.background { context in
            let operations = (0..<2).map { context.enqueue(Named(name: "\($0)"), in: .work) }
            try context.commit()
            return operations.map(\.id)
        }
        try stack.transact(author: "test") { transaction in
            try transaction.run(
                "UPDATE QueuedOperation SET pipeline = '', _version = ?",
                [.integer(transaction.number)]
            )
            try transaction.report(updated: ids.map(\.rawValue), ["pipeline"], of: QueuedOperation.self)
        }
        try await stack.background { context in
            try context.find(ids[0])?.skip()
            try context.commit()
        }
        let pipeline = try await Pipeline.open(stack, named: .work, previousNames: [""]) { (_: Attempt<Named>) in .done
        }
        try await pipeline.waitUntilIdle()
        let results = try await stack.background {
            try $0.rows(FinishedOperation.all.sorted { $0.id.ascending }).map(\.result)
        }
        #expect(results == [.skipped, .completed])
        try await stack.close()
    }

    @Test(
        "A pipeline and a broker accept any name that is not empty",
        arguments: ["a\0b".storable, "\u{10FFFF}", "'\"\\", " ", "\u{301}", String(repeating: "n", count: 100_000)],
        [false, true]
    )
    func odd(_ text: String, isBroker: Bool) async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let name = PipelineName(text)
        let runner: any OperationRunner
        if isBroker {
            runner = try await TaskBroker.open(stack, handles: { $0 == name }, handler: Handler())
        } else {
            runner = try await Pipeline.open(stack, named: name) { (_: Attempt<Named>) in .done }
        }
        try await stack.background { context in
            context.enqueue(Named(name: "A"), in: name, lane: text, key: text)
            try context.commit()
        }
        try await runner.waitUntilIdle()
        #expect(try await stack.background { try $0.rows(FinishedOperation.all).map(\.key) } == [text])
        try await stack.close()
    }
}
