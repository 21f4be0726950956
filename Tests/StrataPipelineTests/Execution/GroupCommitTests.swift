import Strata
import StrataTesting
import Testing

@testable import StrataPipeline

@Suite("Grouping of ends and claims in one commit", .timeLimit(.minutes(1)))
struct GroupCommitTests {
    private struct Run: OperationPayload {
        var number: Int
    }

    private static func stack() async throws -> ContextStack {
        try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
    }

    private static func enqueue(_ count: Int, _ stack: ContextStack) async throws -> [ObjectID<QueuedOperation>] {
        try await stack.background { context in
            let ids = (0..<count).map { context.enqueue(Run(number: $0), in: .work).id }
            try context.commit()
            return ids
        }
    }

    @Test("A thousand operations, 64 at once, take at most 250 commits")
    func many() async throws {
        let stack = try await Self.stack()
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(maxConcurrent: 64, isSuspended: true, clock: VirtualClock())
        ) { (_: Attempt<Run>) in
            await Task.yield()
            return .done
        }
        await pipeline.waitUntilProcessed()
        _ = try await Self.enqueue(1000, stack)
        let before = try stack.commitCount()
        pipeline.resume()
        try await pipeline.waitUntilIdle()
        let commits = try stack.commitCount() - before
        #expect(commits <= 250, "\(commits) commits")
        let results = try await stack.background { try $0.column(FinishedOperation.all, \.result) }
        #expect(results == [OperationResult](repeating: .completed, count: 1000))
        try await stack.close()
    }

    @Test(
        "A single operation takes one commit to begin and one to end without waiting, whether or not others run",
        arguments: [0, 63]
    )
    func alone(others: Int) async throws {
        let stack = try await Self.stack()
        let clock = VirtualClock()
        let (goes, go) = AsyncStream.makeStream(of: Never.self)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(maxConcurrent: 64, isSuspended: true, clock: clock)
        ) { (attempt: Attempt<Run>) in
            if attempt.payload.number > 0 { await Task { for await _ in goes {} }.value }
            return .done
        }
        await pipeline.waitUntilProcessed()
        let log = EventRecorder(pipeline)
        let (start, alarms) = (clock.now, clock.alarms)
        let ids = try await Self.enqueue(1 + others, stack)
        let before = try stack.commitCount()
        pipeline.resume()
        try await log.waitForEnd(of: ids[0])
        #expect(try stack.commitCount() - before == 2)
        #expect(log.finished == [ids[0]])
        #expect(clock.now == start && clock.alarms == alarms)
        go.finish()
        try await pipeline.waitUntilIdle()
        try await stack.close()
    }
}
