import Foundation
import StoreModels
import Strata
import StrataTesting
import Testing

@testable import StrataPipeline

@Suite("Operations that wait for a time without further calls", .timeLimit(.minutes(2))) struct DebounceTests {
    /// Queues an operation five seconds after the last call, and twelve seconds after the first call at the latest.
    private static func enqueue(_ name: String, _ harness: PipelineHarness) async throws {
        try await harness.stack.background { context in
            try Self.enqueue(name, context)
            try context.commit()
        }
        await harness.pipeline.waitUntilProcessed()
    }

    private static func enqueue(_ name: String, _ context: ObjectContext) throws {
        try context.enqueue(Named(name: name), in: .work, key: "k", debounce: .seconds(5), maxWait: .seconds(12))
    }

    private static func pass(_ seconds: Int, _ harness: PipelineHarness) async {
        harness.clock.advance(by: .seconds(seconds))
        await harness.pipeline.waitUntilProcessed()
    }

    /// The names of the queued operations, and the number of rows that wait for their time.
    private static func state(_ harness: PipelineHarness) async throws -> [String] {
        try await harness.stack.background { context in
            let waiting = try context.count(DebouncedOperation.all)
            return try context.enqueued(Named.self).map(\.name) + [String](repeating: "…", count: waiting)
        }
    }

    @Test("Each call replaces the payload and moves the due time")
    func quiet() async throws {
        let harness = try await PipelineHarness.open()
        let start = harness.clock.now
        try await Self.enqueue("A", harness)
        await Self.pass(4, harness)
        try await Self.enqueue("B", harness)
        await Self.pass(4, harness)
        #expect(try await Self.state(harness) == ["…"])
        await Self.pass(1, harness)
        #expect(try await Self.state(harness) == ["B"])
        let operation = try await harness.stack.background { context in
            try #require(try context.first(QueuedOperation.all)).snapshot
        }
        #expect(operation.key == "k" && operation.commit > 0 && operation.status == .pending)
        #expect(operation.enqueuedAt == start.addingTimeInterval(9))
        // The engine does not wake up for the row again.
        #expect(harness.clock.alarms.allSatisfy { $0 > harness.clock.now })
        harness.pipeline.resume()
        try await harness.end("B", id: harness.stack.id(operation.id.rawValue, of: QueuedOperation.self))
        #expect(harness.log.started.count == 1)
        try await harness.close()
    }

    @Test("Calls that do not stop move the due time up to the longest wait after the first call")
    func longestWait() async throws {
        let harness = try await PipelineHarness.open()
        for name in ["A", "B", "C"] {
            try await Self.enqueue(name, harness)
            await Self.pass(4, harness)
            #expect(try await Self.state(harness) == (name == "C" ? ["C"] : ["…"]))
        }
        // The next call is a first one again.
        try await Self.enqueue("D", harness)
        await Self.pass(4, harness)
        #expect(try await Self.state(harness) == ["C", "…"])
        await Self.pass(1, harness)
        #expect(try await Self.state(harness) == ["D"])
        try await harness.close()
    }

    @Test("A running operation is left alone, and a new one is queued when it has ended")
    func running() async throws {
        let harness = try await PipelineHarness.open()
        harness.pipeline.resume()
        try await Self.enqueue("A", harness)
        await Self.pass(5, harness)
        let first = try #require(harness.log.started.first)
        try await Self.enqueue("B", harness)
        await Self.pass(4, harness)
        try await Self.enqueue("C", harness)
        await Self.pass(60, harness)
        #expect(harness.log.started == [first])
        #expect(try await Self.state(harness) == ["A", "…"])
        #expect(harness.clock.alarms.allSatisfy { $0 > harness.clock.now })
        try await harness.end("A", id: first)
        await harness.pipeline.waitUntilProcessed()
        #expect(try await Self.state(harness) == ["C"])
        let second = try #require(harness.log.started.last)
        #expect(second != first)
        try await harness.end("C", id: second)
        let attempts = try await harness.stack.background { try $0.fetch(FinishedOperation.all).map(\.attempts) }
        #expect(attempts == [1, 1])
        try await harness.close()
    }

    @Test("An operation that waits for its start or its next attempt, or has failed, gets the new payload")
    func queued() async throws {
        let harness = try await PipelineHarness.open()
        try await Self.enqueue("A", harness)
        await Self.pass(5, harness)
        try await Self.enqueue("B", harness)
        await Self.pass(5, harness)
        #expect(try await Self.state(harness) == ["B"])
        harness.pipeline.resume()
        await harness.pipeline.waitUntilProcessed()
        let id = try #require(harness.log.started.first)
        try await harness.end("B", id: id, .success(.fail("no")))
        try await Self.enqueue("C", harness)
        await Self.pass(5, harness)
        #expect(harness.log.started == [id, id])
        try await harness.end("C", id: id, .success(.retry(after: .seconds(600))))
        try await Self.enqueue("D", harness)
        await Self.pass(5, harness)
        #expect(harness.log.started == [id, id, id])
        try await harness.end("D", id: id)
        let finished = try await harness.stack.background { try $0.fetch(FinishedOperation.all).map(\.attempts) }
        #expect(finished == [1])
        try await harness.close()
    }

    @Test("The new payload does not expire with the payload that it replaces")
    func expiry() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.stack.background { context in
            let options = OperationOptions(expires: .after(.seconds(8)), timeout: .seconds(100))
            context.enqueue(Named(name: "A"), in: .work, key: "k", options: options)
            try Self.enqueue("B", context)
            try context.commit()
        }
        await Self.pass(5, harness)
        await Self.pass(5, harness)
        #expect(try await Self.state(harness) == ["B"])
        let settings = try await harness.stack.background { context in
            try context.fetch(OperationSettings.all).map { [$0.expiresAt == nil, $0.attempts != nil] }
        }
        #expect(settings == [[true, true]])
        harness.pipeline.resume()
        await harness.pipeline.waitUntilProcessed()
        let id = try #require(harness.log.started.first)
        try await harness.end("B", id: id)
        try await harness.close()
    }

    @Test("The default pipeline adopts an operation of an undeclared pipeline before it is due")
    func adopted() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.stack.background { context in
            try context.enqueue(
                Named(name: "A"),
                in: "gone",
                key: "k",
                debounce: .seconds(5),
                maxWait: .seconds(12)
            )
            try context.commit()
        }
        #expect(try await harness.pipeline.adoptOrphanedOperations() == ["gone"])
        await Self.pass(5, harness)
        let pipelines = try await harness.stack.background { try $0.fetch(QueuedOperation.all).map(\.pipeline) }
        #expect(pipelines == [.work])
        try await harness.close()
    }

    @Test("An operation about an object that gets the new payload is no longer about the object")
    func item() async throws {
        let harness = try await PipelineHarness.open(models: [Letter.self, Folder.self])
        try await harness.stack.background { context in
            let letter = context.insert(Letter(text: "A"))
            context.enqueue(Named(name: "A", letter: letter.id), in: .work, key: "k")
            try Self.enqueue("B", context)
            try context.commit()
        }
        await Self.pass(5, harness)
        #expect(try await Self.state(harness) == ["B"])
        try await harness.stack.background { context in
            context.delete(try #require(try context.first(Letter.all)))
            try context.commit()
        }
        await harness.pipeline.waitUntilProcessed()
        #expect(try await Self.state(harness) == ["B"])
        try await harness.close()
    }

    @Test("Calls of one context count from the first one, and the last one determines the payload")
    func oneCommit() async throws {
        let harness = try await PipelineHarness.open()
        let (start, clock) = (harness.clock.now, harness.clock)
        let row = try await harness.stack.background { context in
            for name in ["A", "B", "C", "D", "E"] {
                try Self.enqueue(name, context)
                clock.advance(by: .seconds(2))
            }
            try context.commit()
            return try #require(try context.first(DebouncedOperation.all)).snapshot
        }
        #expect(row.firstAt == start && row.dueAt == start.addingTimeInterval(12))
        await Self.pass(2, harness)
        #expect(try await Self.state(harness) == ["E"])
        try await harness.close()
    }

    @Test("A child context that is committed after the operation was queued does not conflict")
    func nested() async throws {
        let harness = try await PipelineHarness.open()
        let parent = try harness.stack.push(.private, named: "parent")
        let child = try harness.stack.push(.private, named: "child")
        try await harness.stack.on(.root) { context in
            try Self.enqueue("A", context)
            try context.commit()
        }
        try await harness.stack.on(child) { try Self.enqueue("B", $0) }
        try await child.save()
        await Self.pass(5, harness)
        #expect(try await harness.stack.on(.root) { try $0.enqueued(Named.self).map(\.name) } == ["A"])
        try await parent.commit()
        await harness.pipeline.waitUntilProcessed()
        // The time of the call counts, so the row is due at once.
        #expect(try await harness.stack.on(.root) { try $0.enqueued(Named.self).map(\.name) } == ["B"])
        try await harness.close()
    }

    @Test("A call that is committed late gives its payload, and does not shorten the wait after a later call")
    func lateCommit() async throws {
        let harness = try await PipelineHarness.open()
        let start = harness.clock.now
        let child = try harness.stack.push(.private, named: "child")
        try await harness.stack.on(child) { try Self.enqueue("A", $0) }
        await Self.pass(5, harness)
        try await harness.stack.on(.root) { context in
            try Self.enqueue("B", context)
            try context.commit()
        }
        try await child.commit()
        await harness.pipeline.waitUntilProcessed()
        let row = try await harness.stack.on(.root) { context in
            try #require(try context.first(DebouncedOperation.all)).snapshot
        }
        #expect(row.firstAt == start && row.lastAt == start.addingTimeInterval(5))
        #expect(row.dueAt == start.addingTimeInterval(10))
        await Self.pass(5, harness)
        #expect(try await harness.stack.on(.root) { try $0.enqueued(Named.self).map(\.name) } == ["A"])
        try await harness.close()
    }

    @Test("Two stacks count each other's calls, and queue one operation")
    func twoStacks() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let harness = try await PipelineHarness.open(location)
        let other = try await ContextStack.open(location, models: Pipeline.models, stack: .rootOnly)
        let pipeline = try await Pipeline.open(
            other,
            named: "elsewhere",
            options: PipelineOptions(clock: harness.clock)
        ) { (_: Attempt<Named>) in .done }
        try await Self.enqueue("A", harness)
        await Self.pass(4, harness)
        try await other.background { context in
            try Self.enqueue("B", context)
            try context.commit()
        }
        await pipeline.waitUntilProcessed()
        harness.clock.advance(by: .seconds(4))
        await harness.pipeline.waitUntilProcessed()
        await pipeline.waitUntilProcessed()
        #expect(try await Self.state(harness) == ["…"])
        harness.clock.advance(by: .seconds(1))
        // Each engine learns of the due time, and the first one queues the operation.
        await pipeline.waitUntilProcessed()
        await harness.pipeline.waitUntilProcessed()
        #expect(try await Self.state(harness) == ["B"])
        await pipeline.close()
        try await other.close()
        try await harness.close()
    }

    @Test("Many operations are queued in portions")
    func portions() async throws {
        let harness = try await PipelineHarness.open()
        let count = 2 * OperationRepository.debouncePortion + 50
        try await harness.stack.background { context in
            for number in 0..<count {
                let name = "\(number)"
                try context.enqueue(
                    Named(name: name),
                    in: .work,
                    key: name,
                    debounce: .seconds(5),
                    maxWait: .seconds(5)
                )
            }
            try context.commit()
        }
        await harness.pipeline.waitUntilProcessed()
        let before = try harness.stack.commitCount()
        harness.clock.advance(by: .seconds(5))
        while try await harness.stack.background({ try $0.count(DebouncedOperation.all) }) > 0 {
            await harness.pipeline.waitUntilProcessed()
        }
        #expect(try harness.stack.commitCount() - before >= 3)
        #expect(try await Set(Self.state(harness)).count == count)
        try await harness.close()
    }

    @Test("An operation whose row is deleted is not queued")
    func cancelled() async throws {
        let harness = try await PipelineHarness.open()
        try await Self.enqueue("A", harness)
        try await harness.stack.background { context in
            context.delete(try #require(try context.first(DebouncedOperation.where { $0.key == "k" })))
            try context.commit()
        }
        await Self.pass(60, harness)
        #expect(try await Self.state(harness) == [])
        try await harness.close()
    }

    @Test("If the clock is set back, an operation waits as long as intended")
    func clockSetBack() async throws {
        let harness = try await PipelineHarness.open()
        let start = harness.clock.now
        harness.clock.set(to: start.addingTimeInterval(86_400))
        try await Self.enqueue("A", harness)
        harness.clock.set(to: start)
        // The next heartbeat notices the change.
        await Self.pass(11, harness)
        #expect(try await Self.state(harness) == ["…"])
        await Self.pass(5, harness)
        #expect(try await Self.state(harness) == ["A"])
        try await harness.close()
    }

    @Test("An operation that is due while its pipeline is closed is queued when the renamed pipeline opens")
    func renamed() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        try await stack.background { context in
            try context.enqueue(
                Named(name: "A"),
                in: "former",
                key: "k",
                debounce: .nanoseconds(1),
                maxWait: .nanoseconds(1)
            )
            try context.commit()
        }
        let pipeline = try await Pipeline.open(stack, named: .work, previousNames: ["former"]) {
            (_: Attempt<Named>) in .done
        }
        await pipeline.waitUntilProcessed()
        try await pipeline.waitUntilIdle()
        let names = try await stack.background { try $0.fetch(FinishedOperation.all).map(\.pipeline) }
        #expect(names == [.work])
        await pipeline.close()
        try await stack.close()
    }

    @Test("Empty names, durations out of their bounds, and objects are refused")
    func refused() async throws {
        let harness = try await PipelineHarness.open(models: [Letter.self, Folder.self])
        let calls: [(pipeline: PipelineName, key: String, delay: Duration, maxWait: Duration)] = [
            (.work, "", .seconds(1), .seconds(1)), ("", "k", .seconds(1), .seconds(1)),
            (.work, "k", .zero, .seconds(1)), (.work, "k", .seconds(-1), .seconds(1)),
            (.work, "k", .seconds(2), .seconds(1)), (.work, "k", .seconds(1), .seconds(-1)),
        ]
        try await harness.stack.background { context in
            for (pipeline, key, delay, maxWait) in calls {
                let error = #expect(throws: PipelineError.self) {
                    try context.enqueue(Named(name: "A"), in: pipeline, key: key, debounce: delay, maxWait: maxWait)
                }
                #expect(error?.code == .invalidArgument)
            }
            let letter = Named(name: "A", letter: context.insert(Letter(text: "A")).id)
            let error = #expect(throws: PipelineError.self) {
                try context.enqueue(letter, in: .work, key: "k", debounce: .seconds(1), maxWait: .seconds(1))
            }
            #expect(error?.code == .invalidArgument)
            let count = try context.count(DebouncedOperation.all)
            #expect(count == 0)
        }
        try await harness.close()
    }
}
