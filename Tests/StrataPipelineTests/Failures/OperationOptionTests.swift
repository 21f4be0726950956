import Foundation
import Strata
import StrataTesting
import Testing

@testable import StrataPipeline

@Suite("Retries and timeouts of single operations", .timeLimit(.minutes(1))) struct OperationOptionTests {
    private struct Busy: Error {
        var seconds: Int?
    }

    @Test("An operation's own timeout and retry policy replace those of its pipeline")
    func overrides() async throws {
        let harness = try await PipelineHarness.open(retry: RetryPolicy(maxAttempts: 2), timeout: .seconds(60))
        try await harness.commit(["A", "B"])
        try await harness.edit("A") {
            try $0.setOptions(OperationOptions(retry: .never, timeout: .seconds(20)))
        }
        try await harness.play([.resume("A", "B")])
        harness.clock.advance(by: .seconds(20))
        try await harness.log.waitForEnd(of: harness.id("A"))
        let row = try #require(try await harness.row("A"))
        #expect(row.status == .failed && row.attempts == 1)
        #expect(row.failures.list.first?.message.contains("timedOut") == true)
        #expect(try await harness.row("B")?.status == .active)
        // The other operation has the two attempts of the pipeline.
        try await harness.end("B", .failure(Busy()))
        #expect(try await harness.row("B")?.status == .held)
        try await harness.close()
    }

    @Test("More attempts than the pipeline's, also without a limit", arguments: [nil, 3] as [Int?])
    func moreAttempts(_ maxAttempts: Int?) async throws {
        let harness = try await PipelineHarness.open(retry: .never)
        try await harness.commit(["A"])
        let policy = RetryPolicy(maxAttempts: maxAttempts, base: .seconds(1), cap: .seconds(1))
        try await harness.edit("A") { try $0.setOptions(OperationOptions(retry: policy)) }
        try await harness.play([.resume("A")])
        for attempt in 1...3 {
            try await harness.end("A", .failure(Busy()))
            let isLast = attempt == maxAttempts
            #expect(try await harness.row("A")?.status == (isLast ? .failed : .held), "\(attempt)")
            if !isLast { try await harness.play([.pass(.seconds(1), "A")]) }
        }
        try await harness.close()
    }

    private static let outOfBounds = [
        (OperationOptions(timeout: .zero), "timeout"),
        (OperationOptions(retry: RetryPolicy(maxAttempts: 0)), "number of attempts"),
        (OperationOptions(retry: RetryPolicy(base: .seconds(-1))), "pauses"),
    ]

    @Test("The commit refuses an operation whose options are out of their bounds, and says which one is")
    func bounds() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        for (options, subject) in Self.outOfBounds {
            let count = try await stack.background { context in
                context.enqueue(Named(name: "A"), in: .work, options: options)
                let error = #expect(throws: StrataError.self) { try context.commit() }
                #expect(error?.code == .validation)
                let detail = error?.details.first
                #expect(detail?.message.contains(subject) == true, "\(subject)")
                #expect(detail?.column == nil)
                context.rollback()
                try context.commit()
                return try context.count(QueuedOperation.all)
            }
            #expect(count == 0)
        }
        try await stack.close()
    }

    @Test("Changing options to some out of their bounds throws at once, and changes nothing")
    func boundsOfChanges() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        try await stack.background { context in
            let operation = context.enqueue(Named(name: "A"), in: .work)
            for (options, subject) in Self.outOfBounds {
                let error = #expect(throws: PipelineError.self) { try operation.setOptions(options) }
                #expect(error?.code == .invalidArgument, "\(subject)")
            }
            try context.commit()
            let settings = try context.count(OperationSettings.all)
            #expect(settings == 0)
        }
        try await stack.close()
    }

    @Test("Options out of their bounds are still refused when another payload replaces one that cannot be encoded")
    func boundsAndPayload() async throws {
        struct Bad: OperationPayload { var number: Double }
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        try await stack.background { context in
            let operation = context.enqueue(
                Bad(number: .nan),
                in: .work,
                options: OperationOptions(timeout: .zero)
            )
            try operation.setPayload(Named(name: "A"))
            let error = #expect(throws: StrataError.self) { try context.commit() }
            #expect(error?.details.first?.message.contains("timeout") == true)
            context.rollback()
        }
        try await stack.close()
    }

    @Test("One call queues an operation with options and tags, for a payload and for an object")
    func optionsAndTags() async throws {
        let stack = try await ItemTests.open()
        let options = OperationOptions(expires: .at(.distantFuture), retry: .never, timeout: .seconds(5))
        try await stack.background { context in
            context.enqueue(Named(name: "A"), in: .work, options: options, tags: ["import", "june"])
            context.enqueue(Letter(text: "B"), in: .work, options: options, tags: ["import", "june"])
            context.enqueue(Named(name: "C"), in: .work)
            try context.commit()
            let tagged = try context.fetch(QueuedOperation.where { $0.hasTag("import") })
            #expect(tagged.count == 2)
            for operation in tagged {
                let (date, tags) = (try operation.expiresAt(), try operation.tags())
                #expect(date == .distantFuture)
                #expect(tags == ["import", "june"])
                let settings = try context.first(.of(operation: operation.id.rawValue))
                #expect(settings?.attempts?.retry == RetryPolicy.never)
                #expect(settings?.attempts?.timeout == .seconds(5))
            }
            let count = try context.count(OperationSettings.all)
            #expect(count == 2)
        }
        try await stack.close()
    }

    @Test("The backoff of a pipeline chooses the pause by the error, and leaves the others to the policy")
    func backoff() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let clock = VirtualClock()
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(
                retry: RetryPolicy(maxAttempts: 3, base: .zero, cap: .zero),
                backoff: { attempt, error in
                    (error as? Busy)?.seconds.map { Duration.seconds($0 * attempt) }
                },
                clock: clock
            )
        ) { (attempt: Attempt<Named>) in
            throw Busy(seconds: attempt.payload.name == "A" ? 100 : nil)
        }
        let log = EventRecorder(pipeline)
        let ids = try await stack.background { context in
            let operations = ["A", "B"].map { context.enqueue(Named(name: $0), in: .work) }
            try context.commit()
            return operations.map(\.id)
        }
        let start = clock.now
        for id in ids { try await log.waitForEnd(of: id) }
        func retries(of id: ObjectID<QueuedOperation>) -> [TimeInterval] {
            log.events.compactMap { event in
                if case .retrying(id, let date, _) = event { date.timeIntervalSince(start) } else { nil }
            }
        }
        #expect(retries(of: ids[0]) == [100])
        // Without an answer, the policy's pause of zero becomes the least pause.
        #expect(retries(of: ids[1]).allSatisfy { $0 < 1 })
        clock.advance(by: .seconds(100))
        try await log.waitForEnd(of: ids[0], count: 2)
        #expect(retries(of: ids[0]) == [100, 300])
        clock.advance(by: .seconds(200))
        try await log.waitForEnd(of: ids[0], count: 3)
        // The number of attempts follows the policy.
        let first = ids[0]
        #expect(try await stack.background { try $0.find(first)?.status } == .failed)
        await pipeline.close()
        try await stack.close()
    }
}
