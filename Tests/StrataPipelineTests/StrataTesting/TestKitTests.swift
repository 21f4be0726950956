import Strata
import StrataPipeline
import StrataTesting
import Synchronization
import Testing

@Suite("Test kit for handlers", .timeLimit(.minutes(1))) struct TestKitTests {
    struct Stop: Error {}

    @Test("`enqueued()` returns queued payloads by type and pipeline, saved or not")
    func enqueued() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A", "B"])
        try await harness.stack.background { context in
            context.enqueue(Named(name: "C"), in: "other")
            let (all, work) = (try context.enqueued(Named.self), try context.enqueued(Named.self, in: .work))
            #expect(all == ["A", "B", "C"].map { Named(name: $0) })
            #expect(work == ["A", "B"].map { Named(name: $0) })
            context.rollback()
            let left = try context.enqueued(Named.self)
            #expect(left.count == 2)
        }
        try await harness.close()
    }

    @Test(
        "A decision before an operation runs is reported as its end, whatever the operation waits for",
        arguments: [OperationRequest.skip, .complete],
        ["pending", "held", "failed"]
    )
    func decided(_ request: OperationRequest, _ state: String) async throws {
        let harness = try await PipelineHarness.open(retry: .never)
        try await harness.commit(["A"])
        if state != "pending" {
            try await harness.play([.resume("A")])
            try await harness.end("A", .success(state == "held" ? .wait(.manual) : .fail("broken")))
        }
        let count = harness.log.events.count
        try await harness.edit("A") { if request == .skip { $0.skip() } else { $0.complete() } }
        try await harness.log.wait { $0.count > count }
        guard case .finished(harness.id("A"), let result)? = harness.log.events.last else {
            Issue.record("\(harness.log.events)")
            return
        }
        #expect(result == (request == .skip ? .skipped : .completed) && harness.log.events.count == count + 1)
        try await harness.close()
    }

    @Test("A wait ends with an error when its task is cancelled or the pipeline is closed")
    func unfulfilled() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A"])
        let id = harness.id("A")
        let cancelled = Task { try await harness.log.waitForEnd(of: id) }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        let waiting = Task { try await harness.log.waitForEnd(of: id) }
        await Task.yield()
        await harness.pipeline.close()
        let error = await #expect(throws: PipelineError.self) { try await waiting.value }
        #expect(error?.code == .closed)
        // Earlier events are still known.
        try await harness.log.wait { $0.isEmpty }
        let late = EventRecorder(harness.pipeline)
        await #expect(throws: PipelineError.self) { try await late.waitForEnd(of: id) }
        try await harness.close()
    }

    @Test("A handler that waits for its own pipeline to drain gets an error")
    func drainedInside() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let own = Mutex<Pipeline?>(nil)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(clock: VirtualClock())
        ) { (_: Attempt<Named>) in
            try await own.withLock { $0 }?.waitUntilIdle()
            return .done
        }
        own.withLock { $0 = pipeline }
        guard case .retrying(_, _, let message) = try await pipeline.perform(Named(name: "A"), in: .work) else {
            Issue.record("it was to fail")
            return
        }
        #expect(message.hasPrefix("invalidArgument"))
        try await stack.close()
    }

    @Test("Waiting for another pipeline's operation or for a closed pipeline throws an error")
    func inVain() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(clock: VirtualClock())
        ) { (_: Attempt<Named>) in
            .done
        }
        let other = await #expect(throws: PipelineError.self) {
            try await pipeline.perform(Named(name: "A"), in: "other")
        }
        #expect(other?.code == .invalidArgument)
        #expect(try await stack.background { try $0.count(QueuedOperation.all) } == 0)
        await pipeline.close()
        let waiting = await #expect(throws: PipelineError.self) { try await pipeline.waitUntilIdle() }
        let inline = await #expect(throws: PipelineError.self) { try await pipeline.inline {} }
        #expect(waiting?.code == .closed && inline?.code == .closed)
        try await stack.close()
    }

    @Test(
        "`waitUntilIdle()` waits for operations queued on the way but not for held ones; `perform` returns the outcome"
    )
    func waitUntilIdle() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let clock = VirtualClock()
        let faults = FaultInjector()
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(clock: clock)
        ) { (attempt: Attempt<Named>) in
            try faults.next()
            guard attempt.payload.name.count < 5 else { return .done }
            let next = Named(name: attempt.payload.name + "x")
            return .done { $0.enqueue(next, in: .work) }
        }
        try await stack.background { context in
            context.enqueue(Named(name: "x"), in: .work)
            context.enqueue(Named(name: "late"), in: .work, notBefore: clock.now.addingTimeInterval(100))
            try context.commit()
        }
        try await pipeline.waitUntilIdle()
        #expect(try await stack.background { try $0.count(FinishedOperation.all) } == 5)
        #expect(try await stack.background { try $0.enqueued(Named.self) } == [Named(name: "late")])
        faults.fail(with: Stop())
        guard case .retrying(_, _, let message) = try await pipeline.perform(Named(name: "12345"), in: .work) else {
            Issue.record("it was not to be tried again")
            return
        }
        #expect(message == "Stop()" && faults.count == 0)
        clock.advance(by: .seconds(200))
        try await pipeline.waitUntilIdle()
        #expect(try await stack.background { try $0.count(QueuedOperation.all) } == 0)
        try await stack.close()
    }
}
