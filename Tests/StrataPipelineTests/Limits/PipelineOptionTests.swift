import Foundation
import Strata
import StrataTesting
import Testing

@testable import StrataPipeline

/// Options with one value at an end of its range.
private struct Options: Sendable, CustomTestStringConvertible {
    var name: String
    var maxConcurrent: Int? = 8
    var perLane: Int?
    var globally: Int?
    var rateLimit: RateLimit?
    var laneRate: RateLimit?
    var separateLaneRate: RateLimit?
    var retry = RetryPolicy.standard
    var timeout: Duration?
    var retention = FinishedRetention.standard
    var maxCrashes = 5
    var grace = Duration.seconds(20)

    var testDescription: String { name }

    /// The longest and the shortest representable durations.
    static let longest = Duration.seconds(Int64.max) * 18
    static let shortest = Duration.seconds(Int64.min) * 18
    static let integers = [Int.min, -1, 0, 1, Int.max - 1, Int.max]
    static let durations = [shortest, .seconds(-1), .zero, .nanoseconds(1), .seconds(Int64.max), longest]

    static var all: [Options] {
        var all: [Options] = []
        for count in integers {
            all.append(Options(name: "maxConcurrent \(count)", maxConcurrent: count))
            all.append(Options(name: "maxConcurrentPerLane \(count)", perLane: count))
            all.append(Options(name: "maxConcurrentGlobally \(count)", globally: count))
            all.append(Options(name: "maxAttempts \(count)", retry: RetryPolicy(maxAttempts: count)))
            all.append(Options(name: "maxCrashes \(count)", maxCrashes: count))
            var retention = FinishedRetention.standard
            retention.maximumCount = count
            all.append(Options(name: "maximumCount \(count)", retention: retention))
            for interval in durations {
                let limit = RateLimit(count, per: interval)
                all.append(Options(name: "rate \(count) in \(interval)", rateLimit: limit))
                all.append(Options(name: "rate of each lane \(count) in \(interval)", laneRate: limit))
            }
        }
        for duration in durations {
            all.append(Options(name: "base \(duration)", retry: RetryPolicy(base: duration, cap: longest)))
            all.append(Options(name: "cap \(duration)", retry: RetryPolicy(base: longest, cap: duration)))
            all.append(Options(name: "timeout \(duration)", timeout: duration))
            all.append(Options(name: "maximumAge \(duration)", retention: FinishedRetention(maximumAge: duration)))
            all.append(Options(name: "shutdownGrace \(duration)", grace: duration))
        }
        return all
    }
}

@Suite("Option values that pipelines and brokers accept or refuse", .timeLimit(.minutes(2)))
struct PipelineOptionTests {
    private struct Refusal: Error {}

    private struct Handler: TaskHandler {
        func handle(_ attempt: Attempt<Named>) async throws -> Outcome { try PipelineOptionTests.handle(attempt) }
    }

    /// Each operation fails once and then pauses.
    private static func handle(_ attempt: Attempt<Named>) throws -> Outcome {
        if attempt.number == 1 { throw Refusal() }
        return .done
    }

