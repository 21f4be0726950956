import Foundation
import StoreModels
import Strata
import StrataTesting
import Synchronization
import Testing

@testable import StrataPipeline

@Suite("Concurrency limit of all processes together", .timeLimit(.minutes(1))) struct GlobalLimitTests {
    private static func waitReasons(_ harness: PipelineHarness, _ name: String) async throws -> [WaitReason] {
        let id = harness.id(name)
        return try await harness.stack.background { context in
            try #require(try context.find(id)).waitReasons()
        }
    }

    @Test("Processes share the limit, and a free place goes to another process; a dead process keeps its places")
    func shared() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let first = try await PipelineHarness.open(location, maxGlobally: 2)
        try await first.commit(["A", "B", "C", "D", "E"])
        try await first.play([.resume("A", "B")])
        let second = try await PipelineHarness.open(location, maxGlobally: 2)
        second.learn(from: first)
        try await second.play([.resume()])
        #expect(try await second.row("C")?.status == .pending)
        #expect(try await Self.waitReasons(second, "C") == [.fullGlobally(limit: 2)])
        first.pipeline.suspend()
        try await first.end("A")
        try await second.log.wait { !$0.isEmpty }
        #expect(second.takeStarts() == ["C"])
        // Simulates an ended process, which had started B.
        first.pipeline.handle.engine.abandon()
        try await second.play([.done("C", "D"), .done("D", "E"), .done("E")])
        for harness in [first, second] { try await harness.close() }
    }

    @Test("The limit applies to a single process as well, and each end starts the next operation")
    func alone() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let counts = Mutex((now: 0, most: 0))
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(maxConcurrentGlobally: 2, isSuspended: true)
        ) { (_: Attempt<Named>) in
            counts.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            await Task.yield()
            counts.withLock { $0.now -= 1 }
            return .done
        }
        try await stack.background { context in
            for number in 0..<200 { context.enqueue(Named(name: "\(number)"), in: .work) }
            try context.commit()
        }
        pipeline.resume()
        try await pipeline.waitUntilIdle()
        #expect(counts.withLock { $0.most } <= 2)
        #expect(try await stack.background { try $0.count(FinishedOperation.all) } == 200)
        try await stack.close()
    }

    @Test("A full pipeline makes no passes until a place is free")
    func quiet() async throws {
        let harness = try await PipelineHarness.open(maxGlobally: 1)
        try await harness.commit(["A", "B", "C"])
        try await harness.play([.resume("A")])
        let isDry = harness.pipeline.handle.engine.state.withLock { $0.consumers.values.allSatisfy(\.isDry) }
        #expect(isDry)
        try await harness.play([.done("A", "B"), .done("B", "C"), .done("C")])
        try await harness.close()
    }

    @Test("A broker's limit counts all of its queues together, and no others")
    func broker() async throws {
        struct Waiter: TaskHandler {
            func handle(_ attempt: Attempt<Named>) async throws -> Outcome {
                try await Task.sleep(for: .seconds(600))
                return .done
            }
        }
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let broker = try await TaskBroker.open(
            stack,
            handles: { $0.hasPrefix("mail.") },
            options: PipelineOptions(ordering: .flat, maxConcurrentGlobally: 3),
            handler: Waiter()
        )
        let other = try await Pipeline.open(stack, named: .work) { (_: Attempt<Named>) in
            try await Task.sleep(for: .seconds(600))
            return .done
        }
        try await stack.background { context in
            for queue in ["mail.a", "mail.b", .work] as [PipelineName] {
                for _ in 0..<4 { context.enqueue(Named(name: "x"), in: queue) }
            }
            try context.commit()
        }
        await broker.waitUntilProcessed()
        await other.waitUntilProcessed()
        let active = try await stack.background { context in
            try context.column(QueuedOperation.where { $0.status == .active }, \.pipeline)
        }
        #expect(active.count { $0 == .work } == 4)
        #expect(active.count { $0 != .work } == 3)
        try await stack.close()
    }
}
