import Foundation
import StoreModels
import Strata
import StrataPipeline
import StrataTesting
import Synchronization
import Testing

@Suite("Rate limits", .timeLimit(.minutes(1))) struct RateLimitTests {
    private static func open(_ stack: ContextStack, _ name: PipelineName, _ limit: RateLimit, _ clock: VirtualClock)
        async throws -> (Pipeline, EventRecorder)
    {
        let pipeline = try await Pipeline.open(
            stack,
            named: name,
            options: PipelineOptions(rateLimit: limit, isSuspended: true, clock: clock)
        ) { (_: Attempt<Named>) in .done }
        return (pipeline, EventRecorder(pipeline))
    }

    private static func queue(_ count: Int, in name: PipelineName, _ stack: ContextStack) async throws {
        try await stack.background { context in
            for number in 0..<count { context.enqueue(Named(name: "\(number)"), in: name) }
            try context.commit()
        }
    }

    /// Waits until every started operation has ended and its end is stored.
    private static func count(_ log: EventRecorder, _ pipeline: Pipeline) async throws -> Int {
        await pipeline.waitUntilProcessed()
        let started = log.started.count
        try await log.wait { events in events.count { if case .finished = $0 { true } else { false } } >= started }
        return log.started.count
    }

    @Test("A pipeline starts exactly as many operations as the limit allows, and after a rest the full count at once")
    func limit() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let clock = VirtualClock()
        let (pipeline, log) = try await Self.open(stack, .work, RateLimit(3, per: .seconds(30)), clock)
        try await Self.queue(20, in: .work, stack)
        pipeline.resume()
        #expect(try await Self.count(log, pipeline) == 3)
        for (seconds, started) in [(9, 3), (1, 4), (10, 5), (10, 6), (5, 6), (5, 7), (300, 10), (10, 11)] {
            clock.advance(by: .seconds(seconds))
            #expect(try await Self.count(log, pipeline) == started, "after \(seconds) s more")
        }
        try await stack.close()
    }

    /// Counts the alarms that the engine sets.
    private final class CountingClock: PipelineClock {
        let alarms = Mutex(0)
        var now: Date { Date() }

        func alarm(at date: Date, _ body: @escaping @Sendable () -> Void) -> any PipelineAlarm {
            alarms.withLock { $0 += 1 }
            return SystemClock().alarm(at: date, body)
        }
    }

    @Test("An engine without a free slot does not wake up again and again when a limit is over", arguments: [1, nil])
    func busyBeyondLimit(maxConcurrent: Int?) async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let clock = CountingClock()
        let (goingOn, go) = AsyncStream.makeStream(of: Void.self)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(
                maxConcurrent: maxConcurrent,
                rateLimit: RateLimit(1, per: .milliseconds(20)),
                clock: clock
            )
        ) { (_: Attempt<Named>) in
            for await _ in goingOn { break }
            return .done
        }
        // The limit of all pipelines of the stack has the same effect as that of the pipeline.
        if maxConcurrent == nil { try stack.pipelines.setMaxConcurrent(1) }
        let log = EventRecorder(pipeline)
        try await Self.queue(2, in: .work, stack)
        try await log.wait { events in events.contains { if case .started = $0 { true } else { false } } }
        try await Task.sleep(for: .milliseconds(300))
        #expect(clock.alarms.withLock { $0 } < 20)
        go.finish()
        try await log.wait { events in events.count { if case .finished = $0 { true } else { false } } == 2 }
        try await stack.close()
    }

    @Test("All runners of a pipeline share its rate limit, which survives them; other pipelines have their own")
    func shared() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let clock = VirtualClock()
        let limit = RateLimit(2, per: .seconds(20))
        let first = try await ContextStack.open(location, models: Pipeline.models, stack: .rootOnly)
        try await Self.queue(10, in: .work, first)
        try await Self.queue(10, in: "other", first)
        let (one, oneLog) = try await Self.open(first, .work, limit, clock)
        one.resume()
        #expect(try await Self.count(oneLog, one) == 2)
        let (other, otherLog) = try await Self.open(first, "other", limit, clock)
        other.resume()
        #expect(try await Self.count(otherLog, other) == 2)
        let second = try await ContextStack.open(location, models: Pipeline.models, stack: .rootOnly)
        let (two, twoLog) = try await Self.open(second, .work, limit, clock)
        two.resume()
        #expect(try await Self.count(twoLog, two) == 0)
        await two.close()
        try await first.close()
        let (again, againLog) = try await Self.open(second, .work, limit, clock)
        again.resume()
        #expect(try await Self.count(againLog, again) == 0)
        clock.advance(by: .seconds(10))
        #expect(try await Self.count(againLog, again) == 1)
        try await second.close()
    }

    private struct Teller: TaskHandler {
        func handle(_ attempt: Attempt<Named>) async throws -> Outcome { .done }
    }

    @Test("Brokers with one handler have separate rate limits by name; a second broker of the same name is refused")
    func brokers() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let clock = VirtualClock()
        func open(_ name: String?, _ prefix: String) async throws -> TaskBroker {
            try await TaskBroker.open(
                stack,
                named: name,
                handles: { $0.hasPrefix(prefix) },
                options: PipelineOptions(rateLimit: RateLimit(2, per: .seconds(20)), isSuspended: true, clock: clock),
                handler: Teller()
            )
        }
        let chat = try await open(nil, "chat.")
        let error = await #expect(throws: PipelineError.self) { _ = try await open(nil, "mail.") }
        #expect(error?.code == .alreadyOpen && error?.message.contains("'Teller'") == true)
        let mail = try await open("mail", "mail.")
        for (broker, name) in [(chat, "chat.a"), (mail, "mail.a")] {
            let log = EventRecorder(broker)
            try await Self.queue(3, in: PipelineName(name), stack)
            broker.resume()
            try await broker.waitUntilIdle()
            #expect(log.finished.count == 2)
        }
        await mail.close()
        _ = try await open("mail", "mail.")
        try await stack.close()
    }

    @Test("`waitUntilIdle()` does not wait for a rate limit")
    func waitUntilIdle() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let clock = VirtualClock()
        let (pipeline, log) = try await Self.open(stack, .work, RateLimit(3, per: .seconds(30)), clock)
        try await Self.queue(5, in: .work, stack)
        pipeline.resume()
        for count in [3, 4, 5] {
            try await pipeline.waitUntilIdle()
            #expect(log.finished.count == count)
            clock.advance(by: .seconds(10))
        }
        try await stack.close()
    }

    @Test("An operation above the limit reports when the limit allows the next start, and nothing when it does")
    func waitReasons() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let clock = VirtualClock()
        let (pipeline, log) = try await Self.open(stack, .work, RateLimit(3, per: .seconds(30)), clock)
        try await Self.queue(5, in: .work, stack)
        func waitReasons() async throws -> [[WaitReason]] {
            try await stack.background { context in
                try context.fetch(QueuedOperation.all.sorted { $0.id }).map { try $0.waitReasons() }
            }
        }
        // No token was spent yet.
        #expect(try await waitReasons() == [[WaitReason]](repeating: [.suspended], count: 5))
        pipeline.resume()
        #expect(try await Self.count(log, pipeline) == 3)
        let start = clock.now
        let limited = WaitReason.rateLimited(until: start.addingTimeInterval(10))
        #expect(try await waitReasons() == [[limited], [limited]])
        clock.advance(by: .seconds(4))
        #expect(try await waitReasons() == [[limited], [limited]])
        clock.advance(by: .seconds(6))
        #expect(try await Self.count(log, pipeline) == 4)
        #expect(try await waitReasons() == [[.rateLimited(until: start.addingTimeInterval(20))]])
        pipeline.suspend()
        clock.advance(by: .seconds(10))
        await pipeline.waitUntilProcessed()
        #expect(try await waitReasons() == [[.suspended]])
        try await stack.close()
    }

    @Test("After the clock was set back, the next start is a full pause away")
    func clockSetBack() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let clock = VirtualClock()
        let (pipeline, log) = try await Self.open(stack, .work, RateLimit(1, per: .seconds(10)), clock)
        try await Self.queue(2, in: .work, stack)
        pipeline.resume()
        #expect(try await Self.count(log, pipeline) == 1)
        clock.set(to: clock.now.addingTimeInterval(-3600))
        let waitReasons = try await stack.background { try $0.first(QueuedOperation.all)?.waitReasons() }
        #expect(waitReasons == [.rateLimited(until: clock.now.addingTimeInterval(10))])
        try await stack.close()
    }

    @Test("A rate limit keeps the values that it is created with")
    func values() {
        for (count, interval) in [(60, Duration.seconds(60)), (1, .nanoseconds(1)), (0, .zero), (-3, .seconds(-1))] {
            let limit = RateLimit(count, per: interval)
            #expect(limit.count == count && limit.interval == interval)
        }
    }
}
