import Foundation
import StoreModels
import Strata
import StrataTesting
import Testing

@testable import StrataPipeline

@Suite("A clock that was ahead is corrected while no pipeline is open", .timeLimit(.minutes(1))) struct WrongClockTests
{
    private static let today = VirtualClock().now
    private static let ahead = today.addingTimeInterval(365 * 86_400)

    /// A harness that ran one year ahead, was closed, and is opened again today.
    private static func corrected(
        _ folder: ScratchFolder,
        _ names: [Entry],
        _ outcome: Result<Outcome, any Error>,
        rate: RateLimit? = nil
    ) async throws -> PipelineHarness {
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let policy = RetryPolicy(base: .seconds(30), cap: .seconds(30))
        let wrong = try await PipelineHarness.open(location, ordering: .fifo, retry: policy, clock: VirtualClock(ahead))
        try await wrong.commit(names)
        try await wrong.play([.resume(names[0].name)])
        try await wrong.end(names[0].name, outcome)
        try await wrong.close()
        let right = try await PipelineHarness.open(location, ordering: .fifo, retry: policy, clock: VirtualClock(today))
        right.learn(from: wrong)
        return right
    }

    @Test("A retry pause is no longer than the retry policy allows")
    func pause() async throws {
        let folder = try ScratchFolder()
        let harness = try await Self.corrected(folder, ["A", "B"], .failure(CocoaError(.fileNoSuchFile)))
        let hold = try #require(try await harness.stack.background { try $0.first(OperationHold.all)?.snapshot })
        #expect(hold.until <= Self.today.addingTimeInterval(30) && hold.since == Self.today)
        try await harness.play([.resume(), .pass(.seconds(30), "A"), .done("A", "B"), .done("B")])
        try await harness.close()
    }

    @Test("A pause that the handler requested keeps its length")
    func askedFor() async throws {
        let folder = try ScratchFolder()
        let harness = try await Self.corrected(folder, ["A", "B"], .success(.snooze(for: .seconds(7200))))
        try await harness.play([.resume(), .pass(.seconds(7199)), .pass(.seconds(1), "A"), .done("A", "B"), .done("B")])
        try await harness.close()
    }

    @Test("A pause set by a correct clock stays unchanged")
    func rightPause() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A"])
        try await harness.play([.resume("A")])
        try await harness.end("A", .success(.snooze(for: .seconds(7200))))
        let until = harness.clock.now.addingTimeInterval(7200)
        for _ in 0..<10 {
            harness.clock.advance(by: .seconds(10))
            await harness.pipeline.waitUntilProcessed()
        }
        #expect(try await harness.stack.background { try $0.first(OperationHold.all)?.until } == until)
        try await harness.close()
    }

    @Test("Application holds and start times are times of day and stay unchanged")
    func timesOfDay() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let wrong = try await PipelineHarness.open(location, clock: VirtualClock(Self.ahead))
        let date = Self.ahead.addingTimeInterval(86_400)
        try await wrong.stack.background { context in
            let operation = context.enqueue(Named(name: "A"), in: .work, notBefore: date)
            try operation.hold("embargo", until: date)
            try context.commit()
        }
        try await wrong.close()
        let right = try await PipelineHarness.open(location, clock: VirtualClock(Self.today))
        let holds = try await right.stack.background { try $0.rows(OperationHold.all) }
        #expect(holds.map(\.until) == [date, date] && holds.allSatisfy { $0.since == nil })
        try await right.close()
    }

    @Test("Finished operations and the transitions age from the moment at which the clock was corrected")
    func archive() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        func open(at date: Date) async throws -> (ContextStack, Pipeline, VirtualClock) {
            let clock = VirtualClock(date)
            let stack = try await ContextStack.open(location, models: Pipeline.models, stack: .rootOnly)
            let pipeline = try await Pipeline.open(
                stack,
                named: .work,
                options: PipelineOptions(
                    retention: FinishedRetention(maximumAge: .seconds(3600)),
                    recordsTransitions: true,
                    clock: clock
                )
            ) { (_: Attempt<Named>) in .done }
            return (stack, pipeline, clock)
        }
        let (wrong, former, _) = try await open(at: Self.ahead)
        try await wrong.background { context in
            context.enqueue(Named(name: "A"), in: .work)
            try context.commit()
        }
        try await former.waitUntilIdle()
        try await wrong.close()
        let (right, pipeline, clock) = try await open(at: Self.today)
        let (finished, last) = try await right.background { context in
            (
                try context.fetch(FinishedOperation.all).map(\.finishedAt),
                try context.maximum(OperationTransition.all, \.at)
            )
        }
        #expect(finished == [Self.today])
        #expect(try #require(last) <= Self.today)
        for _ in 0..<2 {
            clock.advance(by: .seconds(3600))
            await pipeline.waitUntilProcessed()
        }
        #expect(try await right.background { try $0.count(FinishedOperation.all) } == 0)
        #expect(try await right.background { try $0.count(OperationTransition.all) } == 0)
        try await right.close()
    }

    @Test("A rate limit and a schedule continue from the corrected time")
    func others() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        func open(at date: Date) async throws -> (ContextStack, Pipeline, VirtualClock) {
            let clock = VirtualClock(date)
            let stack = try await ContextStack.open(location, models: Pipeline.models, stack: .rootOnly)
            let pipeline = try await Pipeline.open(
                stack,
                named: .work,
                options: PipelineOptions(rateLimit: RateLimit(1, per: .seconds(20)), clock: clock)
            ) { (_: Attempt<Named>) in .done }
            return (stack, pipeline, clock)
        }
        let (wrong, former, _) = try await open(at: Self.ahead)
        try await wrong.background { context in
            context.enqueue(Named(name: "A"), in: .work)
            try context.schedule("tick", Named(name: "tick"), in: .work, .every(.seconds(60)))
            try context.commit()
        }
        try await former.waitUntilIdle()
        try await wrong.close()
        let (right, pipeline, clock) = try await open(at: Self.today)
        for _ in 0..<12 {
            clock.advance(by: .seconds(10))
            await pipeline.waitUntilProcessed()
        }
        try await pipeline.waitUntilIdle()
        #expect(try await right.background { try $0.count(FinishedOperation.all) } >= 2)
        try await right.close()
    }
}
