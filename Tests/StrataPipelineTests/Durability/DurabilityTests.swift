import Foundation
import StoreModels
import Strata
import Synchronization
import Testing

@testable import StrataPipeline
@testable import StrataTesting

@Suite("P1 P2 operations belong to the commit that holds them", .timeLimit(.minutes(1))) struct DurabilityTests {
    struct Stop: Error {}

    @Test("T1 what is rolled back or thrown away leaves no trace")
    func rollback() async throws {
        let stage = try await Stage.open()
        stage.pipeline.resume()
        await #expect(throws: Stop.self) {
            try await stage.stack.background { context in
                context.enqueue(Named(name: "A"), in: .work)
                throw Stop()
            }
        }
        try await stage.stack.background { context in
            context.enqueue(Named(name: "B"), in: .work)
            context.rollback()
            try context.commit()
            #expect(try context.count(QueuedOperation.all) == 0)
        }
        await stage.pipeline.settled()
        #expect(stage.log.events.isEmpty)
        try await stage.close()
    }

    @Test("P1 what is saved to a parent does not start before that has committed it")
    func saved() async throws {
        let stage = try await Stage.open()
        stage.pipeline.resume()
        try await stage.stack.background(parent: .named(.root)) { context in
            context.enqueue(Named(name: "A"), in: .work)
            try context.save()
        }
        await stage.pipeline.settled()
        #expect(stage.log.events.isEmpty)
        try await stage.stack.commit(.root)
        await stage.pipeline.settled()
        #expect(stage.log.started.count == 1)
        try await stage.close()
    }

    @Test("T2 T3 what is skipped or completed in the commit that would queue it never is", arguments: [true, false])
    func decidedAtOnce(_ isSkipped: Bool) async throws {
        let stage = try await Stage.open()
        stage.pipeline.resume()
        try await stage.stack.background { context in
            let operation = context.enqueue(Named(name: "A"), in: .work, notBefore: .distantFuture)
            try operation.addDependencies([try stage.stack.newID(for: QueuedOperation.self)])
            if isSkipped { operation.skip() } else { operation.complete() }
            try context.commit()
            #expect(try context.count(QueuedOperation.all) == 0)
            #expect(try context.count(FinishedOperation.all) == 0)
            // Nor is what it was to wait for.
            #expect(try context.count(OperationDependency.all) == 0)
            #expect(try context.count(OperationHold.all) == 0)
        }
        await stage.pipeline.settled()
        #expect(stage.log.events.isEmpty)
        try await stage.close()
    }

    @Test(
        "T5 T23 an operation is changed in its own commit, and later by one that is for that, which outlives a restart"
    )
    func modify() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let first = try await Stage.open(location)
        try await first.commit(["A"])
        try await first.edit("A") { try $0.setPayload(Named(name: "B")) }
        try await first.commit(["C"])
        try await first.edit("C") { $0.priority = 1 }
        // What is changed in a context and not committed has no effect.
        let id = first.id("A")
        try await first.stack.background { try $0.find(id)?.priority = 9 }
        try await first.close()
        let second = try await Stage.open(location)
        second.learn(from: first)
        try await second.play([.resume("C", "A")])
        #expect(try await second.stack.background { try $0.find(id)?.payload(as: Named.self).name } == "B")
        // It is what its handler is given.
        try await second.end("B", id: id)
        try await second.play([.done("C")])
        #expect(try await second.result("A") == .completed)
        try await second.close()
    }

    @Test("T6 the order of commits is kept over a restart")
    func commitsAfterReopening() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let first = try await Stage.open(location, ordering: .commits)
        try await first.commit(["A"])
        try await first.commit(["B"])
        try await first.close()
        let second = try await Stage.open(location, ordering: .commits)
        second.learn(from: first)
        try await second.play([.resume("A"), .done("A", "B"), .done("B")])
        try await second.close()
    }

    @Test("T7 what was active when its process ended is pending again, under the same id, and its crash is counted")
    func abandoned() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let first = try await Stage.open(location)
        try await first.commit(["A"])
        try await first.play([.resume("A")])
        // As if the process were gone: nothing speaks for the worker any more.
        first.pipeline.handle.engine.abandon()
        let second = try await Stage.open(location)
        second.learn(from: first)
        #expect(try await second.row("A")?.status == .pending)
        #expect(try await second.row("A")?.crashes == 1)
        #expect(try await second.row("A")?.attempts == 0)
        try await second.play([.resume("A"), .done("A")])
        #expect(second.log.started == first.log.started)
        // Who has lost it finds that out by the commits of others, is cancelled, and has no say any more.
        try await first.log.waitForEnd(of: first.id("A"))
        #expect(first.log.events.contains { if case .lost = $0 { true } else { false } })
        #expect(try await second.result("A") == .completed)
        try await second.close()
        try await first.close()
    }

    @Test("T9 holds and attempts outlive a restart")
    func holds() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let first = try await Stage.open(location)
        let hour = first.clock.now.addingTimeInterval(3600)
        try await first.commit(["A", "B"])
        try await first.edit("A") { try $0.hold("later", until: hour) }
        try await first.play([.resume("B")])
        try await first.end("B", .failure(Stop()))
        try await first.close()
        let second = try await Stage.open(location)
        second.learn(from: first)
        #expect(try await second.row("B")?.attempts == 1)
        #expect(try await second.row("B")?.failures.list.map(\.message) == ["Stop()"])
        // The first pause is at most a second.
        try await second.play([
            .resume(), .pass(.seconds(2), "B"), .done("B"), .pass(.seconds(3590)), .pass(.seconds(10), "A"),
        ])
        try await second.close()
    }

    @Test("T10 how often a pipeline is suspended is not kept")
    func suspensions() async throws {
        let stage = try await Stage.open()
        #expect(stage.pipeline.suspensions == 1)
        #expect(stage.pipeline.suspend() == 2)
        await stage.pipeline.close()
        let again = try await Pipeline.open(stage.stack, named: .work, clock: stage.clock) { (_: Attempt<Named>) in
            .done
        }
        #expect(again.suspensions == 0)
        #expect(again.resume() == 0)
        await again.close()
        try await stage.close()
    }

    @Test("T11 L2 the end of an operation and what its handler changes are one commit")
    func together() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models + [Note.self], stack: .rootOnly)
        let fails = Atomic(true)
        let pipeline = try await Pipeline.open(stack, named: .work, retry: .never, clock: VirtualClock()) {
            (attempt: Attempt<Named>) in
            .done { context in
                context.insert(Note(text: attempt.payload.name))
                if fails.load(ordering: .relaxed) { throw Stop() }
            }
        }
        let log = EventLog(pipeline)
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

    @Test("T12 T13 done is done, whichever is said first", arguments: [true, false])
    func decidedTwice(_ skipsFirst: Bool) async throws {
        let stage = try await Stage.open()
        try await stage.commit(["A"])
        try await stage.edit("A") { operation in
            if skipsFirst {
                operation.skip()
                operation.complete()
            } else {
                operation.complete()
                operation.skip()
            }
        }
        #expect(try await stage.result("A") == .completed)
        try await stage.close()
    }

    @Test("T14 a pipeline takes over what is queued under a former name, in its order, after a restart")
    func formerName() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let stage = try await Stage.open(location, max: 1)
        try await stage.commit(["A"])
        try await stage.commit(["B"])
        try await stage.close()
        let (ids, names) = try await Self.drained(location, formerNames: [.work])
        #expect(ids == [stage.id("A"), stage.id("B")] && names == ["renamed", "renamed"])
        // Once more, with nothing left to take over.
        #expect(try await Self.drained(location, formerNames: [.work]).names == ["renamed", "renamed"])
    }

    /// Has a pipeline run what there is, on a store that is opened for it.
    ///
    /// - Returns: what it has finished, in order, and where all that is finished was queued.
    private static func drained(
        _ location: StoreLocation,
        formerNames: [PipelineName]
    ) async throws -> (ids: [ObjectID<QueuedOperation>], names: [PipelineName]) {
        let stack = try await ContextStack.open(location, models: Pipeline.models, stack: .rootOnly)
        let pipeline = try await Pipeline.open(
            stack,
            named: "renamed",
            formerNames: formerNames,
            maxConcurrent: 1,
            isSuspended: true,
            clock: VirtualClock()
        ) { (_: Attempt<Named>) in .done }
        let log = EventLog(pipeline)
        pipeline.resume()
        try await pipeline.drained()
        let names = try await stack.background { try $0.column(FinishedOperation.all, \.pipeline) }
        try await stack.close()
        return (log.finished, names)
    }

    @Test(
        "T15 what is queued for a pipeline that is declared no more goes to the default one, in its order, after a restart"
    )
    func undeclared() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let first = try await ContextStack.open(location, models: Pipeline.models, stack: .rootOnly)
        _ = try await Pipeline.open(first, named: "gone", isSuspended: true) { (_: Attempt<Named>) in .done }
        let ids = try await first.background { context in
            let ids = ["A", "B"].map { context.enqueue(Named(name: $0), in: "gone").id }
            try context.commit()
            return ids
        }
        try await first.close()
        let stage = try await Stage.open(location, max: 1)
        #expect(try await stage.pipeline.adoptUndeclared() == ["gone"])
        stage.pipeline.resume()
        try await stage.end("A", id: ids[0])
        try await stage.end("B", id: ids[1])
        #expect(stage.log.finished == ids)
        #expect(try await stage.pipeline.adoptUndeclared() == [])
        try await stage.close()
    }

    @Test("T24 what one commit does to the queue is told at once, and nothing of it once more")
    func changes() async throws {
        let stage = try await Stage.open()
        try await stage.commit(["B", "D"])
        let (b, d) = (stage.id("B"), stage.id("D"))
        var changes = stage.stack.changes(of: QueuedOperation.self).makeAsyncIterator()
        let inserted = try await stage.stack.background { context in
            let inserted = ["A", "C"].map { context.enqueue(Named(name: $0), in: .work).id }
            try context.find(b)?.priority = 5
            context.delete(try #require(try context.find(d)))
            try context.commit()
            return inserted
        }
        await stage.pipeline.settled()
        // Whatever there is to tell of the first commit comes before the second one.
        try await stage.commit(["E"])
        let told = try #require(try await changes.next())
        #expect(told.inserted == inserted && told.updated == [b] && told.deleted == [d])
        let next = try #require(try await changes.next())
        #expect(next.inserted == [stage.id("E")] && next.updated.isEmpty && next.deleted.isEmpty)
        try await stage.close()
    }

    @Test("T25 where the first commit is emptied by hand, the next one starts")
    func emptiedCommit() async throws {
        let stage = try await Stage.open(ordering: .commits)
        try await stage.commit(["A", "B"])
        try await stage.commit(["C"])
        try await stage.play([.resume("A", "B"), .done("A"), .suspend()])
        try await stage.edit("B") { $0.skip() }
        try await stage.log.waitForEnd(of: stage.id("B"))
        try await stage.play([.resume("C"), .done("C")])
        try await stage.close()
    }

    @Test("D25 what is given back with nothing else ready starts again")
    func givenBack() async throws {
        let stage = try await Stage.open()
        try await stage.commit(["A"])
        try await stage.play([.resume("A")])
        try await stage.edit("A") { $0.retry() }
        try await stage.log.waitForEnd(of: stage.id("A"))
        #expect(stage.takeStarts() == ["A"])
        try await stage.play([.done("A")])
        try await stage.close()
    }

    @Test(
        "T17 another ordering holds for new operations from the next restart on, and queued ones keep their order, also over one more"
    )
    func otherOrdering() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let names = ["A", "B", "C"]
        let first = try await Stage.open(location, ordering: .commits)
        for name in names { try await first.commit([Entry(stringLiteral: name)]) }
        try await first.play([.resume("A")])
        try await first.close()
        for number in 0..<2 {
            let flat = try await Stage.open(location)
            flat.learn(from: first)
            let new = "new \(number)"
            try await flat.commit([Entry(stringLiteral: new)])
            flat.pipeline.resume()
            await flat.pipeline.settled()
            #expect(Set(flat.takeStarts()) == ["A", new])
            try await flat.end(new)
            #expect(flat.takeStarts() == [])
            try await flat.close()
        }
        let last = try await Stage.open(location, ordering: .commits)
        last.learn(from: first)
        try await last.play([.resume("A"), .done("A", "B"), .done("B", "C"), .done("C")])
        try await last.close()
    }

    @Test("T19 where all rows are deleted, the queue is empty and nothing starts")
    func emptied() async throws {
        let stage = try await Stage.open(max: 1)
        try await stage.commit(["A", "B←A"])
        try await stage.stack.background { _ = try $0.batchDelete(QueuedOperation.all) }
        try await stage.play([.resume(), .commit("C", starts: ["C"]), .done("C")])
        try await stage.close()
    }
}

@Model final class Note {
    var text: String
}
