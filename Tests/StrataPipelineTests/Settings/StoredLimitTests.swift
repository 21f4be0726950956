import Foundation
import StoreModels
import Strata
import StrataTesting
import Testing

@testable import StrataPipeline

@Suite("Limits and durations as the store keeps them", .timeLimit(.minutes(1))) struct StoredLimitTests {
    /// The longest representable duration, about 166 quintillion seconds.
    static let longest = Duration.seconds(Int64.max) * 18

    /// Rate limits at the ends of their ranges, and some whose intervals a number of seconds does not hold exactly.
    static let limits = [
        RateLimit(1, per: .milliseconds(1)), RateLimit(3, per: .milliseconds(3100)),
        RateLimit(1, per: Duration.seconds(10) / 3), RateLimit(.max, per: .seconds(3600)),
        RateLimit(1, per: .seconds(Int64.max)), RateLimit(1, per: longest),
    ]

    @Test("An operator's rate limit is read as it was set, also by another process", arguments: limits)
    func operatorsRate(_ limit: RateLimit) async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let harness = try await PipelineHarness.open(location)
        let set = try await harness.stack.updatePipelineSettings(of: .work, by: "ada") { $0.rateLimit = limit }
        #expect(set.rateLimit.value == limit && set.rateLimit.isOverridden)
        // Setting the same limit again is not a change of the operator.
        let again = try await harness.stack.updatePipelineSettings(of: .work, by: "bob") { $0.rateLimit = limit }
        #expect(again.rateLimit.change?.by == "ada")
        try await harness.close()
        let stack = try await ContextStack.open(location, models: Pipeline.models, stack: .rootOnly)
        #expect(try await stack.pipelineSettings(of: .work).rateLimit.value == limit)
        try await stack.close()
    }

    @Test("A declared rate limit is read as the program has declared it", arguments: limits)
    func declaredRate(_ limit: RateLimit) async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(rateLimit: limit)
        ) { (_: Attempt<Named>) in .done }
        let settings = try await stack.pipelineSettings(of: .work)
        #expect(settings.declared?.rateLimit == limit && settings.rateLimit.value == limit)
        await pipeline.close()
        try await stack.close()
    }

    @Test("An operator's limit of one start in a very long time starts one operation", arguments: limits.suffix(2))
    func oneStart(_ limit: RateLimit) async throws {
        let harness = try await PipelineHarness.open()
        harness.pipeline.resume()
        try await harness.stack.updatePipelineSettings(of: .work, by: "ada") { $0.rateLimit = limit }
        try await harness.commit(["A", "B", "C"])
        #expect(harness.takeStarts() == ["A"])
        harness.clock.advance(by: .seconds(1_000_000))
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.takeStarts() == [])
        try await harness.close()
    }

    @Test("The greatest number of handlers is read as it was set", arguments: [1, Int.max, nil] as [Int?])
    func concurrency(_ limit: Int?) async throws {
        let harness = try await PipelineHarness.open(max: 3)
        let set = try await harness.stack.updatePipelineSettings(of: .work, by: "ada") { $0.maxConcurrent = limit }
        #expect(set.maxConcurrent.value == limit && set.maxConcurrent.isOverridden)
        try await harness.close()
    }

    @Test("The options of an operation are read as they were set")
    func options() async throws {
        let retry = RetryPolicy(maxAttempts: .max, base: Duration.seconds(10) / 3, cap: Self.longest)
        let options = OperationOptions(
            expires: .after(Self.longest),
            retry: retry,
            timeout: .seconds(Int64.max)
        )
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let id = try await stack.background { context in
            let operation = context.enqueue(Named(name: "A"), in: .work, options: options)
            try context.commit()
            return operation.id
        }
        let number = id.rawValue
        let stored = try await stack.background { try $0.rows(OperationSettings.where { $0.operation == number }) }
        #expect(stored.map(\.attempts) == [AttemptOptions(options)])
        #expect(stored.first?.attempts?.retry == retry && stored.first?.attempts?.timeout == .seconds(Int64.max))
        // The date is the last one that has a text form.
        #expect(try await stack.background { try $0.find(id)?.expiresAt() } == Date.distantFuture)
        try await stack.close()
    }

    @Test("An interval keeps its length in the store, and one that ends after the last date never comes")
    func interval() throws {
        let start = Date(timeIntervalSinceReferenceDate: 800_000_000)
        for interval in [Duration.milliseconds(3100), Duration.seconds(10) / 3, .seconds(1_000_000_000)] {
            let schedule = try Schedule.every(interval)
            #expect(Schedule(rawValue: schedule.rawValue) == schedule)
            #expect(schedule.next(after: start) == start.addingTimeInterval(interval.seconds))
        }
        for interval in [Duration.seconds(Int64.max), Self.longest] {
            let schedule = try Schedule.every(interval)
            #expect(Schedule(rawValue: schedule.rawValue) == schedule)
            #expect(schedule.next(after: start) == nil && schedule.next(after: start, previous: start) == nil)
        }
    }

    @Test("The error of a limit of zero names what runs nothing at the same place")
    func advice() async throws {
        let harness = try await PipelineHarness.open()
        let (stack, pipeline) = (harness.stack, harness.pipeline)
        let none = RateLimit(0, per: .seconds(1))
        let changes: [@Sendable (inout PipelineSettingsUpdate) -> Void] = [
            { $0.maxConcurrent = 0 }, { $0.rateLimit = none },
        ]
        for change in changes {
            let error = await #expect(throws: PipelineError.self) {
                try await stack.updatePipelineSettings(of: .work, by: "ada") { change(&$0) }
            }
            #expect(error?.message.contains("set `isPaused`") == true, "\(error?.message ?? "")")
        }
        for options in [PipelineOptions(maxConcurrent: 0), PipelineOptions(rateLimit: none)] {
            let error = #expect(throws: PipelineError.self) { try options.check(.flat) }
            #expect(error?.message.contains("pass `isSuspended: true`") == true, "\(error?.message ?? "")")
        }
        let lane = #expect(throws: PipelineError.self) {
            try PipelineOptions(laneRateLimits: ["a": none]).check(.flat)
        }
        #expect(lane?.message.contains("hold the operations of the lane") == true, "\(lane?.message ?? "")")
        var error = #expect(throws: PipelineError.self) { try pipeline.setMaxConcurrent(0) }
        #expect(error?.message.contains("call `suspend()`") == true, "\(error?.message ?? "")")
        error = #expect(throws: PipelineError.self) { try stack.pipelines.setMaxConcurrent(0) }
        #expect(error?.message.contains("call `suspend()`") == true, "\(error?.message ?? "")")
        try await harness.close()
    }
}
