import Strata
import StrataPipeline
import StrataTesting
import Synchronization
import Testing

@Suite("Closing pipelines and their stack", .timeLimit(.minutes(1))) struct PipelineClosingTests {
    @Test("`close(grace:)` lets handlers finish within the grace period and then returns their attempts")
    func closing() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A", "B"])
        try await harness.play([.resume("A", "B")])
        async let closing: Void = harness.pipeline.close(grace: .seconds(20))
        await harness.clock.waitForAlarm(after: .seconds(20))
        try await harness.end("A")
        harness.clock.advance(by: .seconds(21))
        await closing
        #expect(try await harness.result("A") == .completed)
        let row = try #require(try await harness.row("B"))
        #expect(row.status == .pending && row.attempts == 0 && row.crashes == 0)
        try await harness.close()
    }

    @Test("`resume()` does not undo a close that waits for handlers")
    func resumedClose() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A", "B", "C"])
        try harness.pipeline.setMaxConcurrent(1)
        try await harness.play([.resume("A")])
        let closing = Task { await harness.pipeline.close(grace: .seconds(20)) }
        await harness.clock.waitForAlarm(after: .seconds(20))
        harness.pipeline.resume()
        try await harness.end("A")
        await closing.value
        #expect(harness.takeStarts() == [])
        #expect(try await harness.row("B")?.status == .pending)
        try await harness.close()
    }

    @Test("A close stops waiting when its task is cancelled")
    func cancelledClose() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A"])
        try await harness.play([.resume("A")])
        let closing = Task { await harness.pipeline.close(grace: .seconds(20)) }
        await harness.clock.waitForAlarm(after: .seconds(20))
        closing.cancel()
        await closing.value
        #expect(try await harness.row("A")?.status == .pending)
        try await harness.close()
    }

    @Test("A handler may close the pipeline that runs it")
    func closedByHandler() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let place = Mutex<Pipeline?>(nil)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(isSuspended: true)
        ) { (_: Attempt<Named>) in
            await place.withLock { $0 }?.close(grace: .seconds(60))
            return .done
        }
        place.withLock { $0 = pipeline }
        let events = pipeline.events
        try await stack.background { context in
            context.enqueue(Named(name: "A"), in: .work)
            try context.commit()
        }
        pipeline.resume()
        for await _ in events {}
        #expect(try await stack.background { try $0.count(FinishedOperation.all) } == 1)
        place.withLock { $0 = nil }
        try await stack.close()
    }

    @Test("The events of a pipeline end with its stack, and later streams are empty")
    func eventsOfClosedStack() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let pipeline = try await Pipeline.open(stack, named: .work) { (_: Attempt<Named>) in .done }
        let events = pipeline.events
        try await stack.close()
        for await _ in events {}
        for await event in pipeline.events { Issue.record("\(event)") }
    }

    @Test("A pipeline that opens while another one closes is registered with the stack")
    func openedWhileClosing() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        for _ in 0..<200 {
            let first = try await Pipeline.open(stack, named: "first") { (_: Attempt<Named>) in .done }
            async let closing: Void = first.close()
            let second = try await Pipeline.open(stack, named: "second") { (_: Attempt<Named>) in .done }
            await closing
            let error = await #expect(throws: PipelineError.self) {
                _ = try await Pipeline.open(stack, named: "second") { (_: Attempt<Named>) in .done }
            }
            #expect(error?.code == .alreadyOpen)
            await second.close()
        }
        #expect(try await stack.background { try $0.count(PipelineWorker.all) } == 0)
        try await stack.close()
    }

    @Test("A handler cannot close its stack, and a closed stack refuses to open a pipeline")
    func stackClosedByHandler() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let (codes, note) = AsyncStream.makeStream(of: StrataError.Code?.self)
        let pipeline = try await Pipeline.open(stack, named: .work) { (_: Attempt<Named>) in
            do {
                try await stack.close()
                note.yield(nil)
            } catch {
                note.yield((error as? StrataError)?.code)
            }
            return .done
        }
        let log = EventRecorder(pipeline)
        let id = try await stack.background { context in
            let operation = context.enqueue(Named(name: "A"), in: .work)
            try context.commit()
            return operation.id
        }
        for await code in codes {
            #expect(code == .insideBlock)
            break
        }
        try await log.waitForEnd(of: id)
        #expect(log.finished == [id])
        try await stack.close()
        let error = await #expect(throws: StrataError.self) {
            _ = try await Pipeline.open(stack, named: .work) { (_: Attempt<Named>) in .done }
        }
        #expect(error?.code == .closed)
    }
}
