import Foundation
import Strata
import StrataPipeline
import StrataTesting
import TestHomeTraits
import Testing

@Suite("Unreadable operations and schedules", .timeLimit(.minutes(1))) struct UnreadableOperationTests {
    private struct Other: OperationPayload { var number: Int }

    @Test(
        "A malformed row fails and does not hold back other operations",
        .aboutTheFile("values of another type than that of the column"),
        arguments: [PipelineOrdering.flat, .fifo]
    )
    func row(_ ordering: PipelineOrdering) async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let ids = try await stack.background { context in
            let all = (0..<600).map { context.enqueue(Named(name: "\($0)"), in: .work, lane: "\($0 % 300)") }
            try context.commit()
            return all.map(\.id)
        }
        // More rows than one pass examines, each the first of its lane.
        try stack.transact(author: "test") { transaction in
            try transaction.run(
                "UPDATE \"QueuedOperation\" SET \"payload\" = 'text and no bytes' WHERE \"id\" <= ?",
                [.integer(ids[299].rawValue)]
            )
        }
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(ordering: ordering, onFailure: .setAside, clock: VirtualClock())
        ) { (_: Attempt<Named>) in .done }
        try await pipeline.waitUntilIdle()
        try await stack.background { context in
            let failed = QueuedOperation.where { $0.status == .failed }
            #expect(try context.count(failed) == 300)
            #expect(try context.count(FinishedOperation.all) == 300)
            let first = try #require(try context.column(failed, \.failures).first)
            #expect(first.list.first?.message.hasPrefix("The operation cannot be read.") == true)
        }
        try await stack.close()
    }

    @Test("A schedule that this version cannot read is left alone, and other schedules run")
    func schedule() async throws {
        let clock = VirtualClock()
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(clock: clock)
        ) { (_: Attempt<Named>) in .done }
        try await stack.background { context in
            for name in ["A", "B"] { try context.schedule(name, Named(name: name), in: .work, .every(.seconds(60))) }
            try context.commit()
        }
        await pipeline.waitUntilProcessed()
        try stack.transact(author: "test") { transaction in
            try transaction.run("UPDATE \"PeriodicOperation\" SET \"overlap\" = 'later' WHERE \"name\" = 'A'", [])
        }
        for _ in 1...2 {
            clock.advance(by: .seconds(60))
            try await pipeline.waitUntilIdle()
        }
        #expect(try await stack.background { try $0.count(FinishedOperation.all) } == 2)
        try await stack.close()
    }

    @Test("A handler that cannot read another operation's payload is retried")
    func ofAnother() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(clock: VirtualClock())
        ) { (_: Attempt<Named>) in
            throw PipelineError(.undecodablePayload, "that of another one")
        }
        guard case .retrying(_, _, let message) = try await pipeline.perform(Named(name: "A"), in: .work) else {
            Issue.record("it was to be tried again")
            return
        }
        #expect(message == "undecodablePayload: that of another one")
        try await stack.close()
    }

    @Test(
        "In order, an unreadable operation blocks its lane with .blockLane and lets it continue with .setAside",
        arguments: [FailurePolicy.blockLane, .setAside]
    )
    func inOrder(_ policy: FailurePolicy) async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(ordering: .fifo, onFailure: policy, clock: VirtualClock())
        ) { (_: Attempt<Named>) in .done }
        try await stack.background { context in
            context.enqueue(Other(number: 7), in: .work, lane: "a")
            for lane in ["a", "b"] { context.enqueue(Named(name: lane), in: .work, lane: lane) }
            try context.commit()
        }
        try await pipeline.waitUntilIdle()
        try await stack.background { context in
            #expect(try context.count(FinishedOperation.all) == (policy == .blockLane ? 1 : 2))
            let failed = try #require(try context.first(QueuedOperation.where { $0.status == .failed }))
            #expect(try failed.payload(as: Other.self).number == 7)
        }
        try await stack.close()
    }
}
