import Foundation
import StoreModels
import Strata
import StrataTesting
import Synchronization
import Testing

@testable import StrataPipeline

@Suite("Retries, holds and lost workers", .timeLimit(.minutes(1))) struct FailureTests {
    struct Stop: Error {}

    @Test("A handler that throws its own CancellationError has failed and is not restarted in a loop")
    func ownCancellation() async throws {
        let stage = try await Stage.open(retry: .never)
        try await stage.commit(["A"])
        try await stage.play([.resume("A")])
        try await stage.end("A", .failure(CancellationError()))
        #expect(try await stage.row("A")?.status == .failed)
        try await stage.close()
    }

    @Test("The last attempt leaves a visible failed operation, and a retry by hand resets its attempts")
    func attempts() async throws {
        let stage = try await Stage.open(retry: RetryPolicy(maxAttempts: 3))
        try await stage.commit(["A"])
        stage.pipeline.resume()
        for attempt in 1...3 {
            try await stage.end("A", .failure(Stop()))
            stage.clock.advance(by: .seconds(60))
            await stage.pipeline.settled()
            #expect(stage.log.started.count == min(attempt + 1, 3))
        }
        #expect(try await stage.row("A")?.status == .failed)
        #expect(try await stage.row("A")?.failures.list.map(\.attempt) == [1, 2, 3])
        try await stage.edit("A") { $0.retry() }
        #expect(try await stage.row("A")?.attempts == 1)
        try await stage.end("A")
        #expect(try await stage.result("A") == .completed)
        try await stage.close()
    }

    @Test(
        "A held operation of a higher priority lets other operations of its commit go first",
        arguments: [PipelineOrdering.flat, .commits]
    )
    func hold(_ ordering: PipelineOrdering) async throws {
        let stage = try await Stage.open(ordering: ordering)
        try await stage.commit(["H:9", "L"])
        let until = stage.clock.now.addingTimeInterval(60)
        try await stage.edit("H") { try $0.hold("hold", until: until) }
        try await stage.play([.resume("L"), .pass(.seconds(61), "H"), .done("H"), .done("L")])
        try await stage.close()
    }

    @Test(
        "A held operation delays the next commit only if the pipeline is ordered by commits",
        arguments: [PipelineOrdering.flat, .commits]
    )
    func holdInTwoCommits(_ ordering: PipelineOrdering) async throws {
        let stage = try await Stage.open(ordering: ordering)
        try await stage.commit(["H:9"])
        try await stage.commit(["L"])
        let until = stage.clock.now.addingTimeInterval(60)
        try await stage.edit("H") { try $0.hold("hold", until: until) }
        if ordering == .flat {
            try await stage.play([.resume("L"), .pass(.seconds(61), "H")])
        } else {
            try await stage.play([.resume(), .pass(.seconds(61), "H"), .done("H", "L")])
        }
        try await stage.close()
    }

    @Test("A flat pipeline honours a dependency on an operation that is queued later")
    func laterPrerequisite() async throws {
        let stage = try await Stage.open()
        try await stage.commit(["A←B"])
        try await stage.commit(["B"])
        try await stage.play([.resume("B"), .done("B", "A"), .done("A")])
        try await stage.close()
    }

    @Test("Releasing a hold or removing a dependency lets the operation start")
    func released() async throws {
        let stage = try await Stage.open(max: 1)
        try await stage.commit(["A:1", "B←A"])
        let until = stage.clock.now.addingTimeInterval(60)
        let a = stage.id("A")
        try await stage.edit("A") { try $0.hold("hold", until: until) }
        try await stage.play([.resume()])
        try await stage.edit("B") { try $0.removeDependencies([a]) }
        #expect(stage.takeStarts() == ["B"])
        try await stage.play([.done("B")])
        try await stage.edit("A") { try $0.release("hold") }
        #expect(stage.takeStarts() == ["A"])
        try await stage.play([.done("A")])
        try await stage.close()
    }

    @Test("A worker reclaims the operations of a silent worker, but only after several heartbeats")
    func silentWorker() async throws {
        let stage = try await Stage.open()
        try await stage.commit(["A"])
        // A worker of another machine has claimed an operation and then falls silent.
        try stage.stack.transact(author: "test") { transaction in
            let book = OperationBook(transaction: transaction, now: stage.clock.now) { _ in
                OperationBook.Rules(ordering: .flat, whenFailed: .park)
            }
            let worker = try book.register(WorkerIdentity(process: 1, start: 1, machine: "elsewhere"))
            _ = try book.claim(1, of: .work, by: worker)
        }
        stage.pipeline.resume()
        await stage.pipeline.settled()
        #expect(try await stage.row("A")?.status == .active)
        for _ in 0..<4 {
            #expect(stage.takeStarts() == [])
            stage.clock.advance(by: .seconds(10))
            await stage.pipeline.settled()
        }
        #expect(stage.takeStarts() == ["A"])
        #expect(try await stage.row("A")?.crashes == 1)
        #expect(try await stage.stack.background { try $0.count(PipelineWorker.all) } == 1)
        try await stage.play([.done("A")])
        try await stage.close()
    }

    @Test("A worker from an earlier boot of this machine counts as dead; one of another machine or container does not")
    func earlierStart() async throws {
        let own = "1b2c pid:[4026531836] 0123456789abcdef0123456789abcdef"
        let isEarlier = { WorkerIdentity.isEarlierStart($0, of: own) }
        #expect(isEarlier("9f8e pid:[4026532444] 0123456789abcdef0123456789abcdef"))
        // Another container, another machine, and the format of an earlier version.
        #expect(!isEarlier("1b2c pid:[4026532444] 0123456789abcdef0123456789abcdef"))
        #expect(!isEarlier("9f8e pid:[4026531836] ffffffffffffffffffffffffffffffff"))
        #expect(!isEarlier("9f8e pid:[4026531836]") && !isEarlier("elsewhere"))
        let parts = WorkerIdentity.own.machine.split(separator: " ")
        guard parts.count == 3 else { return }
        let worker = WorkerIdentity(process: 1, start: 1, machine: "9f8e \(parts[1]) \(parts[2])")
        #expect(worker.isDead)
    }

    @Test("Idle workers elsewhere are forgotten eventually; a forgotten live worker registers again when it claims")
    func idleWorkers() async throws {
        let stage = try await Stage.open()
        try stage.stack.transact(author: "test") { transaction in
            try OperationBook(transaction).register(WorkerIdentity(process: 1, start: 1, machine: "elsewhere"))
        }
        func known() async throws -> Int { try await stage.stack.background { try $0.count(PipelineWorker.all) } }
        func beat(_ count: Int) async {
            for _ in 0..<count {
                stage.clock.advance(by: .seconds(10))
                await stage.pipeline.settled()
            }
        }
        await beat(OperationBook.idleLimit)
        #expect(try await known() == 2)
        await beat(1)
        #expect(try await known() == 1)
        // A process elsewhere has forgotten this worker.
        try await stage.stack.background { _ = try $0.batchDelete(PipelineWorker.all) }
        try await stage.commit(["A"])
        try await stage.play([.resume("A")])
        #expect(try await known() == 1)
        await beat(2)
        #expect(try await stage.row("A")?.crashes == 0)
        try await stage.play([.done("A")])
        #expect(stage.log.events.count == 2)
        try await stage.close()
    }

    @Test("An operation whose processes keep crashing fails, and so do dependants with the policy .fail")
    func quarantine() async throws {
        let stage = try await Stage.open()
        try await stage.commit(["A", "B"])
        let id = stage.id("A")
        try await stage.edit("B") { try $0.addDependencies([id], whenFailed: .fail) }
        for _ in 0..<5 { #expect(try stage.crashElsewhere(claiming: 1) == ["A"]) }
        let row = try #require(try await stage.row("A"))
        #expect(row.status == .failed && row.crashes == 5 && row.attempts == 0 && row.failures.list.count == 1)
        #expect(try await stage.row("B")?.status == .failed)
        try await stage.play([.resume()])
        // A retry by hand resets the count: one more crash would be the first one.
        try await stage.edit("A") { $0.retry() }
        #expect(stage.takeStarts() == ["A"])
        #expect(try await stage.row("A")?.crashes == 0)
        try await stage.play([.done("A")])
        try await stage.close()
    }

    @Test("A commit refuses an id that another context has already used and finished")
    func usedID() async throws {
        let stage = try await Stage.open()
        let id = try stage.stack.newID(for: QueuedOperation.self)
        let late = try stage.stack.create(.private, named: "late")
        try await late.perform { _ = try $0.enqueue(Named(name: "late"), as: id, in: .work) }
        stage.pipeline.resume()
        try await stage.stack.background { context in
            _ = try context.enqueue(Named(name: "A"), as: id, in: .work)
            try context.commit()
        }
        try await stage.end("A", id: id)
        let error = try await #require(throws: PipelineError.self) { try await late.commit() }
        #expect(error.code == .alreadyFinished && error.operations == [id.number])
        try await stage.close()
    }

    @Test("A lower concurrency limit applies as running handlers end")
    func lowerLimit() async throws {
        let stage = try await Stage.open(max: 3)
        try await stage.commit(["a", "b", "c", "d", "e"])
        try await stage.play([
            .resume("a", "b", "c"), .limit(1), .done("a"), .done("b"), .done("c", "d"), .done("d", "e"),
        ])
        try await stage.close()
    }

    @Test("If a running operation is deleted, the next one starts when its handler has ended")
    func deletedWhileRunning() async throws {
        let stage = try await Stage.open(ordering: .fifo)
        try await stage.commit(["A", "B"])
        try await stage.play([.resume("A")])
        let id = stage.id("A")
        // A batch delete does not check for conflicts; a context would find out that the operation is running.
        try await stage.stack.background { context in
            _ = try context.batchDelete(QueuedOperation.where { $0.id == id })
        }
        try await stage.log.waitForEnd(of: id)
        #expect(stage.takeStarts() == ["B"])
        let ends = stage.log.events.map { event in
            switch event {
            case .lost: "lost"
            case .started: "started"
            default: "else"
            }
        }
        #expect(ends == ["started", "lost", "started"])
        try await stage.play([.done("B")])
        try await stage.close()
    }

    @Test("A new failure policy applies from the next opening")
    func otherPolicy() async throws {
        let stage = try await Stage.open(ordering: .fifo, retry: .never, whenFailed: .block)
        try await stage.commit(["A", "B"])
        try await stage.play([.resume("A")])
        try await stage.end("A", .failure(Stop()))
        try await stage.play([.resume()])
        await stage.pipeline.close()
        let again = try await Pipeline.open(
            stage.stack,
            named: .work,
            ordering: .fifo,
            whenFailed: .park,
            isSuspended: true,
            clock: stage.clock
        ) { (_: Attempt<Named>) in .done }
        let log = EventLog(again)
        again.resume()
        try await log.waitForEnd(of: stage.id("B"))
        // The handle of the closed pipeline does not affect the new one.
        #expect(stage.pipeline.suspend() == 0 && again.suspensions == 0)
        await stage.pipeline.close()
        #expect(again.maxConcurrent == 8)
        try await stage.close()
    }

    @Test("Operations stop waiting for holds and dependencies that a batch deletes")
    func batchReleased() async throws {
        let stage = try await Stage.open()
        try await stage.commit(["A", "B←A", "C"])
        let until = stage.clock.now.addingTimeInterval(60)
        try await stage.edit("C") { try $0.hold("hold", until: until) }
        try await stage.play([.resume("A")])
        try await stage.stack.background { context in
            _ = try context.batchDelete(OperationDependency.all)
            _ = try context.batchDelete(OperationHold.all)
        }
        await stage.pipeline.settled()
        #expect(stage.takeStarts() == ["B", "C"])
        for name in ["A", "B", "C"] { try await stage.end(name) }
        try await stage.close()
    }

    @Test(
        "A batch delete in ordered lanes lets the next operations start and does not re-examine other lanes",
        arguments: [PipelineOrdering.fifo, .lifo, .commits]
    )
    func batchOrdered(_ ordering: PipelineOrdering) async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            ordering: ordering,
            isJournalled: true,
            clock: VirtualClock()
        ) {
            (attempt: Attempt<Named>) in
            attempt.payload.name == "head" ? .wait(.person) : .done
        }
        let lanes = ["", "a", "b"]
        // The heads are queued first, or last for `lifo`, so that each head is the first of its lane.
        let names = ordering == .lifo ? ["2", "1", "head"] : ["head", "1", "2"]
        pipeline.suspend()
        for name in names {
            try await stack.background { context in
                for lane in lanes { context.enqueue(Named(name: name), in: .work, lane: lane) }
                try context.commit()
            }
        }
        pipeline.resume()
        try await pipeline.drained()
        func steps(_ status: String) async throws -> Int {
            try await stack.background { try $0.count(OperationTransition.where { $0.status == status }) }
        }
        let before = try await steps("pending")
        let waiting = QueuedOperation.where { $0.status == .waiting }
        let stuck = try await stack.background { try $0.count(waiting) }
        #expect(stuck == 6)
        // One lane continues with its next operation. The heads of the other lanes, and the operations after them, do
        // not change.
        pipeline.suspend()
        try await stack.background { context in
            _ = try context.batchDelete(QueuedOperation.where { $0.lane == "a" && $0.status == .held })
        }
        await pipeline.settled()
        let after = try await steps("pending")
        #expect(after == before + 1)
        pipeline.resume()
        try await pipeline.drained()
        try await stack.background { context in
            try #expect(context.count(FinishedOperation.all) == 2)
            try #expect(context.count(QueuedOperation.where { $0.status == .held }) == 2)
            try #expect(context.count(waiting) == 4)
        }
        try await stack.close()
    }

    @Test("A skip requested while an operation runs takes effect after its process has ended")
    func requestAndCrash() async throws {
        let stage = try await Stage.open()
        try await stage.commit(["A", "B←A"])
        var worker: Int64 = 0
        try stage.stack.transact(author: "test") { transaction in
            let book = OperationBook(transaction)
            worker = try book.register(WorkerIdentity(process: 1, start: 1, machine: "elsewhere"))
            _ = try book.claim(1, of: .work, by: worker)
        }
        try await stage.edit("A") { $0.skip() }
        #expect(try await stage.row("A")?.status == .active)
        let dead = worker
        try stage.stack.transact(author: "test") { try OperationBook($0).rescue(dead) }
        #expect(try await stage.result("A") == .skipped)
        try await stage.play([.resume("B"), .done("B")])
        try await stage.close()
    }

    @Test("An operation shows its progress")
    func progress() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let (halves, half) = AsyncStream.makeStream(of: Void.self)
        let pipeline = try await Pipeline.open(stack, named: .work, clock: VirtualClock()) {
            (attempt: Attempt<Named>) in
            try await attempt.progress(0.5)
            half.yield()
            try await Task.sleep(for: .seconds(60))
            return .done
        }
        let id = try await stack.background { context in
            let operation = context.enqueue(Named(name: "A"), in: .work)
            try context.commit()
            return operation.id
        }
        _ = await halves.first { _ in true }
        await pipeline.settled()
        #expect(try await stack.background { try $0.find(id)?.progress } == 0.5)
        try await stack.close()
    }

    @Test("An operation moved to another pipeline while it runs lets the next operations of its lane start there")
    func moved() async throws {
        let folder = try ScratchFolder()
        let stage = try await Stage.open(.sqlite(folder.file("s.sqlite")), ordering: .fifo)
        try await stage.commit(["A", "B"])
        try await stage.play([.resume("A")])
        let other = try await ContextStack.open(
            .sqlite(folder.file("s.sqlite")),
            models: Pipeline.models,
            stack: .rootOnly
        )
        let successor = try await Pipeline.open(other, named: "new", formerNames: [.work], ordering: .fifo) {
            (_: Attempt<Named>) in .done
        }
        await successor.settled()
        #expect(try await stage.row("B")?.status == .waiting)
        let log = EventLog(successor)
        try await stage.end("A")
        try await log.waitForEnd(of: stage.id("B"))
        #expect(try await stage.result("A") == .completed)
        #expect(try await stage.result("B") == .completed)
        try await other.close()
        try await stage.close()
    }
}
