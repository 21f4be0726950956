import Foundation
import StoreModels
import Strata
import StrataPipeline
import StrataTesting
import Testing

@Suite("The system clock is set back", .timeLimit(.minutes(1))) struct ClockTests {
    private static let back = -3 * 3600.0

    @Test("A rate limit continues from the new time")
    func rateLimit() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let clock = VirtualClock()
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            rateLimit: RateLimit(2, per: .seconds(20)),
            clock: clock
        ) { (_: Attempt<Named>) in .done }
        let log = EventLog(pipeline)
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
            await pipeline.settled()
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
        let stage = try await Stage.open(retry: .never)
        try await stage.commit(["A"])
        try await stage.play([.resume("A")])
        stage.clock.set(to: stage.clock.now.addingTimeInterval(Self.back))
        try await stage.end("A", .success(.postpone(for: .seconds(60))))
        await stage.pipeline.settled()
        #expect(stage.takeStarts() == [])
        try await stage.play([.pass(.seconds(59))])
        stage.clock.advance(by: .seconds(1))
        await stage.pipeline.settled()
        #expect(stage.takeStarts() == ["A"])
        try await stage.end("A")
        try await stage.close()
    }

    @Test("A retry pause ends as planned, while a hold until a time of day waits for that time")
    func pauses() async throws {
        let stage = try await Stage.open(retry: RetryPolicy(base: .seconds(60), cap: .seconds(60)))
        let due = stage.clock.now.addingTimeInterval(120)
        try await stage.commit(["A", "B"])
        try await stage.edit("B") { try $0.hold("embargo", until: due) }
        try await stage.play([.resume("A")])
        try await stage.end("A", .failure(CocoaError(.fileNoSuchFile)))
        stage.clock.set(to: stage.clock.now.addingTimeInterval(Self.back))
        // A worker checks the clock every ten seconds.
        for _ in 0..<7 {
            stage.clock.advance(by: .seconds(10))
            await stage.pipeline.settled()
        }
        #expect(stage.takeStarts() == ["A"])
        try await stage.end("A")
        stage.clock.advance(by: .seconds(1000))
        await stage.pipeline.settled()
        #expect(stage.takeStarts() == [])
        stage.clock.advance(to: due)
        await stage.pipeline.settled()
        #expect(stage.takeStarts() == ["B"])
        try await stage.end("B")
        try await stage.close()
    }
}
