import Foundation
import StoreModels
import Strata
import StrataTesting
import TestHomeTraits
import Testing

@testable import StrataPipeline

@Suite("Stored rate limits of lanes", .timeLimit(.minutes(1))) struct LaneRateStoreTests {
    private static func commit(_ harness: PipelineHarness, _ entries: Entry...) async throws {
        try await harness.commit(entries, lane: { String($0.prefix(1)) })
    }

    @Test("All processes share the limit of a lane, which survives them")
    func shared() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let clock = VirtualClock()
        let limit = RateLimit(2, per: .seconds(20))
        let first = try await PipelineHarness.open(location, ratePerLane: limit, clock: clock)
        try await Self.commit(first, "a1", "a2", "a3", "a4")
        try await first.play([.resume("a1", "a2")])
        let second = try await PipelineHarness.open(location, ratePerLane: limit, clock: clock)
        second.learn(from: first)
        try await second.play([.resume()])
        for name in ["a1", "a2"] { try await first.end(name) }
        try await first.close()
        try await second.play([.pass(.seconds(9)), .pass(.seconds(1), "a3"), .done("a3")])
        try await second.close()
        let third = try await PipelineHarness.open(location, ratePerLane: limit, clock: clock)
        third.learn(from: first)
        try await third.play([.resume(), .pass(.seconds(10), "a4")])
        try await third.close()
    }

    @Test("A changed limit applies to operations that already wait, and gives no tokens away")
    func change() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let first = try await PipelineHarness.open(location, ratePerLane: RateLimit(1, per: .seconds(3600)))
        try await Self.commit(first, "a1", "a2", "a3", "a4")
        try await first.play([.resume("a1"), .done("a1")])
        try await first.close()
        let second = try await PipelineHarness.open(location, ratePerLane: RateLimit(2, per: .seconds(20)))
        second.learn(from: first)
        try await second.play([.resume(), .pass(.seconds(10), "a2"), .done("a2")])
        try await second.close()
        let third = try await PipelineHarness.open(location)
        third.learn(from: first)
        try await third.play([.resume("a3", "a4")])
        #expect(try await third.stack.background { try $0.count(LaneBudget.all) } == 0)
        try await third.close()
    }

    @Test("After the clock was set back, the next start of a lane is a full pause away")
    func clockSetBack() async throws {
        let harness = try await PipelineHarness.open(ratePerLane: RateLimit(1, per: .seconds(30)))
        try await Self.commit(harness, "a1", "a2")
        try await harness.play([.resume("a1")])
        harness.clock.set(to: harness.clock.now.addingTimeInterval(-3600))
        // The next heartbeat corrects the stored times.
        try await harness.play([.pass(.seconds(10)), .pass(.seconds(29)), .pass(.seconds(1), "a2")])
        try await harness.close()
    }

    @Test("After the clock was set back, rows of lanes without waiting operations stay no longer")
    func rowsAfterClockSetBack() async throws {
        let harness = try await PipelineHarness.open(ratePerLane: RateLimit(1, per: .seconds(30)))
        try await Self.commit(harness, "a1")
        try await harness.play([.resume("a1"), .done("a1")])
        harness.clock.set(to: harness.clock.now.addingTimeInterval(-3600))
        try await harness.play([.pass(.seconds(10)), .pass(.seconds(20))])
        #expect(try await harness.stack.background { try $0.count(LaneBudget.all) } == 1)
        try await harness.play([.pass(.seconds(10))])
        #expect(try await harness.stack.background { try $0.count(LaneBudget.all) } == 0)
        try await harness.close()
    }

    /// Claims operations of a lane as a pass of another process does that has read its clock at a time.
    ///
    /// - Parameter names: operations that become pending before.
    private static func claim(_ names: [String], at now: Date, _ limit: RateLimit, _ harness: PipelineHarness) throws
        -> [String?]
    {
        let numbers = names.map { harness.id($0).rawValue }
        let rates = LaneRates(PipelineOptions(rateLimitPerLane: limit))
        var claimed: [String?] = []
        try harness.stack.transact(author: "test") { transaction in
            let repository = OperationRepository(transaction, now: now)
            try repository.set(.pending, of: numbers)
            let selection = OperationRepository.Selection(laneRates: rates)
            let claims = try repository.claim(8, of: .work, selection, by: 1).claims
            claimed = claims.map { harness.name(of: $0.claim.operation) }
        }
        return claimed
    }

    @Test("A pass that has waited for the store, while a later pass counted tokens, counts no time again")
    func passesOutOfOrder() async throws {
        let harness = try await PipelineHarness.open()
        try await Self.commit(harness, "a1", "a2", "a3", "a4")
        let (start, limit) = (harness.clock.now, RateLimit(2, per: .seconds(20)))
        #expect(try Self.claim([], at: start, limit, harness) == ["a1", "a2"])
        #expect(try Self.claim(["a3", "a4"], at: start + 10, limit, harness) == ["a3"])
        #expect(try Self.claim(["a4"], at: start + 5, limit, harness) == [])
        #expect(try Self.claim(["a4"], at: start + 15, limit, harness) == [])
        #expect(try Self.claim(["a4"], at: start + 20, limit, harness) == ["a4"])
        try await harness.close()
    }

    @Test("The rate limit of a pipeline counts no time again either")
    func budgetsOutOfOrder() async throws {
        let harness = try await PipelineHarness.open()
        let (start, limit) = (harness.clock.now, RateLimit(10, per: .seconds(100)))
        for (seconds, left, count) in [(0.0, 10, 10), (50.0, 5, 1), (20.0, 4, 1), (60.0, 4, 0)] {
            try harness.stack.transact(author: "test") { transaction in
                let repository = OperationRepository(transaction, now: start + seconds)
                var budget = try repository.budget(of: "limited", limit)
                #expect(budget.whole == left, "after \(seconds) s")
                try repository.spend(count, of: &budget, "limited")
            }
        }
        try await harness.close()
    }

    @Test("An attempt that does not end its operation has taken a token")
    func retried() async throws {
        let harness = try await PipelineHarness.open(ratePerLane: RateLimit(1, per: .seconds(60)))
        try await Self.commit(harness, "a1", "a2")
        try await harness.play([.resume("a1")])
        try await harness.end("a1", .failure(CancellationError()))
        #expect(harness.takeStarts() == [])
        try await harness.play([.pass(.seconds(59)), .pass(.seconds(1), "a1"), .pass(.seconds(60), "a2")])
        try await harness.close()
    }

    @Test("A store of an earlier release gets the table, and keeps its queue", .aboutTheFile("migrates a store"))
    func earlierStore() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let models = Pipeline.models.filter { ObjectIdentifier($0) != ObjectIdentifier(LaneBudget.self) }
        let old = try await ContextStack.open(location, models: models, stack: .rootOnly)
        try await old.background { context in
            for _ in 0..<3 { context.enqueue(Named(name: "x"), in: .work, lane: "a") }
            try context.commit()
        }
        try await old.close()
        let stack = try await ContextStack.open(location, models: Pipeline.models, stack: .rootOnly)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(rateLimitPerLane: RateLimit(2, per: .seconds(20)), clock: VirtualClock())
        ) { (_: Attempt<Named>) in .done }
        try await pipeline.waitUntilIdle()
        #expect(try await stack.background { try $0.count(FinishedOperation.all) } == 2)
        #expect(try await stack.background { try $0.count(QueuedOperation.all) } == 1)
        try await stack.close()
    }
}