    @Test("Each extreme value of one option is refused or works", arguments: Options.all, [false, true])
    private func option(_ options: Options, isBroker: Bool) async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let clock = VirtualClock()
        let runner: any OperationRunner
        do {
            runner = try await Self.open(stack, options, isBroker, clock)
        } catch let error as PipelineError where error.code == .invalidArgument {
            // The refusal leaves nothing open: the same name can be opened.
            _ = try await Self.open(stack, Options(name: "standard"), isBroker, clock)
            return try await stack.close()
        }
        let log = EventRecorder(runner)
        try await stack.background { context in
            for number in 0..<3 { context.enqueue(Named(name: "\(number)"), in: .work) }
            try context.commit()
        }
        for _ in 0..<3 {
            await runner.waitUntilProcessed()
            clock.advance(by: .seconds(3600))
        }
        await runner.waitUntilProcessed()
        let events = log.events.map(\.description)
        #expect(!events.isEmpty)
        let left = try await stack.background { context in
            try context.fetch(QueuedOperation.all).map { "\($0.status) \(try $0.waitReasons())" }
        }
        #expect(left.count <= 3)
        await runner.close(grace: options.grace)
        try await stack.close()
    }

    private static func open(
        _ stack: ContextStack,
        _ options: Options,
        _ isBroker: Bool,
        _ clock: VirtualClock
    ) async throws -> any OperationRunner {
        guard isBroker else {
            return try await Pipeline.open(
                stack,
                named: .work,
                options: PipelineOptions(
                    maxConcurrent: options.maxConcurrent,
                    maxConcurrentPerLane: options.perLane,
                    maxConcurrentGlobally: options.globally,
                    rateLimit: options.rateLimit,
                    rateLimitPerLane: options.laneRate,
                    laneRateLimits: options.separateLaneRate.map { ["a": $0] } ?? [:],
                    retry: options.retry,
                    timeout: options.timeout,
                    retention: options.retention,
                    maxCrashes: options.maxCrashes,
                    shutdownGrace: options.grace,
                    clock: clock
                )
            ) { (attempt: Attempt<Named>) in try handle(attempt) }
        }
        return try await TaskBroker.open(
            stack,
            handles: { $0 == .work },
            options: PipelineOptions(
                ordering: .flat,
                maxConcurrent: options.maxConcurrent,
                maxConcurrentPerLane: options.perLane,
                maxConcurrentGlobally: options.globally,
                rateLimit: options.rateLimit,
                rateLimitPerLane: options.laneRate,
                laneRateLimits: options.separateLaneRate.map { ["a": $0] } ?? [:],
                retry: options.retry,
                timeout: options.timeout,
                retention: options.retention,
                maxCrashes: options.maxCrashes,
                shutdownGrace: options.grace,
                clock: clock
            ),
            handler: Handler()
        )
    }

    /// A rate limit that is refused, and a part of the message.
    struct RefusedLimit: Sendable {
        let limit: RateLimit
        let reason: String

        init(_ count: Int, per interval: Duration, _ reason: String) {
            limit = RateLimit(count, per: interval)
            self.reason = reason
        }

        static let all = [
            RefusedLimit(0, per: .seconds(60), "must be 1 or more, not 0."),
            RefusedLimit(-3, per: .seconds(60), "must be 1 or more, not -3."),
            RefusedLimit(.min, per: .seconds(60), "must be 1 or more"),
            RefusedLimit(5, per: .zero, "must be a millisecond or longer, not 0.0 seconds."),
            RefusedLimit(5, per: .seconds(-1), "must be a millisecond or longer, not -1.0 seconds."),
            RefusedLimit(5, per: .nanoseconds(999_999), "must be a millisecond or longer"),
            RefusedLimit(5, per: Options.shortest, "must be a millisecond or longer"),
        ]
    }

    @Test(
        "A rate limit without attempts or with too short an interval is refused, and the error names the value",
        arguments: RefusedLimit.all,
        [false, true]
    )
    func rateLimit(_ refused: RefusedLimit, isBroker: Bool) async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let options = Options(name: "rate", rateLimit: refused.limit)
        let error = await #expect(throws: PipelineError.self) {
            _ = try await Self.open(stack, options, isBroker, VirtualClock())
        }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains(refused.reason) == true, "\(error?.message ?? "")")
        try await stack.close()
    }

    @Test(
        "A rate limit of lanes is refused by the same rules, and the error names a lane with a separate limit",
        arguments: RefusedLimit.all,
        [false, true]
    )
    func laneRateLimit(_ refused: RefusedLimit, isBroker: Bool) async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        for options in [
            Options(name: "lanes", laneRate: refused.limit), Options(name: "lane", separateLaneRate: refused.limit),
        ] {
            let error = await #expect(throws: PipelineError.self) {
                _ = try await Self.open(stack, options, isBroker, VirtualClock())
            }
            #expect(error?.code == .invalidArgument)
            #expect(error?.message.contains(refused.reason) == true, "\(error?.message ?? "")")
            #expect(error?.message.contains("lane 'a'") == (options.separateLaneRate != nil))
        }
        try await stack.close()
    }

    @Test("The shortest interval and a single attempt are a valid rate limit", arguments: [false, true])
    func smallestRateLimit(isBroker: Bool) async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let limit = RateLimit(1, per: .milliseconds(1))
        let options = Options(name: "rate", rateLimit: limit, laneRate: limit)
        _ = try await Self.open(stack, options, isBroker, VirtualClock())
        try await stack.close()
    }

    @Test("A pipeline without effective limits runs all operations on the system clock")
    func unlimited() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(
                maxConcurrent: .max,
                rateLimit: RateLimit(.max, per: .seconds(1)),
                retry: RetryPolicy(maxAttempts: .max, base: Options.longest, cap: Options.longest),
                timeout: Options.longest,
                maxCrashes: .max
            )
        ) { (_: Attempt<Named>) in .done }
        try stack.pipelines.setMaxConcurrent(.max)
        try await stack.background { context in
            for number in 0..<500 { context.enqueue(Named(name: "\(number)"), in: .work) }
            try context.commit()
        }
        try await pipeline.waitUntilIdle()
        #expect(try await stack.background { try $0.count(FinishedOperation.all) } == 500)
        try await stack.close()
    }

    @Test(
        "Every delay that a handler requests is accepted and stays within the range of dates",
        arguments: Options.durations,
        [false, true]
    )
    func outcomes(_ pause: Duration, isSnoozed: Bool) async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A"])
        try await harness.play([.resume("A")])
        try await harness.end("A", .success(isSnoozed ? .snooze(for: pause) : .retry(after: pause)))
        let events = harness.log.events.map(\.description)
        #expect(events.last?.contains("is retried at") == true)
        let row = try await harness.stack.background { try $0.first(OperationHold.all)?.snapshot }
        #expect(try #require(row).until <= .distantFuture)
        try await harness.close()
    }
}
