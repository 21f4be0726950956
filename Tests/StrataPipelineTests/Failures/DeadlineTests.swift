import Foundation
import Strata
import StrataTesting
import Testing

@testable import StrataPipeline

@Suite("Deadlines of attempts", .timeLimit(.minutes(1))) struct DeadlineTests {
    @Test("A handler that never returns fails at its deadline, and its later result does not count")
    func deadline() async throws {
        let harness = try await PipelineHarness.open(
            ordering: .fifo,
            retry: .never,
            onFailure: .setAside,
            timeout: .seconds(60)
        )
        try await harness.commit(["A", "B"])
        try await harness.play([.resume("A"), .pass(.seconds(59))])
        harness.clock.advance(by: .seconds(2))
        try await harness.log.waitForEnd(of: harness.id("A"))
        #expect(harness.takeStarts() == ["B"])
        let isTold = harness.log.events.contains { event in
            if case .stuck(harness.id("A"), after: .seconds(60)) = event { true } else { false }
        }
        #expect(isTold)
        let row = try #require(try await harness.row("A"))
        #expect(row.status == .failed && row.failures.list.first?.message.hasPrefix("timedOut") == true)
        try await harness.play([.done("B")])
        #expect(harness.log.finished == [harness.id("B")])
        try await harness.close()
    }

    @Test(
        "A handler that returns at its deadline is too late, with or without changes",
        arguments: [false, true]
    )
    func tooLate(isCommitting: Bool) async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let clock = VirtualClock()
        let (gate, open) = AsyncStream.makeStream(of: Never.self)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(retry: .never, timeout: .seconds(60), clock: clock)
        ) { (attempt: Attempt<Named>) in
            for await _ in gate {}
            return isCommitting ? .done { $0.enqueue(Named(name: "mark"), in: "marks") } : .done
        }
        let log = EventRecorder(pipeline)
        // The deadline first reports the stuck attempt and then ends it. Between the two steps the handler has enough
        // time to return.
        let isOver = DispatchSemaphore(value: 0)
        pipeline.listen { event in
            switch event {
            case .stuck:
                open.finish()
                _ = isOver.wait(timeout: .now() + 0.2)
            case .finished, .lost: isOver.signal()
            default: break
            }
        }
        let id = try await stack.background { context in
            let operation = context.enqueue(Named(name: "A"), in: .work)
            try context.commit()
            return operation.id
        }
        await clock.waitForAlarm(after: .seconds(60))
        Thread.detachNewThread { clock.advance(by: .seconds(60)) }
        try await log.waitForEnd(of: id)
        try await pipeline.waitUntilIdle()
        let names = log.events.map { event in
            switch event {
            case .started: "started"
            case .stuck: "stuck"
            case .failed: "failed"
            default: "\(event)"
            }
        }
        #expect(names == ["started", "stuck", "failed"])
        #expect(try await stack.background { try $0.enqueued(Named.self, in: "marks").isEmpty })
        try await stack.close()
    }
}
