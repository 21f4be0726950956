import Foundation
import StoreModels
import Strata
import StrataTesting
import Testing

@testable import StrataPipeline

private struct Chore: OperationPayload {
    var number: Int
}

@Suite("Operations suspected of crashing their process", .timeLimit(.minutes(1))) struct CrashSuspectTests {
    @Test("Of eight operations that run when one of them kills its process, only that one fails")
    func poison() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("s.sqlite")
        let stack = try await ContextStack.open(.sqlite(url), models: Pipeline.models, stack: .rootOnly)
        try await stack.background { context in
            for number in 0..<8 { context.enqueue(Chore(number: number), in: "chores") }
            try context.commit()
        }
        var lines = try await HelperProcess("poison", url.path, "8").end()
        #expect(lines.sorted() == (0..<8).map { "started \($0)" })
        // The operation to blame ends the process each time.
        var kills = 1
        while kills < 20 {
            lines = try await HelperProcess("poison", url.path, "0").end()
            if lines.last == "drained" { break }
            #expect(lines.last == "started 3")
            kills += 1
        }
        #expect((6..<20).contains(kills))
        let (failed, done) = try await stack.background { context in
            (try context.rows(QueuedOperation.all), try context.rows(FinishedOperation.all))
        }
        #expect(failed.map(\.status) == [.failed] && failed.map(\.crashes) == [5] && failed.map(\.attempts) == [0])
        #expect(try failed.map { try JSONDecoder().decode(Chore.self, from: $0.payload).number } == [3])
        #expect(done.map(\.result) == Array(repeating: .completed, count: 7) && done.allSatisfy { $0.attempts == 1 })
        try await stack.close()
    }

    /// A harness whose process ended while operations ran.
    private static func crashed(_ folder: ScratchFolder, _ names: String...) async throws -> PipelineHarness {
        let first = try await PipelineHarness.open(.sqlite(folder.file("s.sqlite")))
        try await first.commit(names.map { Entry(stringLiteral: $0) })
        first.pipeline.resume()
        await first.pipeline.waitUntilProcessed()
        #expect(first.takeStarts() == names)
        return try await Self.dead(first, folder)
    }

    /// Ends the process of a harness, and opens the remaining store in another harness.
    private static func dead(_ former: PipelineHarness, _ folder: ScratchFolder, maxCrashes: Int = 5) async throws
        -> PipelineHarness
    {
        // The worker sends no more heartbeats.
        former.pipeline.handle.engine.abandon()
        let harness = try await PipelineHarness.open(
            .sqlite(folder.file("s.sqlite")),
            maxCrashes: maxCrashes,
            clock: VirtualClock(former.clock.now)
        )
        harness.learn(from: former)
        try await former.close()
        return harness
    }

    @Test("Suspects count no crash and start alone; new operations wait for each of them for at most 30 seconds")
    func several() async throws {
        let folder = try ScratchFolder()
        let harness = try await Self.crashed(folder, "A", "B")
        for name in ["A", "B"] {
            let row = try #require(try await harness.row(name))
            #expect(row.crashes == 0 && row.suspicion == 1 && row.attempts == 0 && row.status == .pending)
        }
        try await harness.play([
            .commit("C:9"), .resume("A"), .done("A", "B"), .commit("D"), .pass(.seconds(29)),
            .pass(.seconds(1), "C", "D"),
            .done("C"), .done("D"), .done("B"),
        ])
        try await harness.close()
    }

    @Test("An attempt that ends without a crash clears the suspicion", arguments: [true, false])
    func ended(_ isThrown: Bool) async throws {
        let folder = try ScratchFolder()
        let harness = try await Self.crashed(folder, "A", "B")
        try await harness.play([.resume("A")])
        try await harness.end("A", isThrown ? .failure(CocoaError(.fileNoSuchFile)) : .success(.wait(.manual)))
        #expect(harness.takeStarts() == ["B"])
        #expect(try await harness.row("A")?.suspicion == nil)
        try await harness.end("B")
        try await harness.close()
    }

    @Test("A suspect waits at most 30 seconds for running operations to end, and nothing else starts meanwhile")
    func drains() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["C"])
        try await harness.play([.resume("C"), .suspend(), .commit("A", "B"), .commit("D")])
        #expect(try harness.crashElsewhere(claiming: 2) == ["A", "B"])
        try await harness.play([
            .resume(), .pass(.seconds(29)), .pass(.seconds(1), "A"), .done("C"), .done("A", "B"), .done("B", "D"),
            .done("D"),
        ])
        try await harness.close()
    }

    @Test("A second crash doubles the waiting time, and the suspect that started last is tried first")
    func doubled() async throws {
        let folder = try ScratchFolder()
        let first = try await Self.crashed(folder, "A", "B")
        try await first.play([.resume("A"), .pass(.seconds(30), "B")])
        let second = try await Self.dead(first, folder)
        #expect(try await [second.row("A")?.suspicion, second.row("B")?.suspicion] == [2, 2])
        try await second.play([
            .resume("B"), .pass(.seconds(59)), .pass(.seconds(1), "A"), .done("A"), .commit("C", starts: ["C"]),
            .done("B"), .done("C"),
        ])
        try await second.close()
    }

    @Test("An operation that crashes its process after five minutes ends up alone and fails; no other one fails")
    func late() async throws {
        let folder = try ScratchFolder()
        var harness = try await PipelineHarness.open(.sqlite(folder.file("s.sqlite")), maxCrashes: 2)
        try await harness.commit(["A"])
        var (lives, others) = (0, 0)
        while try await harness.row("A")?.status != .failed, lives < 12 {
            lives += 1
            harness.pipeline.resume()
            await harness.pipeline.waitUntilProcessed()
            var (running, minutes) = ([String](), 0)
            while minutes < 5 {
                // Another operation is always ready, and ends within a minute.
                for name in running where name != "A" { try await harness.end(name) }
                running.removeAll { $0 != "A" }
                others += 1
                try await harness.commit([Entry(stringLiteral: "other \(others)")])
                running += harness.takeStarts()
                if running.contains("A") { minutes += 1 }
                harness.clock.advance(by: .seconds(60))
                await harness.pipeline.waitUntilProcessed()
                running += harness.takeStarts()
            }
            harness = try await Self.dead(harness, folder, maxCrashes: 2)
        }
        #expect(lives < 12)
        #expect(try await harness.row("A")?.crashes == 2)
        for number in 1...others {
            let row = try await harness.row("other \(number)")
            #expect(row.map { $0.status != .failed && $0.crashes == 0 } ?? true, "other \(number)")
        }
        try await harness.close()
    }

    @Test("Stacks of one process and pipelines of one stack wait for each other's suspects")
    func oneProcess() async throws {
        let folder = try ScratchFolder()
        let one = try await Self.crashed(folder, "A", "B")
        let other = try await Pipeline.open(
            one.stack,
            named: "other",
            options: PipelineOptions(clock: one.clock)
        ) { (_: Attempt<Named>) in .done
        }
        let log = EventRecorder(other)
        let two = try await PipelineHarness.open(.sqlite(folder.file("s.sqlite")))
        two.learn(from: one)
        try await one.play([.resume("A")])
        try await two.play([.resume()])
        try await one.stack.background { context in
            context.enqueue(Named(name: "C"), in: "other")
            try context.commit()
        }
        await other.waitUntilProcessed()
        await two.pipeline.waitUntilProcessed()
        #expect(log.started.isEmpty && two.takeStarts().isEmpty)
        two.pipeline.suspend()
        try await one.end("A")
        #expect(one.takeStarts() == ["B"] && log.started.isEmpty)
        try await one.end("B")
        try await log.wait { events in events.contains { if case .finished = $0 { true } else { false } } }
        try await two.close()
        try await one.close()
    }

    @Test("A broker's queue waits for suspects like a pipeline, and then runs")
    func broker() async throws {
        struct Sender: TaskHandler {
            let begin: AsyncStream<String>.Continuation
            func handle(_ attempt: Attempt<Named>) async throws -> Outcome {
                begin.yield(attempt.payload.name)
                return .done
            }
        }
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        try await stack.background { context in
            for name in ["a", "b", "c"] { context.enqueue(Named(name: name), in: "chat.\(name)") }
            try context.commit()
        }
        try stack.transact(author: "test") { transaction in
            let repository = OperationRepository(transaction)
            let worker = try repository.register(WorkerIdentity(process: 1, start: 1, machine: "elsewhere"))
            for name in ["a", "b"] { _ = try repository.claim(1, of: "chat.\(name)", by: worker) }
            try repository.reclaim(from: worker)
        }
        let (begun, begin) = AsyncStream.makeStream(of: String.self)
        let broker = try await TaskBroker.open(
            stack,
            handles: { $0.hasPrefix("chat.") },
            options: PipelineOptions(clock: VirtualClock()),
            handler: Sender(begin: begin)
        )
        try await broker.waitUntilIdle()
        begin.finish()
        var names: [String] = []
        for await name in begun { names.append(name) }
        #expect(names.count == 3 && names.last == "c")
        try await stack.close()
    }

    @Test("Suspects in a suspended pipeline do not hold back other queues")
    func othersGoOn() async throws {
        let folder = try ScratchFolder()
        let harness = try await Self.crashed(folder, "A", "B")
        let other = try await Pipeline.open(
            harness.stack,
            named: "other",
            options: PipelineOptions(clock: harness.clock)
        ) { (_: Attempt<Named>) in
            .done
        }
        let log = EventRecorder(other)
        try await harness.stack.background { context in
            for name in ["C", "D"] { context.enqueue(Named(name: name), in: "other") }
            try context.commit()
        }
        // The suspects cannot run because their pipeline is suspended.
        try await log.wait { events in events.count { if case .finished = $0 { true } else { false } } == 2 }
        #expect(harness.takeStarts() == [])
        try await harness.play([.resume("A"), .done("A", "B"), .done("B")])
        try await harness.close()
    }
}
