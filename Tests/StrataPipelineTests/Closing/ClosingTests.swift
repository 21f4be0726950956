import Strata
import StrataPipeline
import StrataTesting
import Synchronization
import Testing

@Suite("Closing pipelines and their stack", .timeLimit(.minutes(1))) struct ClosingTests {
    @Test("`close(grace:)` lets handlers finish within the grace period and then returns their attempts")
    func closing() async throws {
        let stage = try await Stage.open()
        try await stage.commit(["A", "B"])
        try await stage.play([.resume("A", "B")])
        async let closing: Void = stage.pipeline.close(grace: .seconds(20))
        await stage.clock.waitForAlarm(after: .seconds(20))
        try await stage.end("A")
        stage.clock.advance(by: .seconds(21))
        await closing
        #expect(try await stage.result("A") == .completed)
        let row = try #require(try await stage.row("B"))
        #expect(row.status == .pending && row.attempts == 0 && row.crashes == 0)
        try await stage.close()
    }

    @Test("`resume()` does not undo a close that waits for handlers")
    func resumedClose() async throws {
        let stage = try await Stage.open()
        try await stage.commit(["A", "B", "C"])
        try stage.pipeline.setMaxConcurrent(1)
        try await stage.play([.resume("A")])
        let closing = Task { await stage.pipeline.close(grace: .seconds(20)) }
        await stage.clock.waitForAlarm(after: .seconds(20))
        stage.pipeline.resume()
        try await stage.end("A")
        await closing.value
        #expect(stage.takeStarts() == [])
        #expect(try await stage.row("B")?.status == .pending)
        try await stage.close()
    }

    @Test("A close stops waiting when its task is cancelled")
    func cancelledClose() async throws {
        let stage = try await Stage.open()
        try await stage.commit(["A"])
        try await stage.play([.resume("A")])
        let closing = Task { await stage.pipeline.close(grace: .seconds(20)) }
        await stage.clock.waitForAlarm(after: .seconds(20))
        closing.cancel()
        await closing.value
        #expect(try await stage.row("A")?.status == .pending)
        try await stage.close()
    }

    @Test("A handler may close the pipeline that runs it")
    func closedByHandler() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let place = Mutex<Pipeline?>(nil)
        let pipeline = try await Pipeline.open(stack, named: .work, isSuspended: true) { (_: Attempt<Named>) in
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
        let log = EventLog(pipeline)
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
