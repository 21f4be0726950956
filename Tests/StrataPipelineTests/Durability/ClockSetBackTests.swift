import Foundation
import StoreModels
import Strata
import StrataPipeline
import StrataTesting
import Testing

@Suite("The system clock is set back", .timeLimit(.minutes(1))) struct ClockSetBackTests {
    private static let back = -3 * 3600.0

    @Test("A rate limit continues from the new time")
    func rateLimit() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let clock = VirtualClock()
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(rateLimit: RateLimit(2, per: .seconds(20)), clock: clock)
        ) { (_: Attempt<Named>) in .done }
        let log = EventRecorder(pipeline)
        try await stack.background { context in
            for number in 0..<5 { context.enqueue(Named(name: "\(number)"), in: .work) }
            try context.commit()
        }
        @Sendable func ends(_ events: [PipelineEvent]) -> Int {
            events.count { if case .finished = $0 { true } else { false } }
        }
        try await log.wait { ends($0) == 2 }
        clock.set(to: clock.now.addingTimeInterval(Self.back))
        // The second pass at the latest starts an operation: the first pass reads the new time.
        for _ in 0..<2 {
            clock.advance(by: .seconds(10))
            await pipeline.waitUntilProcessed()
        }
        try await log.wait { ends($0) >= 3 }
        for count in 4...5 {
            clock.advance(by: .seconds(10))
            try await log.wait { ends($0) >= count }
        }
        #expect(ends(log.events) == 5)
        try await stack.close()
    }

    @Test("A pause requested after the clock is set back has its full length")
    func failedBehind() async throws {
        let harness = try await PipelineHarness.open(retry: .never)
        try await harness.commit(["A"])
        try await harness.play([.resume("A")])
        harness.clock.set(to: harness.clock.now.addingTimeInterval(Self.back))
        try await harness.end("A", .success(.snooze(for: .seconds(60))))
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.takeStarts() == [])
        try await harness.play([.pass(.seconds(59))])
        harness.clock.advance(by: .seconds(1))
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.takeStarts() == ["A"])
        try await harness.end("A")
        try await harness.close()
    }

    @Test("A retry pause ends as planned, while a hold until a time of day waits for that time")
    func pauses() async throws {
        let harness = try await PipelineHarness.open(retry: RetryPolicy(base: .seconds(60), cap: .seconds(60)))
        let due = harness.clock.now.addingTimeInterval(120)
        try await harness.commit(["A", "B"])
        try await harness.edit("B") { try $0.hold("embargo", until: due) }
        try await harness.play([.resume("A")])
        try await harness.end("A", .failure(CocoaError(.fileNoSuchFile)))
        harness.clock.set(to: harness.clock.now.addingTimeInterval(Self.back))
        // A worker checks the clock every ten seconds.
        for _ in 0..<7 {
            harness.clock.advance(by: .seconds(10))
            await harness.pipeline.waitUntilProcessed()
        }
        #expect(harness.takeStarts() == ["A"])
        try await harness.end("A")
        harness.clock.advance(by: .seconds(1000))
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.takeStarts() == [])
        harness.clock.advance(to: due)
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.takeStarts() == ["B"])
        try await harness.end("B")
        try await harness.close()
    }
}
