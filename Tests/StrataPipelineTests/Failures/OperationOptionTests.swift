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

    @Test("Options out of their bounds are rejected, and nothing is queued")
    func bounds() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let all = [
            OperationOptions(timeout: .zero), OperationOptions(retry: RetryPolicy(maxAttempts: 0)),
            OperationOptions(retry: RetryPolicy(base: .seconds(-1))),
        ]
        for options in all {
            let count = try await stack.background { context in
                let error = #expect(throws: PipelineError.self) {
                    try context.enqueue(Named(name: "A"), in: .work, options: options)
                }
                #expect(error?.code == .invalidArgument)
                try context.commit()
                return try context.count(QueuedOperation.all)
            }
            #expect(count == 0)
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
