import Foundation
import StoreModels
import Strata
import StrataTesting
import Synchronization
import Testing

@testable import StrataPipeline

@Suite("Rate limits of lanes", .timeLimit(.minutes(1))) struct LaneRateTests {
    /// The lane of `a1` is `a`.
    private static func lane(of name: String) -> String { String(name.prefix(1)) }

    private static func commit(_ harness: PipelineHarness, _ entries: Entry...) async throws {
        try await harness.commit(entries, lane: { Self.lane(of: $0) })
    }

    private static func waitReasons(_ harness: PipelineHarness, _ name: String) async throws -> [WaitReason] {
        let id = harness.id(name)
        return try await harness.stack.background { context in
            try #require(try context.find(id)).waitReasons()
        }
    }

    /// The number of rows that the store keeps for lanes.
    private static func rowCount(_ stack: ContextStack) async throws -> Int {
        try await stack.background { try $0.count(LaneBudget.all) }
    }

    @Test("Each lane starts exactly as many operations as its limit allows, and after a rest the full count at once")
    func limit() async throws {
        let harness = try await PipelineHarness.open(max: nil, ratePerLane: RateLimit(2, per: .seconds(20)))
        try await Self.commit(harness, "a1", "a2", "a3", "a4", "a5", "b1", "b2", "b3")
        let start = harness.clock.now
        try await harness.play([.resume("a1", "a2", "b1", "b2")])
        #expect(try await harness.row("a3")?.status == .waiting)
        #expect(try await Self.waitReasons(harness, "a3") == [.laneRateLimited(until: start.addingTimeInterval(10))])
        // Ends return no token.
        try await harness.play([.done("a1"), .done("a2"), .pass(.seconds(9)), .pass(.seconds(1), "a3", "b3")])
        try await harness.play([.pass(.seconds(10), "a4"), .pass(.seconds(5)), .pass(.seconds(5), "a5")])
        try await harness.play([.pass(.seconds(300))])
        try await Self.commit(harness, "a6", "a7", "a8")
        #expect(harness.takeStarts() == ["a6", "a7"])
        try await harness.close()
    }

    @Test("The best waiting operation of a lane gets the next token")
    func order() async throws {
        let harness = try await PipelineHarness.open(ratePerLane: RateLimit(1, per: .seconds(10)))
        try await Self.commit(harness, "a1", "a2", "a3")
        try await harness.play([.resume("a1")])
        try await Self.commit(harness, "a4:1")
        try await harness.edit("a3") { $0.priority = 2 }
        try await harness.play([
            .pass(.seconds(10), "a3"), .pass(.seconds(10), "a4"), .pass(.seconds(10), "a2"), .pass(.seconds(10)),
        ])
        try await harness.close()
    }

    @Test("A serial lane keeps its order and its limit")
    func fifo() async throws {
        let harness = try await PipelineHarness.open(ordering: .fifo, ratePerLane: RateLimit(1, per: .seconds(10)))
        try await Self.commit(harness, "a1", "a2", "a3", "b1")
        let start = harness.clock.now
        try await harness.play([.resume("a1", "b1"), .done("a1")])
        #expect(try await Self.waitReasons(harness, "a2") == [.laneRateLimited(until: start.addingTimeInterval(10))])
        try await harness.play([.pass(.seconds(9)), .pass(.seconds(1), "a2"), .pass(.seconds(10)), .done("a2", "a3")])
        try await harness.close()
    }

    @Test("With the ordering by commits, the operations of a commit share the limit, and the next commit waits")
    func commits() async throws {
        let harness = try await PipelineHarness.open(ordering: .commits, ratePerLane: RateLimit(2, per: .seconds(20)))
        try await Self.commit(harness, "a1", "a2", "a3", "a4")
        try await Self.commit(harness, "a5")
        try await harness.play([
            .resume("a1", "a2"), .done("a1"), .done("a2"), .pass(.seconds(10), "a3"), .pass(.seconds(10), "a4"),
            .done("a3"), .done("a4"), .pass(.seconds(9)), .pass(.seconds(1), "a5"),
        ])
        try await harness.close()
    }

    @Test("An operation that cannot start leaves its token to the next one of the lane")
    func leftToken() async throws {
        // Commits of the application use the machine's time. By this clock, which is ahead of it, no token has come for
        // them. So only the search can offer the token.
        let harness = try await PipelineHarness.open(
            ratePerLane: RateLimit(1, per: .seconds(10)),
            clock: VirtualClock(Date(timeIntervalSinceReferenceDate: 4_000_000_000))
        )
        try await Self.commit(harness, "a1", "a2", "a3", "a4")
        // The token of `a2` comes while the pipeline is suspended. Before `a2` starts, it is held.
        try await harness.play([.resume("a1"), .suspend(), .pass(.seconds(10))])
        #expect(try await harness.row("a2")?.status == .pending)
        #expect(try await harness.row("a3")?.status == .waiting)
        let later = harness.clock.now.addingTimeInterval(600)
        try await harness.edit("a2") { try $0.hold("embargo", until: later) }
        #expect(try await harness.row("a3")?.status == .waiting)
        try await harness.play([.resume("a3"), .pass(.seconds(10), "a4"), .pass(.seconds(590), "a2")])
        try await harness.close()
    }

    @Test(
        "With the ordering by commits, an operation that cannot start, or is skipped, leaves its token to its commit",
        arguments: [false, true]
    )
    func leftTokenOfCommit(isHeld: Bool) async throws {
        let harness = try await PipelineHarness.open(ordering: .commits, ratePerLane: RateLimit(1, per: .seconds(10)))
        try await Self.commit(harness, "a1", "a2", "a3")
        // The token of `a2` comes while the pipeline is suspended.
        try await harness.play([.resume("a1"), .suspend(), .pass(.seconds(10))])
        #expect(try await harness.row("a2")?.status == .pending)
        #expect(try await harness.row("a3")?.status == .waiting)
        let (id, later) = (harness.id("a2"), harness.clock.now.addingTimeInterval(600))
        try await harness.stack.background { context in
            if isHeld {
                try context.holdOperations(QueuedOperation.where { $0.id.in([id]) }, "embargo", until: later)
            } else {
                try context.find(id)?.skip()
                try context.commit()
            }
        }
        await harness.pipeline.waitUntilProcessed()
        try await harness.play([.resume("a3")])
        try await harness.close()
    }

    @Test("A limit of the running operations of a lane and its rate limit apply together")
    func bothLimits() async throws {
        let harness = try await PipelineHarness.open(maxPerLane: 1, ratePerLane: RateLimit(2, per: .seconds(20)))
        try await Self.commit(harness, "a1", "a2", "a3", "a4")
        try await harness.play([.resume("a1")])
        #expect(try await Self.waitReasons(harness, "a2") == [.fullLane(limit: 1)])
        try await harness.play([.done("a1", "a2"), .done("a2"), .pass(.seconds(10), "a3"), .pass(.seconds(10))])
        #expect(try await Self.waitReasons(harness, "a4") == [.fullLane(limit: 1)])
        try await harness.play([.done("a3", "a4")])
        try await harness.close()
    }

    @Test("A lane at its limit is not searched again, however many operations wait in it")
    func manyInOneLane() async throws {
        let harness = try await PipelineHarness.open(ratePerLane: RateLimit(3, per: .seconds(30)))
        try await harness.stack.background { context in
            for number in 0..<5000 { context.enqueue(Named(name: "a\(number)"), in: .work, lane: "a", priority: 1) }
            try context.commit()
        }
        try await Self.commit(harness, "b1")
        harness.pipeline.resume()
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.log.started.count == 4)
        let changed = Mutex(0)
        let listening = harness.stack.listen { news in
            for change in news ?? [] where change.contains(QueuedOperation.self) {
                changed.withLock { $0 += change.of(QueuedOperation.self).updated.count }
            }
        }
        try await Self.commit(harness, "b2")
        harness.clock.advance(by: .seconds(10))
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.log.started.count == 6)
        // The two operations that have started, and no others.
        #expect(changed.withLock { $0 } <= 4)
        withExtendedLifetime(listening) {}
        try await harness.close()
    }

    @Test("Thousands of lanes open at the same moment, and their rows disappear when their buckets are full")
    func manyLanes() async throws {
        let count = 2500
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let clock = VirtualClock()
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(
                maxConcurrent: 64,
                rateLimitPerLane: RateLimit(1, per: .seconds(60)),
                clock: clock
            )
        ) { (_: Attempt<Named>) in .done }
        try await stack.background { context in
            for number in 0..<2 * count {
                context.enqueue(Named(name: "\(number)"), in: .work, lane: "lane \(number % count)")
            }
            try context.commit()
        }
        try await pipeline.waitUntilIdle()
        #expect(try await stack.background { try $0.count(FinishedOperation.all) } == count)
        #expect(try await Self.rowCount(stack) == count)
        clock.advance(by: .seconds(60))
        try await pipeline.waitUntilIdle()
        #expect(try await stack.background { try $0.count(FinishedOperation.all) } == 2 * count)
        #expect(try await Self.rowCount(stack) == count)
        clock.advance(by: .seconds(60))
        await pipeline.waitUntilProcessed()
        #expect(try await Self.rowCount(stack) == 0)
        try await stack.close()
    }

    @Test("A lane that should have opened long ago makes no more operations pending than a full bucket has tokens")
    func longRest() async throws {
        let count = 2100
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let clock = VirtualClock()
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(
                maxConcurrent: 64,
                rateLimitPerLane: RateLimit(count, per: .seconds(count)),
                clock: clock
            )
        ) { (_: Attempt<Named>) in .done }
        try await stack.background { context in
            for number in 0..<3 * count { context.enqueue(Named(name: "\(number)"), in: .work, lane: "a") }
            try context.commit()
        }
        try await pipeline.waitUntilIdle()
        #expect(try await stack.background { try $0.count(FinishedOperation.all) } == count)
        pipeline.suspend()
        clock.advance(by: .seconds(86_400))
        await pipeline.waitUntilProcessed()
        let pending = try await stack.background { try $0.count(QueuedOperation.where { $0.status == .pending }) }
        // One token more has come when the second transaction opens the lane.
        #expect((count...count + 1).contains(pending), "\(pending)")
        try await stack.close()
    }

    @Test("Lanes with separate limits follow those, and the others the common one")
    func separateLimits() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let clock = VirtualClock()
        func finished(_ options: PipelineOptions, in name: PipelineName) async throws -> [String: Int] {
            let pipeline = try await Pipeline.open(stack, named: name, options: options) { (_: Attempt<Named>) in
                .done
            }
            try await stack.background { context in
                for lane in ["a", "b", ""] {
                    for _ in 0..<5 { context.enqueue(Named(name: "x"), in: name, lane: lane) }
                }
                try context.commit()
            }
            try await pipeline.waitUntilIdle()
            let lanes = try await stack.background { context in
                try context.column(FinishedOperation.where { $0.pipeline == name }, \.lane)
            }
            return Dictionary(lanes.map { ($0, 1) }, uniquingKeysWith: +)
        }
        let three: [UTF8Text: RateLimit] = ["b": RateLimit(3, per: .seconds(30))]
        let common = RateLimit(1, per: .seconds(30))
        let both = PipelineOptions(rateLimitPerLane: common, laneRateLimits: three, clock: clock)
        #expect(try await finished(both, in: "both") == ["a": 1, "b": 3, "": 1])
        let one = PipelineOptions(laneRateLimits: three, clock: clock)
        #expect(try await finished(one, in: "one") == ["a": 5, "b": 3, "": 5])
        try await stack.close()
    }

    @Test("Each queue of a broker has its own lanes")
    func broker() async throws {
        struct Teller: TaskHandler {
            func handle(_ attempt: Attempt<Named>) async throws -> Outcome { .done }
        }
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let clock = VirtualClock()
        let broker = try await TaskBroker.open(
            stack,
            handles: { $0.hasPrefix("mail.") },
            options: PipelineOptions(rateLimitPerLane: RateLimit(2, per: .seconds(20)), clock: clock),
            handler: Teller()
        )
        try await stack.background { context in
            for queue in ["mail.a", "mail.b"] as [PipelineName] {
                for _ in 0..<4 { context.enqueue(Named(name: "x"), in: queue) }
            }
            try context.commit()
        }
        for count in [4, 6, 8] {
            try await broker.waitUntilIdle()
            #expect(try await stack.background { try $0.count(FinishedOperation.all) } == count)
            clock.advance(by: .seconds(10))
        }
        try await stack.close()
    }
}
