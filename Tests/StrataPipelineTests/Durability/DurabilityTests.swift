import Foundation
import StoreModels
import Strata
import Synchronization
import Testing

@testable import StrataPipeline
@testable import StrataTesting

@Suite("Operations and the commits that hold them", .timeLimit(.minutes(1))) struct DurabilityTests {
    struct Stop: Error {}

    @Test("An operation that is rolled back or discarded leaves no trace")
    func rollback() async throws {
        let harness = try await PipelineHarness.open()
        harness.pipeline.resume()
        await #expect(throws: Stop.self) {
            try await harness.stack.background { context in
                context.enqueue(Named(name: "A"), in: .work)
                throw Stop()
            }
        }
        try await harness.stack.background { context in
            context.enqueue(Named(name: "B"), in: .work)
            context.rollback()
            try context.commit()
            #expect(try context.count(QueuedOperation.all) == 0)
        }
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.log.events.isEmpty)
        try await harness.close()
    }

    @Test("An operation saved to a parent context starts only after the parent commits")
    func saved() async throws {
        let harness = try await PipelineHarness.open()
        harness.pipeline.resume()
        try await harness.stack.background(parent: .named(.root)) { context in
            context.enqueue(Named(name: "A"), in: .work)
            try context.save()
        }
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.log.events.isEmpty)
        try await harness.stack.commit(.root)
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.log.started.count == 1)
        try await harness.close()
    }

    @Test(
        "An operation that is skipped or completed before its first commit is never queued",
        arguments: [true, false]
    )
    func decidedAtOnce(_ isSkipped: Bool) async throws {
        let harness = try await PipelineHarness.open()
        harness.pipeline.resume()
        try await harness.stack.background { context in
            let operation = context.enqueue(Named(name: "A"), in: .work, notBefore: .distantFuture)
            try operation.addDependencies([try harness.stack.newID(for: QueuedOperation.self)])
            if isSkipped { operation.skip() } else { operation.complete() }
            try context.commit()
            #expect(try context.count(QueuedOperation.all) == 0)
            #expect(try context.count(FinishedOperation.all) == 0)
            // Its dependencies and holds are not stored either.
            #expect(try context.count(OperationDependency.all) == 0)
            #expect(try context.count(OperationHold.all) == 0)
        }
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.log.events.isEmpty)
        try await harness.close()
    }

    @Test("A later commit can change an operation, and the change survives a restart")
    func modify() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let first = try await PipelineHarness.open(location)
        try await first.commit(["A"])
        try await first.edit("A") { try $0.setPayload(Named(name: "B")) }
        try await first.commit(["C"])
        try await first.edit("C") { $0.priority = 1 }
        // A change that is not committed has no effect.
        let id = first.id("A")
        try await first.stack.background { try $0.find(id)?.priority = 9 }
        try await first.close()
        let second = try await PipelineHarness.open(location)
        second.learn(from: first)
        try await second.play([.resume("C", "A")])
        #expect(try await second.stack.background { try $0.find(id)?.payload(as: Named.self).name } == "B")
        // The handler receives the changed payload.
        try await second.end("B", id: id)
        try await second.play([.done("C")])
        #expect(try await second.result("A") == .completed)
        try await second.close()
    }

    @Test("A restart keeps the order of commits")
    func commitsAfterReopening() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let first = try await PipelineHarness.open(location, ordering: .commits)
        try await first.commit(["A"])
        try await first.commit(["B"])
        try await first.close()
        let second = try await PipelineHarness.open(location, ordering: .commits)
        second.learn(from: first)
        try await second.play([.resume("A"), .done("A", "B"), .done("B")])
        try await second.close()
    }

    @Test("An operation of an ended process becomes pending under the same id, and its crash is counted")
    func abandoned() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let first = try await PipelineHarness.open(location)
        try await first.commit(["A"])
        try await first.play([.resume("A")])
        // Simulates an ended process: the worker sends no more heartbeats.
        first.pipeline.handle.engine.abandon()
        let second = try await PipelineHarness.open(location)
        second.learn(from: first)
        #expect(try await second.row("A")?.status == .pending)
        #expect(try await second.row("A")?.crashes == 1)
        #expect(try await second.row("A")?.attempts == 0)
        try await second.play([.resume("A"), .done("A")])
        #expect(second.log.started == first.log.started)
        // The first engine learns of the loss from the other stack's commits. It cancels the attempt and ignores the
        // result.
        try await first.log.waitForEnd(of: first.id("A"))
        #expect(first.log.events.contains { if case .lost = $0 { true } else { false } })
        #expect(try await second.result("A") == .completed)
        try await second.close()
        try await first.close()
    }

    @Test("Holds and failed attempts survive a restart")
    func holds() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let first = try await PipelineHarness.open(location)
        let hour = first.clock.now.addingTimeInterval(3600)
        try await first.commit(["A", "B"])
        try await first.edit("A") { try $0.hold("later", until: hour) }
        try await first.play([.resume("B")])
        try await first.end("B", .failure(Stop()))
        try await first.close()
        let second = try await PipelineHarness.open(location)
        second.learn(from: first)
        #expect(try await second.row("B")?.attempts == 1)
        #expect(try await second.row("B")?.failures.list.map(\.message) == ["Stop()"])
        // The first pause is at most one second.
        try await second.play([
            .resume(), .pass(.seconds(2), "B"), .done("B"), .pass(.seconds(3590)), .pass(.seconds(10), "A"),
        ])
        try await second.close()
    }

    @Test("The suspension count of a pipeline is not stored")
    func suspensions() async throws {
        let harness = try await PipelineHarness.open()
        #expect(harness.pipeline.suspensions == 1)
        #expect(harness.pipeline.suspend() == 2)
        await harness.pipeline.close()
        let again = try await Pipeline.open(
            harness.stack,
            named: .work,
            options: PipelineOptions(clock: harness.clock)
        ) { (_: Attempt<Named>) in
            .done
        }
        #expect(again.suspensions == 0)
        #expect(again.resume() == 0)
        await again.close()
        try await harness.close()
    }

    @Test("The end of an operation and its handler's changes are one commit")
    func together() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models + [Note.self], stack: .rootOnly)
        let fails = Atomic(true)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(retry: .never, clock: VirtualClock())
        ) { (attempt: Attempt<Named>) in
            .done { context in
                context.insert(Note(text: attempt.payload.name))
                if fails.load(ordering: .relaxed) { throw Stop() }
            }
        }
        let log = EventRecorder(pipeline)
        let id = try await stack.background { context in
            let operation = context.enqueue(Named(name: "A"), in: .work)
            try context.commit()
            return operation.id
        }
        try await log.waitForEnd(of: id)
        try await stack.background { context in
            #expect(try context.count(Note.all) == 0)
            #expect(try context.find(id)?.status == .failed)
            fails.store(false, ordering: .relaxed)
            try context.find(id)?.retry()
            try context.commit()
        }
        try await log.waitForEnd(of: id, count: 2)
        try await stack.background { context in
            let texts = try context.rows(Note.all).map(\.text)
            let (operation, results) = (try context.find(id), try context.rows(FinishedOperation.all).map(\.result))
            #expect(texts == ["A"] && operation == nil && results == [.completed])
        }
        try await stack.close()
    }

    @Test("Completing an operation wins over skipping it, in either order", arguments: [true, false])
    func decidedTwice(_ skipsFirst: Bool) async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A"])
        try await harness.edit("A") { operation in
            if skipsFirst {
                operation.skip()
                operation.complete()
            } else {
                operation.complete()
                operation.skip()
            }
        }
        #expect(try await harness.result("A") == .completed)
        try await harness.close()
    }

    @Test("A pipeline takes over operations queued under a previous name, in order, after a restart")
    func formerName() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let harness = try await PipelineHarness.open(location, max: 1)
        try await harness.commit(["A"])
        try await harness.commit(["B"])
        try await harness.close()
        let (ids, names) = try await Self.runToEnd(location, previousNames: [.work])
        #expect(ids == [harness.id("A"), harness.id("B")] && names == ["renamed", "renamed"])
        // A second start has nothing left to take over.
        #expect(try await Self.runToEnd(location, previousNames: [.work]).names == ["renamed", "renamed"])
    }

    /// Opens the store, runs all queued operations in a pipeline, and closes the store.
    ///
    /// - Returns: the finished operations in order, and the pipeline names of all stored finished operations.
    private static func runToEnd(
        _ location: StoreLocation,
        previousNames: [PipelineName]
    ) async throws -> (ids: [ObjectID<QueuedOperation>], names: [PipelineName]) {
        let stack = try await ContextStack.open(location, models: Pipeline.models, stack: .rootOnly)
        let pipeline = try await Pipeline.open(
            stack,
            named: "renamed",
            previousNames: previousNames,
            options: PipelineOptions(maxConcurrent: 1, isSuspended: true, clock: VirtualClock())
        ) { (_: Attempt<Named>) in .done }
        let log = EventRecorder(pipeline)
        pipeline.resume()
        try await pipeline.waitUntilIdle()
        let names = try await stack.background { try $0.column(FinishedOperation.all, \.pipeline) }
        try await stack.close()
        return (log.finished, names)
    }

    @Test("The default pipeline adopts operations of an undeclared pipeline, in order, after a restart")
    func undeclared() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let first = try await ContextStack.open(location, models: Pipeline.models, stack: .rootOnly)
        _ = try await Pipeline.open(
            first,
            named: "gone",
            options: PipelineOptions(isSuspended: true)
        ) { (_: Attempt<Named>) in .done }
        let ids = try await first.background { context in
            let ids = ["A", "B"].map { context.enqueue(Named(name: $0), in: "gone").id }
            try context.commit()
            return ids
        }
        try await first.close()
        let harness = try await PipelineHarness.open(location, max: 1)
        #expect(try await harness.pipeline.adoptOrphanedOperations() == ["gone"])
        harness.pipeline.resume()
        try await harness.end("A", id: ids[0])
        try await harness.end("B", id: ids[1])
        #expect(harness.log.finished == ids)
        #expect(try await harness.pipeline.adoptOrphanedOperations() == [])
        try await harness.close()
    }

    @Test("A commit's changes to the queue are reported at once and only once")
    func changes() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["B", "D"])
        let (b, d) = (harness.id("B"), harness.id("D"))
        var changes = harness.stack.changes(of: QueuedOperation.self).makeAsyncIterator()
        let inserted = try await harness.stack.background { context in
            let inserted = ["A", "C"].map { context.enqueue(Named(name: $0), in: .work).id }
            try context.find(b)?.priority = 5
            context.delete(try #require(try context.find(d)))
            try context.commit()
            return inserted
        }
        await harness.pipeline.waitUntilProcessed()
        // Any report about the first commit must come before the second commit.
        try await harness.commit(["E"])
        let told = try #require(try await changes.next())
        #expect(told.inserted == inserted && told.updated == [b] && told.deleted == [d])
        let next = try #require(try await changes.next())
        #expect(next.inserted == [harness.id("E")] && next.updated.isEmpty && next.deleted.isEmpty)
        try await harness.close()
    }

    @Test("When the last operation of a commit is skipped by hand, the next commit starts")
    func emptiedCommit() async throws {
        let harness = try await PipelineHarness.open(ordering: .commits)
        try await harness.commit(["A", "B"])
        try await harness.commit(["C"])
        try await harness.play([.resume("A", "B"), .done("A"), .suspend()])
        try await harness.edit("B") { $0.skip() }
        try await harness.log.waitForEnd(of: harness.id("B"))
        try await harness.play([.resume("C"), .done("C")])
        try await harness.close()
    }

    @Test("A returned operation starts again even if no other operation is ready")
    func givenBack() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A"])
        try await harness.play([.resume("A")])
        try await harness.edit("A") { $0.retry() }
        try await harness.log.waitForEnd(of: harness.id("A"))
        #expect(harness.takeStarts() == ["A"])
        try await harness.play([.done("A")])
        try await harness.close()
    }

    @Test("A changed ordering applies to new operations; queued ones keep their order across restarts")
    func otherOrdering() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let names = ["A", "B", "C"]
        let first = try await PipelineHarness.open(location, ordering: .commits)
        for name in names { try await first.commit([Entry(stringLiteral: name)]) }
        try await first.play([.resume("A")])
        try await first.close()
        for number in 0..<2 {
            let flat = try await PipelineHarness.open(location)
            flat.learn(from: first)
            let new = "new \(number)"
            try await flat.commit([Entry(stringLiteral: new)])
            flat.pipeline.resume()
            await flat.pipeline.waitUntilProcessed()
            #expect(Set(flat.takeStarts()) == ["A", new])
            try await flat.end(new)
            #expect(flat.takeStarts() == [])
            try await flat.close()
        }
        let last = try await PipelineHarness.open(location, ordering: .commits)
        last.learn(from: first)
        try await last.play([.resume("A"), .done("A", "B"), .done("B", "C"), .done("C")])
        try await last.close()
    }

    @Test("A batch delete of all operations empties the queue, and only later operations start")
    func emptied() async throws {
        let harness = try await PipelineHarness.open(max: 1)
        try await harness.commit(["A", "B←A"])
        try await harness.stack.background { _ = try $0.batchDelete(QueuedOperation.all) }
        try await harness.play([.resume(), .commit("C", starts: ["C"]), .done("C")])
        try await harness.close()
    }
}

@Model final class Note {
    var text: String
}
