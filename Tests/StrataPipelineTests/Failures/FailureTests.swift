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
        let harness = try await PipelineHarness.open(retry: .never)
        try await harness.commit(["A"])
        try await harness.play([.resume("A")])
        try await harness.end("A", .failure(CancellationError()))
        #expect(try await harness.row("A")?.status == .failed)
        try await harness.close()
    }

    @Test("The last attempt leaves a visible failed operation, and a retry by hand resets its attempts")
    func attempts() async throws {
        let harness = try await PipelineHarness.open(retry: RetryPolicy(maxAttempts: 3))
        try await harness.commit(["A"])
        harness.pipeline.resume()
        for attempt in 1...3 {
            try await harness.end("A", .failure(Stop()))
            harness.clock.advance(by: .seconds(60))
            await harness.pipeline.waitUntilProcessed()
            #expect(harness.log.started.count == min(attempt + 1, 3))
        }
        #expect(try await harness.row("A")?.status == .failed)
        #expect(try await harness.row("A")?.failures.list.map(\.attempt) == [1, 2, 3])
        try await harness.edit("A") { $0.retry() }
        #expect(try await harness.row("A")?.attempts == 1)
        try await harness.end("A")
        #expect(try await harness.result("A") == .completed)
        try await harness.close()
    }

    @Test("A requested retry keeps its error, and the last message names the error when the attempts are used up")
    func requestedRetries() async throws {
        let harness = try await PipelineHarness.open(retry: RetryPolicy(maxAttempts: 3))
        try await harness.commit(["A"])
        harness.pipeline.resume()
        for attempt in 1...3 {
            try await harness.end("A", .success(.retry(after: .seconds(60), because: Stop())))
            harness.clock.advance(by: .seconds(60))
            await harness.pipeline.waitUntilProcessed()
            #expect(harness.log.started.count == min(attempt + 1, 3))
        }
        let messages = ["Stop()", "Stop()", "\(Self.usedUp) The last error: Stop()"]
        let row = try #require(try await harness.row("A"))
        #expect(row.status == .failed && row.attempts == 3)
        #expect(row.failures.list.map(\.attempt) == [1, 2, 3])
        #expect(row.failures.list.map(\.message) == messages)
        #expect(Self.messages(harness.log) == messages)
        try await harness.close()
    }

    @Test("A finished operation keeps the errors of its requested retries")
    func finishedAfterRetry() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A"])
        harness.pipeline.resume()
        try await harness.end("A", .success(.retry(after: .seconds(60), because: Stop())))
        harness.clock.advance(by: .seconds(60))
        try await harness.end("A")
        let id = harness.id("A")
        let failures = try await harness.stack.background { try $0.finishedOperation(id)?.failures.list.map(\.message) }
        #expect(failures == ["Stop()"])
        try await harness.close()
    }

    @Test("A requested retry without an error is not a failure until the attempts are used up")
    func retriesWithoutError() async throws {
        let harness = try await PipelineHarness.open(retry: RetryPolicy(maxAttempts: 2))
        try await harness.commit(["A"])
        harness.pipeline.resume()
        try await harness.end("A", .success(.retry(after: .seconds(60))))
        #expect(try await harness.row("A")?.failures.list.isEmpty == true)
        harness.clock.advance(by: .seconds(60))
        try await harness.end("A", .success(.retry(after: .seconds(60))))
        #expect(try await harness.row("A")?.failures.list.map(\.message) == [Self.usedUp])
        #expect(Self.messages(harness.log) == ["requested by the handler", Self.usedUp])
        try await harness.close()
    }

    private static let usedUp = "The handler requested a retry, and the operation has used all of its attempts."

    /// The messages of the attempts that have failed or requested a retry.
    private static func messages(_ log: EventRecorder) -> [String] {
        log.events.compactMap { event -> String? in
            switch event {
            case .retrying(_, _, let message): message
            case .failed(_, let message): message
            default: nil
            }
        }
    }

    @Test(
        "A held operation of a higher priority lets other operations of its commit go first",
        arguments: [PipelineOrdering.flat, .commits]
    )
    func hold(_ ordering: PipelineOrdering) async throws {
        let harness = try await PipelineHarness.open(ordering: ordering)
        try await harness.commit(["H:9", "L"])
        let until = harness.clock.now.addingTimeInterval(60)
        try await harness.edit("H") { try $0.hold("hold", until: until) }
        try await harness.play([.resume("L"), .pass(.seconds(61), "H"), .done("H"), .done("L")])
        try await harness.close()
    }

    @Test(
        "A held operation delays the next commit only if the pipeline is ordered by commits",
        arguments: [PipelineOrdering.flat, .commits]
    )
    func holdInTwoCommits(_ ordering: PipelineOrdering) async throws {
        let harness = try await PipelineHarness.open(ordering: ordering)
        try await harness.commit(["H:9"])
        try await harness.commit(["L"])
        let until = harness.clock.now.addingTimeInterval(60)
        try await harness.edit("H") { try $0.hold("hold", until: until) }
        if ordering == .flat {
            try await harness.play([.resume("L"), .pass(.seconds(61), "H")])
        } else {
            try await harness.play([.resume(), .pass(.seconds(61), "H"), .done("H", "L")])
        }
        try await harness.close()
    }

    @Test("A flat pipeline honours a dependency on an operation that is queued later")
    func laterPrerequisite() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A←B"])
        try await harness.commit(["B"])
        try await harness.play([.resume("B"), .done("B", "A"), .done("A")])
        try await harness.close()
    }

    @Test("Releasing a hold or removing a dependency lets the operation start")
    func released() async throws {
        let harness = try await PipelineHarness.open(max: 1)
        try await harness.commit(["A:1", "B←A"])
        let until = harness.clock.now.addingTimeInterval(60)
        let a = harness.id("A")
        try await harness.edit("A") { try $0.hold("hold", until: until) }
        try await harness.play([.resume()])
        try await harness.edit("B") { try $0.removeDependencies([a]) }
        #expect(harness.takeStarts() == ["B"])
        try await harness.play([.done("B")])
        try await harness.edit("A") { try $0.release("hold") }
        #expect(harness.takeStarts() == ["A"])
        try await harness.play([.done("A")])
        try await harness.close()
    }

    @Test("A worker reclaims the operations of a silent worker, but only after several heartbeats")
    func silentWorker() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A"])
        // A worker of another machine has claimed an operation and then falls silent.
        try harness.stack.transact(author: "test") { transaction in
            let rules = OperationRepository.Rules(ordering: .flat, onFailure: .setAside)
            let repository = OperationRepository(transaction, now: harness.clock.now, [.work: rules])
            let worker = try repository.register(WorkerIdentity(process: 1, start: 1, machine: "elsewhere"))
            _ = try repository.claim(1, of: .work, by: worker)
        }
        harness.pipeline.resume()
        await harness.pipeline.waitUntilProcessed()
        #expect(try await harness.row("A")?.status == .active)
        for _ in 0..<4 {
            #expect(harness.takeStarts() == [])
            harness.clock.advance(by: .seconds(10))
            await harness.pipeline.waitUntilProcessed()
        }
        #expect(harness.takeStarts() == ["A"])
        #expect(try await harness.row("A")?.crashes == 1)
        #expect(try await harness.stack.background { try $0.count(PipelineWorker.all) } == 1)
        try await harness.play([.done("A")])
        try await harness.close()
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
        let harness = try await PipelineHarness.open()
        try harness.stack.transact(author: "test") { transaction in
            try OperationRepository(transaction).register(WorkerIdentity(process: 1, start: 1, machine: "elsewhere"))
        }
        func known() async throws -> Int { try await harness.stack.background { try $0.count(PipelineWorker.all) } }
        func heartbeat(_ count: Int) async {
            for _ in 0..<count {
                harness.clock.advance(by: .seconds(10))
                await harness.pipeline.waitUntilProcessed()
            }
        }
        await heartbeat(OperationRepository.idleLimit)
        #expect(try await known() == 2)
        await heartbeat(1)
        #expect(try await known() == 1)
        // A process elsewhere has forgotten this worker.
        try await harness.stack.background { _ = try $0.batchDelete(PipelineWorker.all) }
        try await harness.commit(["A"])
        try await harness.play([.resume("A")])
        #expect(try await known() == 1)
        await heartbeat(2)
        #expect(try await harness.row("A")?.crashes == 0)
        try await harness.play([.done("A")])
        #expect(harness.log.events.count == 2)
        try await harness.close()
    }

    @Test("An operation whose processes keep crashing fails, and so do dependants with the policy .fail")
    func quarantine() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A", "B"])
        let id = harness.id("A")
        try await harness.edit("B") { try $0.addDependencies([id], onFailure: .fail) }
        for _ in 0..<5 { #expect(try harness.crashElsewhere(claiming: 1) == ["A"]) }
        let row = try #require(try await harness.row("A"))
        #expect(row.status == .failed && row.crashes == 5 && row.attempts == 0 && row.failures.list.count == 1)
        #expect(try await harness.row("B")?.status == .failed)
        try await harness.play([.resume()])
        // A retry by hand resets the count: one more crash would be the first one.
        try await harness.edit("A") { $0.retry() }
        #expect(harness.takeStarts() == ["A"])
        #expect(try await harness.row("A")?.crashes == 0)
        try await harness.play([.done("A")])
        try await harness.close()
    }

    @Test("A commit refuses an id that another context has already used and finished")
    func usedID() async throws {
        let harness = try await PipelineHarness.open()
        let id = try harness.stack.newID(for: QueuedOperation.self)
        let late = try harness.stack.create(.private, named: "late")
        try await late.perform { _ = try $0.enqueue(Named(name: "late"), as: id, in: .work) }
        harness.pipeline.resume()
        try await harness.stack.background { context in
            _ = try context.enqueue(Named(name: "A"), as: id, in: .work)
            try context.commit()
        }
        try await harness.end("A", id: id)
        let error = try await #require(throws: PipelineError.self) { try await late.commit() }
        #expect(error.code == .alreadyFinished && error.operations == [id.rawValue])
        try await harness.close()
    }

    @Test("A lower concurrency limit applies as running handlers end")
    func lowerLimit() async throws {
        let harness = try await PipelineHarness.open(max: 3)
        try await harness.commit(["a", "b", "c", "d", "e"])
        try await harness.play([
            .resume("a", "b", "c"), .limit(1), .done("a"), .done("b"), .done("c", "d"), .done("d", "e"),
        ])
        try await harness.close()
    }

    @Test("If a running operation is deleted, the next one starts when its handler has ended")
    func deletedWhileRunning() async throws {
        let harness = try await PipelineHarness.open(ordering: .fifo)
        try await harness.commit(["A", "B"])
        try await harness.play([.resume("A")])
        let id = harness.id("A")
        // A batch delete does not check for conflicts; a context would find out that the operation is running.
        try await harness.stack.background { context in
            _ = try context.batchDelete(QueuedOperation.where { $0.id == id })
        }
        try await harness.log.waitForEnd(of: id)
        #expect(harness.takeStarts() == ["B"])
        let ends = harness.log.events.map { event in
            switch event {
            case .lost: "lost"
            case .started: "started"
            default: "else"
            }
        }
        #expect(ends == ["started", "lost", "started"])
        try await harness.play([.done("B")])
        try await harness.close()
    }

    @Test("A new failure policy applies from the next opening")
    func otherPolicy() async throws {
        let harness = try await PipelineHarness.open(ordering: .fifo, retry: .never, onFailure: .blockLane)
        try await harness.commit(["A", "B"])
        try await harness.play([.resume("A")])
        try await harness.end("A", .failure(Stop()))
        try await harness.play([.resume()])
        await harness.pipeline.close()
        let again = try await Pipeline.open(
            harness.stack,
            named: .work,
            options: PipelineOptions(ordering: .fifo, onFailure: .setAside, isSuspended: true, clock: harness.clock)
        ) { (_: Attempt<Named>) in .done }
        let log = EventRecorder(again)
        again.resume()
        try await log.waitForEnd(of: harness.id("B"))
        // The handle of the closed pipeline does not affect the new one.
        #expect(harness.pipeline.suspend() == 0 && again.suspensions == 0)
        await harness.pipeline.close()
        #expect(again.maxConcurrent == 8)
        try await harness.close()
    }

    @Test("Operations stop waiting for holds and dependencies that a batch deletes")
    func batchReleased() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A", "B←A", "C"])
        let until = harness.clock.now.addingTimeInterval(60)
        try await harness.edit("C") { try $0.hold("hold", until: until) }
        try await harness.play([.resume("A")])
        try await harness.stack.background { context in
            _ = try context.batchDelete(OperationDependency.all)
            _ = try context.batchDelete(OperationHold.all)
        }
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.takeStarts() == ["B", "C"])
        for name in ["A", "B", "C"] { try await harness.end(name) }
        try await harness.close()
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
            options: PipelineOptions(ordering: ordering, recordsTransitions: true, clock: VirtualClock())
        ) { (attempt: Attempt<Named>) in
            attempt.payload.name == "head" ? .wait(.manual) : .done
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
        try await pipeline.waitUntilIdle()
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
        await pipeline.waitUntilProcessed()
        let after = try await steps("pending")
        #expect(after == before + 1)
        pipeline.resume()
        try await pipeline.waitUntilIdle()
        try await stack.background { context in
            try #expect(context.count(FinishedOperation.all) == 2)
            try #expect(context.count(QueuedOperation.where { $0.status == .held }) == 2)
            try #expect(context.count(waiting) == 4)
        }
        try await stack.close()
    }

    @Test("A skip requested while an operation runs takes effect after its process has ended")
    func requestAndCrash() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A", "B←A"])
        var worker: Int64 = 0
        try harness.stack.transact(author: "test") { transaction in
            let repository = OperationRepository(transaction)
            worker = try repository.register(WorkerIdentity(process: 1, start: 1, machine: "elsewhere"))
            _ = try repository.claim(1, of: .work, by: worker)
        }
        try await harness.edit("A") { $0.skip() }
        #expect(try await harness.row("A")?.status == .active)
        let dead = worker
        try harness.stack.transact(author: "test") { try OperationRepository($0).reclaim(from: dead) }
        #expect(try await harness.result("A") == .skipped)
        try await harness.play([.resume("B"), .done("B")])
        try await harness.close()
    }

    @Test("An operation shows its progress")
    func progress() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let (halves, half) = AsyncStream.makeStream(of: Void.self)
        let pipeline = try await Pipeline.open(stack, named: .work, options: PipelineOptions(clock: VirtualClock())) {
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
        await pipeline.waitUntilProcessed()
        #expect(try await stack.background { try $0.find(id)?.progress } == 0.5)
        try await stack.close()
    }

    @Test("An operation moved to another pipeline while it runs lets the next operations of its lane start there")
    func moved() async throws {
        let folder = try ScratchFolder()
        let harness = try await PipelineHarness.open(.sqlite(folder.file("s.sqlite")), ordering: .fifo)
        try await harness.commit(["A", "B"])
        try await harness.play([.resume("A")])
        let other = try await ContextStack.open(
            .sqlite(folder.file("s.sqlite")),
            models: Pipeline.models,
            stack: .rootOnly
        )
        let successor = try await Pipeline.open(
            other,
            named: "new",
            previousNames: [.work],
            options: PipelineOptions(ordering: .fifo)
        ) { (_: Attempt<Named>) in .done }
        await successor.waitUntilProcessed()
        #expect(try await harness.row("B")?.status == .waiting)
        let log = EventRecorder(successor)
        try await harness.end("A")
        try await log.waitForEnd(of: harness.id("B"))
        #expect(try await harness.result("A") == .completed)
        #expect(try await harness.result("B") == .completed)
        try await other.close()
        try await harness.close()
    }
}
