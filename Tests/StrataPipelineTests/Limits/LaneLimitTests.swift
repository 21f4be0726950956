import Foundation
import StoreModels
import Strata
import StrataTesting
import Synchronization
import Testing

@testable import StrataPipeline

@Suite("Concurrency limit per lane", .timeLimit(.minutes(1))) struct LaneLimitTests {
    private struct Stop: Error {}

    /// The lane of `a1` is `a`.
    private static func lane(of name: String) -> String { String(name.prefix(1)) }

    private static func commit(_ harness: PipelineHarness, _ entries: Entry...) async throws {
        try await harness.commit(entries, lane: lane)
    }

    private static func waitReasons(_ harness: PipelineHarness, _ name: String) async throws -> [WaitReason] {
        let id = harness.id(name)
        return try await harness.stack.background { context in
            try #require(try context.find(id)).waitReasons()
        }
    }

    @Test("The best waiting operation of a full lane starts when a running one ends, and other lanes continue")
    func order() async throws {
        let harness = try await PipelineHarness.open(maxPerLane: 2)
        try await Self.commit(harness, "a1", "a2", "a3:5", "a4", "b1")
        try await harness.play([.resume("a3", "a1", "b1")])
        #expect(try await Self.waitReasons(harness, "a1") == [])
        #expect(try await Self.waitReasons(harness, "a2") == [.fullLane(limit: 2)])
        #expect(try await harness.row("a2")?.status == .waiting)
        try await Self.commit(harness, "a5:1")
        // The best waiting operation starts, even if it came later or has just become the best.
        try await harness.play([.done("a1", "a5")])
        try await harness.edit("a4") { $0.priority = 9 }
        try await harness.play([.done("b1"), .done("a5", "a4"), .done("a3", "a2"), .done("a2"), .done("a4")])
        try await harness.close()
    }

    @Test("A slot that one operation cannot take goes to the next one")
    func places() async throws {
        let harness = try await PipelineHarness.open(maxPerLane: 1, retry: RetryPolicy(maxAttempts: 2, base: .zero))
        try await Self.commit(harness, "a1", "a2", "a3", "a4", "a5", "a6")
        try await harness.play([.resume("a1")])
        let later = harness.clock.now.addingTimeInterval(60)
        try await harness.edit("a2") { try $0.hold("embargo", until: later) }
        let other = harness.id("a5")
        try await harness.edit("a3") { try $0.addDependencies([other]) }
        try await harness.play([.done("a1", "a4")])
        // An operation that is retried, or has failed, gives its slot to the next one.
        try await harness.end("a4", .failure(Stop()))
        #expect(harness.takeStarts() == ["a5"])
        try await harness.end("a5", .success(.fail("broken")))
        #expect(harness.takeStarts() == ["a6"])
        try await harness.play([
            .pass(.seconds(70)), .skip("a5"), .done("a6", "a2"), .done("a2", "a3"), .done("a3", "a4"),
        ])
        try await harness.play([.done("a4")])
        try await harness.close()
    }

    @Test("A slot that an operation cannot take goes to its lane before worse operations of other lanes start")
    func placeBeforeWorse() async throws {
        let harness = try await PipelineHarness.open(max: 2, maxPerLane: 1)
        try await Self.commit(harness, "a1")
        try await harness.play([.resume("a1")])
        try await Self.commit(harness, "a2:9←b1", "a3:8")
        #expect(try await harness.row("a3")?.awaitsPlace == true)
        // `a2` gets the slot when `a1` ends. Before `a2` starts, its prerequisite is queued.
        try await harness.play([.suspend(), .done("a1"), .limit(1)])
        try await Self.commit(harness, "b1")
        #expect(try await harness.row("a2")?.status == .pending)
        #expect(try await harness.row("a3")?.status == .waiting)
        try await harness.play([.resume("a3")])
        try await harness.close()
    }

    @Test("Skipped and deleted operations keep no slot")
    func edits() async throws {
        let harness = try await PipelineHarness.open(maxPerLane: 1)
        try await Self.commit(harness, "a1", "a2", "a3", "a4")
        try await harness.play([.resume("a1"), .skip("a2")])
        try await harness.edit("a1") { $0.skip() }
        try await harness.log.waitForEnd(of: harness.id("a1"))
        #expect(harness.takeStarts() == ["a3"])
        let id = harness.id("a3")
        // The row of the running operation is deleted, so the engine cancels its handler. When the handler ends, the
        // next operation gets its slot.
        try await harness.stack.background { context in
            context.delete(try #require(try context.find(id)))
            try context.commit()
        }
        try await harness.log.waitForEnd(of: id)
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.takeStarts() == ["a4"])
        try await harness.play([.done("a4")])
        try await harness.close()
    }

    @Test(
        "An operation that is replaced by one of lower priority leaves its slot to the best one of its lane",
        arguments: [false, true]
    )
    func replaced(isDebounced: Bool) async throws {
        let harness = try await PipelineHarness.open(maxPerLane: 1)
        let ids = try await harness.stack.background { context in
            let operations = [("A", 9), ("B", 8), ("C", 5)].map { name, priority in
                context.enqueue(Named(name: name), in: .work, priority: priority, key: name)
            }
            try context.commit()
            return operations.map(\.id)
        }
        harness.pipeline.resume()
        await harness.pipeline.waitUntilProcessed()
        // The slot of A is offered to B, which cannot start.
        harness.pipeline.suspend()
        try await harness.end("A", id: ids[0])
        try await harness.stack.background { context in
            if isDebounced {
                let delay = Duration.seconds(5)
                try context.enqueue(Named(name: "D"), in: .work, key: "B", debounce: delay, maxWait: delay)
            } else {
                try context.enqueue(Named(name: "D"), in: .work, key: "B", onDuplicate: .replace)
            }
            try context.commit()
        }
        harness.clock.advance(by: .seconds(5))
        await harness.pipeline.waitUntilProcessed()
        harness.pipeline.resume()
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.log.started == [ids[0], ids[2]])
        try await harness.end("C", id: ids[2])
        try await harness.end("D", id: ids[1])
        try await harness.close()
    }

    @Test("A full lane with thousands of operations does not hold back other lanes")
    func manyInOneLane() async throws {
        let harness = try await PipelineHarness.open(maxPerLane: 3)
        try await harness.stack.background { context in
            for number in 0..<5000 { context.enqueue(Named(name: "a\(number)"), in: .work, lane: "a", priority: 1) }
            try context.commit()
        }
        try await Self.commit(harness, "b1")
        harness.pipeline.resume()
        await harness.pipeline.waitUntilProcessed()
        let starts = harness.takeStarts()
        #expect(starts.count == 4)
        #expect(starts.contains("b1"))
        try await harness.play([.done("b1")])
        try await harness.close()
    }

    @Test("All processes share the lane limit, and an ended process keeps no slot")
    func processes() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let first = try await PipelineHarness.open(location, maxPerLane: 2)
        try await Self.commit(first, "a1", "a2", "a3", "a4")
        try await first.play([.resume("a1", "a2")])
        let second = try await PipelineHarness.open(location, maxPerLane: 2)
        second.learn(from: first)
        try await second.play([.resume()])
        #expect(try await second.row("a3")?.status == .waiting)
        first.pipeline.suspend()
        try await first.end("a1")
        while second.log.started.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        await second.pipeline.waitUntilProcessed()
        #expect(second.takeStarts() == ["a3"])
        second.pipeline.suspend()
        // Simulates an ended process.
        first.pipeline.handle.engine.abandon()
        let third = try await PipelineHarness.open(location, maxPerLane: 2)
        third.learn(from: first)
        // `a2` may have ended its process, so it does not start right after `a3`.
        try await third.play([.resume(), .pass(.seconds(30), "a2")])
        try await third.play([.done("a2", "a4"), .done("a4")])
        try await second.end("a3")
        for harness in [first, second, third] { try await harness.close() }
    }

    @Test("An operation that waits for a slot gets it even if another process declares another limit or none")
    func disagreement() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let first = try await PipelineHarness.open(location, maxPerLane: 1)
        try await Self.commit(first, "a1", "a2", "a3", "a4")
        let second = try await PipelineHarness.open(location)
        second.learn(from: first)
        try await first.play([.resume("a1"), .done("a1", "a2")])
        #expect(try await first.row("a3")?.status == .waiting)
        // A delete by hand follows the limit that was stored last.
        let id = first.id("a2")
        try await first.stack.background { context in
            context.delete(try #require(try context.find(id)))
            try context.commit()
        }
        try await first.log.waitForEnd(of: id)
        await first.pipeline.waitUntilProcessed()
        #expect(first.takeStarts() == ["a3"])
        #expect(try await first.row("a4")?.status == .waiting)
        first.pipeline.suspend()
        try await second.play([.resume()])
        try await first.end("a3")
        while second.log.started.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        try await second.end("a4")
        for harness in [first, second] { try await harness.close() }
    }

    @Test("An operation that keeps crashing its processes gives up its slot once it counts as failed")
    func quarantine() async throws {
        let harness = try await PipelineHarness.open(maxPerLane: 1)
        try await Self.commit(harness, "a1", "a2")
        for _ in 0..<5 {
            #expect(try harness.crashElsewhere(claiming: 8, OperationRepository.Rules(laneLimit: 1)) == ["a1"])
        }
        #expect(try await harness.row("a1")?.status == .failed)
        try await harness.play([.resume("a2"), .done("a2")])
        try await harness.close()
    }

    @Test("Undoing the delete of an operation that waits for a slot lets it run, even if the slot is free already")
    func undone() async throws {
        for isFree in [false, true] {
            let harness = try await PipelineHarness.open(maxPerLane: 1)
            try await Self.commit(harness, "a1", "a2")
            try await harness.play([.resume("a1")])
            let row = try #require(try await harness.row("a2"))
            #expect(row.awaitsPlace == true)
            let form = try harness.stack.create(.private, named: "form")
            try await form.perform { context in
                context.undoLevels = 10
                context.delete(try #require(try context.find(row.id)))
                try context.commit()
            }
            if isFree { try await harness.play([.done("a1")]) }
            try await form.perform { context in
                try context.undo()
                try context.commit()
            }
            await harness.pipeline.waitUntilProcessed()
            if isFree {
                #expect(harness.takeStarts() == ["a2"])
            } else {
                #expect(try await Self.waitReasons(harness, "a2") == [.fullLane(limit: 1)])
                try await harness.play([.done("a1", "a2")])
            }
            try await harness.play([.done("a2")])
            try await harness.close()
        }
    }

    @Test("A commit reports when an operation waits for a slot and when it no longer does")
    func changes() async throws {
        let harness = try await PipelineHarness.open(maxPerLane: 1)
        try await Self.commit(harness, "a1", "a2")
        let noted = Mutex<[Set<String>]>([])
        let id = harness.id("a2")
        let listening = harness.stack.listen { news in
            for change in news ?? [] where change.contains(QueuedOperation.self) {
                let columns = change.of(QueuedOperation.self).updatedColumns(of: id)
                if columns.contains("awaitsPlace") { noted.withLock { $0.append(columns) } }
            }
        }
        try await harness.play([.resume("a1")])
        #expect(noted.withLock { $0 } == [["status", "awaitsPlace"]])
        try await harness.play([.done("a1", "a2")])
        #expect(noted.withLock { $0.count } == 2)
        try await harness.play([.done("a2")])
        withExtendedLifetime(listening) {}
        try await harness.close()
    }

    @Test("A handler that outlives its operation holds back its own lane only")
    func lingering() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let (goes, go) = AsyncStream.makeStream(of: Never.self)
        let pipeline = try await Pipeline.open(stack, named: .work, options: PipelineOptions(maxConcurrentPerLane: 1)) {
            (attempt: Attempt<Named>) in
            if attempt.payload.name == "first" { await Task { for await _ in goes {} }.value }
            return .done
        }
        let log = EventRecorder(pipeline)
        let first = try await stack.background { context in
            let first = context.enqueue(Named(name: "first"), in: .work, lane: "a", priority: 2)
            for number in 0..<2500 { context.enqueue(Named(name: "\(number)"), in: .work, lane: "a", priority: 1) }
            try context.commit()
            return first.id
        }
        try await log.wait { !$0.isEmpty }
        let other = try await stack.background { context in
            _ = try context.batchDelete(QueuedOperation.where { $0.id == first })
            let other = context.enqueue(Named(name: "other"), in: .work, lane: "b")
            try context.commit()
            return other.id
        }
        try await log.waitForEnd(of: other)
        #expect(log.started.count == 2)
        go.finish()
        try await pipeline.waitUntilIdle()
        #expect(try await stack.background { try $0.count(FinishedOperation.all) } == 2501)
        try await stack.close()
    }

    @Test("A changed limit applies to operations that already wait")
    func change() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let first = try await PipelineHarness.open(location, maxPerLane: 1)
        try await Self.commit(first, "a1", "a2", "a3", "a4")
        try await first.play([.resume("a1")])
        try await first.close()
        let second = try await PipelineHarness.open(location, maxPerLane: 2)
        second.learn(from: first)
        try await second.play([.resume("a1", "a2")])
        try await second.close()
        let third = try await PipelineHarness.open(location)
        third.learn(from: first)
        try await third.play([.resume("a1", "a2", "a3", "a4")])
        try await third.close()
    }

    @Test("A lower limit and a new pipeline name apply to interrupted and waiting operations")
    func renamed() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let first = try await PipelineHarness.open(location, maxPerLane: 2)
        try await Self.commit(first, "a1", "a2", "a3", "a4", "b1")
        try await first.play([.resume("a1", "a2", "b1")])
        try await first.close()
        let stack = try await ContextStack.open(location, models: Pipeline.models, stack: .rootOnly)
        let most = Mutex((now: [String: Int](), most: [String: Int]()))
        let pipeline = try await Pipeline.open(
            stack,
            named: "new",
            previousNames: [.work],
            options: PipelineOptions(maxConcurrentPerLane: 1)
        ) { (attempt: Attempt<Named>) in
            most.withLock { state in
                state.now[attempt.lane, default: 0] += 1
                state.most[attempt.lane] = max(state.most[attempt.lane] ?? 0, state.now[attempt.lane]!)
            }
            await Task.yield()
            most.withLock { $0.now[attempt.lane]! -= 1 }
            return .done
        }
        try await pipeline.waitUntilIdle()
        #expect(most.withLock { $0.most } == ["a": 1, "b": 1])
        #expect(try await stack.background { try $0.count(FinishedOperation.all) } == 5)
        try await stack.close()
    }

    @Test("A broker's lane limit applies to each of its queues")
    func queues() async throws {
        struct Line: OperationPayload {}
        final class Waiter: TaskHandler {
            func handle(_ attempt: Attempt<Line>) async throws -> Outcome {
                try await Task.sleep(for: .seconds(600))
                return .done
            }
        }
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let broker = try await TaskBroker.open(
            stack,
            handles: { $0.hasPrefix("mail.") },
            options: PipelineOptions(ordering: .flat, maxConcurrent: 8, maxConcurrentPerLane: 3),
            handler: Waiter()
        )
        try await stack.background { context in
            for queue in ["mail.a", "mail.b"] as [PipelineName] {
                for _ in 0..<10 { context.enqueue(Line(), in: queue) }
            }
            try context.commit()
        }
        await broker.waitUntilProcessed()
        let active = try await stack.background { context in
            try context.groups(
                QueuedOperation.where({ $0.status == .active }).grouped { $0.pipeline },
                { $0.count }
            )
        }
        #expect(Dictionary(active.map { ($0.0, $0.1) }) { $1 } == ["mail.a": 3, "mail.b": 3])
        try await stack.close()
    }

    @Test("An invalid limit or one that contradicts the ordering is refused")
    func refused() async throws {
        for (ordering, limit) in [(PipelineOrdering.flat, 0), (.fifo, 2), (.lifo, 1), (.commits, 2)] {
            let error = await #expect(throws: PipelineError.self) {
                try await PipelineHarness.open(ordering: ordering, maxPerLane: limit)
            }
            #expect(error?.code == .invalidArgument)
        }
    }
}
