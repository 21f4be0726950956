import Foundation
import StoreModels
import Strata
import StrataTesting
import Synchronization
import Testing

@testable import StrataPipeline

@Suite("Lanes and blocked lanes", .timeLimit(.minutes(1))) struct LaneTests {
    struct Stop: Error {}

    @Test("A retry without a delay starts soon, and the next operation follows")
    func retryAtOnce() async throws {
        let harness = try await PipelineHarness.open(ordering: .fifo)
        try await harness.commit(["A", "B"])
        try await harness.play([.resume("A")])
        try await harness.end("A", .success(.retry(after: .zero)))
        #expect(harness.takeStarts() == [])
        try await harness.play([.pass(.milliseconds(20), "A"), .done("A", "B"), .done("B")])
        try await harness.close()
    }

    @Test("Operations left from before start when their pipeline opens")
    func leftOver() async throws {
        let harness = try await PipelineHarness.open()
        await harness.pipeline.close()
        try await harness.commit(["A"])
        let (names, run) = AsyncStream.makeStream(of: String.self)
        let again = try await Pipeline.open(
            harness.stack,
            named: .work,
            options: PipelineOptions(clock: harness.clock)
        ) { (attempt: Attempt<Named>) in
            run.yield(attempt.payload.name)
            return .done
        }
        #expect(await names.first { _ in true } == "A")
        await again.close(grace: .seconds(60))
        #expect(try await harness.result("A") == .completed)
        try await harness.close()
    }

    @Test("An operation that sorts earlier starts when the running one ends; two never run at once")
    func earlier() async throws {
        let harness = try await PipelineHarness.open(ordering: .fifo)
        try await harness.commit(["A", "B"])
        try await harness.play([.resume("A")])
        try await harness.commit(["E"])
        try await harness.edit("E") { $0.sortKey = -1 }
        try await harness.play([.done("A", "E"), .done("E", "B"), .done("B")])
        try await harness.close()
    }

    @Test("Skipping the running operation cancels its handler; the next one starts when the handler has ended")
    func skippedWhileRunning() async throws {
        let harness = try await PipelineHarness.open(ordering: .fifo)
        try await harness.commit(["A", "B"])
        try await harness.play([.resume("A")])
        try await harness.edit("A") { $0.skip() }
        try await harness.log.waitForEnd(of: harness.id("A"))
        #expect(harness.takeStarts() == ["B"])
        #expect(try await harness.result("A") == .skipped)
        #expect(harness.log.started.count { $0 == harness.id("A") } == 1)
        try await harness.play([.done("B")])
        try await harness.close()
    }

    @Test("A running operation that gets a new payload runs with it when it is retried")
    func replacedWhileRunning() async throws {
        let harness = try await PipelineHarness.open(ordering: .fifo)
        try await harness.commit(["A"])
        try await harness.play([.resume("A")])
        try await harness.edit("A") { operation in
            try operation.setPayload(Named(name: "A2"))
            operation.retry()
        }
        try await harness.log.waitForEnd(of: harness.id("A"))
        try await harness.end("A2", id: harness.id("A"))
        #expect(try await harness.result("A") == .completed)
        #expect(harness.log.started == [harness.id("A"), harness.id("A")])
        try await harness.close()
    }

    @Test(
        "If the replaced attempt ignores its cancellation and finishes, its committed changes stay",
        arguments: [PipelineOrdering.flat, .commits],
        [true, false]
    )
    func replacedWhileDone(_ ordering: PipelineOrdering, _ isCommitting: Bool) async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models + [Note.self], stack: .rootOnly)
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let (goes, go) = AsyncStream.makeStream(of: Never.self)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(ordering: ordering, clock: VirtualClock())
        ) { (attempt: Attempt<Named>) in
            let name = attempt.payload.name
            if name == "old" {
                start.finish()
                await Task { for await _ in goes {} }.value
            }
            return isCommitting ? .done { $0.insert(Note(text: name)) } : .done
        }
        let log = EventRecorder(pipeline)
        let id = try await stack.background { context in
            let operation = context.enqueue(Named(name: "old"), in: .work)
            try context.commit()
            return operation.id
        }
        for await _ in started {}
        try await stack.background { context in
            let operation = try #require(try context.find(id))
            try operation.setPayload(Named(name: "new"))
            operation.retry()
            try context.commit()
        }
        go.finish()
        try await log.waitForEnd(of: id, count: 2)
        #expect(log.started.count == 2 && log.finished == [id])
        let (payloads, notes) = try await stack.background { context in
            (
                try context.fetch(FinishedOperation.all).map { try Named.decoded($0.payload, version: 1).name },
                try context.rows(Note.all).map(\.text).sorted()
            )
        }
        #expect(payloads == ["new"])
        #expect(notes == (isCommitting ? ["new", "old"] : []))
        try await stack.close()
    }

    @Test("Retrying by hand ends a pause, and the end of the pause starts nothing")
    func retriedInPause() async throws {
        let harness = try await PipelineHarness.open(ordering: .fifo)
        try await harness.commit(["A"])
        try await harness.play([.resume("A")])
        try await harness.end("A", .success(.retry(after: .seconds(60))))
        try await harness.edit("A") { $0.retry() }
        #expect(harness.takeStarts() == ["A"])
        try await harness.play([.pass(.seconds(120)), .done("A")])
        #expect(harness.log.started.count == 2)
        try await harness.close()
    }

    @Test(
        "A head that waits for a person blocks only its lane, and one call retries, skips or completes it",
        arguments: [
            OperationRequest.retry, .skip, .complete,
        ]
    )
    func stuckHead(_ request: OperationRequest) async throws {
        let harness = try await PipelineHarness.open(ordering: .fifo)
        try await harness.commit(["A", "B", "C"]) { $0 == "C" ? "other" : "one" }
        try await harness.play([.resume("A", "C")])
        try await harness.end("A", .success(.wait(.manual)))
        try await harness.play([.done("C"), .pass(.seconds(3600))])
        let row = try #require(try await harness.row("A"))
        #expect(row.status == .held && row.constraint == "person" && row.attempts == 0)
        switch request {
        case .retry:
            try await harness.edit("A") { $0.retry() }
            #expect(harness.takeStarts() == ["A"])
            try await harness.play([.done("A", "B")])
        case .skip:
            try await harness.edit("A") { $0.skip() }
            #expect(harness.takeStarts() == ["B"])
        case .complete:
            try await harness.edit("A") { $0.complete() }
            #expect(harness.takeStarts() == ["B"])
        }
        try await harness.play([.done("B")])
        try await harness.close()
    }

    @Test("Ten thousand concurrent commits and ends in random order start each operation once and in order")
    func atOnce() async throws {
        let seed = Dice.seed
        var dice = Dice(seed: seed)
        let (tasks, lanes, perLane) = (8, 40, 250)
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let seen = Mutex<[String: [Int]]>([:])
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(ordering: .fifo, clock: VirtualClock())
        ) { (attempt: Attempt<Named>) in
            seen.withLock { $0[attempt.lane, default: []].append(Int(attempt.payload.name)!) }
            await Task.yield()
            return .done
        }
        let log = EventRecorder(pipeline)
        let all = (0..<lanes).flatMap { [Int](repeating: $0, count: perLane) }.shuffled(using: &dice)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<tasks {
                // Each lane belongs to one task, so its order is known.
                var rest = all.filter { $0 % tasks == task }[...]
                var sizes: [Int] = []
                while sizes.reduce(0, +) < rest.count { sizes.append(dice.number(1..<20)) }
                let commits = sizes
                group.addTask {
                    var next: [Int: Int] = [:]
                    for size in commits {
                        let some = rest.prefix(size).map { lane in
                            defer { next[lane, default: 0] += 1 }
                            return (lane, next[lane, default: 0])
                        }
                        rest = rest.dropFirst(size)
                        try await stack.background { context in
                            for (lane, number) in some {
                                context.enqueue(Named(name: "\(number)"), in: .work, lane: "\(lane)")
                            }
                            try context.commit()
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        try await pipeline.waitUntilIdle()
        let orders = seen.withLock { $0 }
        for lane in 0..<lanes { #expect(orders["\(lane)"] == Array(0..<perLane), "seed \(seed), lane \(lane)") }
        let (starts, ends) = (log.started, log.finished)
        #expect(starts.count == lanes * perLane && Set(starts).count == starts.count, "seed \(seed)")
        #expect(ends.count == lanes * perLane && Set(ends) == Set(starts), "seed \(seed)")
        try await stack.close()
    }

    @Test("Ten operations of ten commits in one lane run in order")
    func tenInOrder() async throws {
        let harness = try await PipelineHarness.open(ordering: .fifo)
        for number in 0..<10 { try await harness.commit([Entry(stringLiteral: "\(number)")]) }
        harness.pipeline.resume()
        for number in 0..<10 { try await harness.end("\(number)") }
        #expect(harness.takeStarts() == (0..<10).map { "\($0)" })
        try await harness.close()
    }

    @Test("Five lanes of 5 to 25 operations run concurrently, each in order")
    func fiveLanes() async throws {
        let harness = try await PipelineHarness.open(ordering: .fifo)
        let names = (1...5).flatMap { lane in (0..<lane * 5).map { "\(lane) \($0)" } }
        try await harness.commit(names.map { Entry(stringLiteral: $0) }) { String($0.prefix(1)) }
        harness.pipeline.resume()
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.takeStarts() == (1...5).map { "\($0) 0" })
        for name in names { try await harness.end(name) }
        let starts = harness.log.started
        #expect(starts.count == 75)
        for lane in 1...5 {
            let ids = (0..<lane * 5).map { harness.id("\(lane) \($0)") }
            #expect(starts.filter(ids.contains) == ids)
        }
        try await harness.close()
    }

    @Test("A handler's final commit can enqueue an operation in another queue, where it runs once")
    func handsOn() async throws {
        let harness = try await PipelineHarness.open()
        let other = try await Pipeline.open(
            harness.stack,
            named: "other",
            options: PipelineOptions(clock: harness.clock)
        ) { (_: Attempt<Named>) in .done }
        let log = EventRecorder(other)
        try await harness.commit(["A"])
        harness.pipeline.resume()
        try await harness.end("A", .success(.done { $0.enqueue(Named(name: "B"), in: "other") }))
        try await other.waitUntilIdle()
        let finished = try await harness.stack.background { context in
            #expect(try context.count(QueuedOperation.all) == 0)
            return try context.rows(FinishedOperation.all.sorted { $0.id.ascending })
        }
        #expect(finished.map(\.pipeline) == [.work, "other"] && finished.map(\.attempts) == [1, 1])
        #expect(finished.map(\.result) == [.completed, .completed])
        #expect(harness.log.started == [harness.id("A")] && harness.log.finished == [harness.id("A")])
        #expect(log.started.map(\.rawValue) == [finished[1].id.rawValue] && log.finished == log.started)
        try await harness.close()
    }

    @Test("A paused head is retried after its pause, and then the second operation runs")
    func pausedHead() async throws {
        let harness = try await PipelineHarness.open(ordering: .fifo)
        try await harness.commit(["A", "B"])
        try await harness.play([.resume("A")])
        try await harness.end("A", .success(.retry(after: .seconds(60))))
        try await harness.play([.pass(.seconds(59)), .pass(.seconds(2), "A"), .done("A", "B"), .done("B")])
        try await harness.close()
    }

    /// The ways to take an operation off its queue by hand.
    enum Removal: CaseIterable {
        case skip, delete

        func apply(to operation: QueuedOperation) {
            switch self {
            case .skip: operation.skip()
            case .delete: operation.owningContext?.delete(operation)
            }
        }
    }

    @Test("Removing a paused head starts the second operation at once", arguments: Removal.allCases)
    func removedHead(_ removal: Removal) async throws {
        let harness = try await PipelineHarness.open(ordering: .fifo)
        try await harness.commit(["A", "B"])
        try await harness.play([.resume("A")])
        try await harness.end("A", .success(.retry(after: .seconds(60))))
        try await harness.edit("A") { removal.apply(to: $0) }
        #expect(harness.takeStarts() == ["B"])
        #expect(try await harness.result("A") == (removal == .skip ? .skipped : nil))
        try await harness.play([.pass(.seconds(61)), .done("B")])
        // The pause is gone as well.
        #expect(try await harness.stack.background { try $0.count(OperationHold.all) } == 0)
        try await harness.close()
    }

    @Test(
        "A paused operation that is removed and queued again under its key starts with no attempts",
        arguments: Removal.allCases
    )
    func again(_ removal: Removal) async throws {
        let harness = try await PipelineHarness.open(ordering: .fifo)
        try await harness.stack.background { context in
            context.enqueue(Named(name: "A"), in: .work, key: "k")
            try context.commit()
        }
        harness.pipeline.resume()
        await harness.pipeline.waitUntilProcessed()
        let first = try #require(harness.log.started.first)
        try await harness.end("A", id: first, .success(.retry(after: .seconds(60))))
        try await harness.stack.background { context in
            removal.apply(to: try #require(try context.find(first)))
            try context.commit()
            context.enqueue(Named(name: "A"), in: .work, key: "k")
            try context.commit()
        }
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.log.started.count == 2)
        let second = try #require(harness.log.started.last)
        #expect(second != first)
        #expect(try await harness.stack.background { try $0.find(second)?.attempts } == 1)
        try await harness.end("A", id: second)
        #expect(try await harness.stack.background { try $0.finishedOperation(second)?.result } == .completed)
        // The pause of the first operation starts nothing.
        harness.clock.advance(by: .seconds(120))
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.log.started.count == 2)
        try await harness.close()
    }

    @Test("A lifo lane runs the last operation first")
    func lifo() async throws {
        let harness = try await PipelineHarness.open(ordering: .lifo)
        try await harness.commit(["A", "B"])
        try await harness.commit(["C"])
        try await harness.play([
            .resume("C"), .commit("D"), .done("C", "D"), .done("D", "B"), .done("B", "A"), .done("A"),
        ])
        try await harness.close()
    }

    @Test(
        "A permanently failed operation blocks its lane, is set aside or is discarded, depending on the policy",
        arguments: [
            FailurePolicy.blockLane, .setAside, .discard,
        ]
    )
    func failed(_ policy: FailurePolicy) async throws {
        let harness = try await PipelineHarness.open(ordering: .fifo, retry: .never, onFailure: policy)
        try await harness.commit(["A", "B", "C←A"])
        try await harness.play([.resume("A")])
        try await harness.end("A", .failure(Stop()))
        switch policy {
        case .blockLane:
            #expect(harness.takeStarts() == [])
            #expect(try await harness.row("A")?.status == .failed)
            try await harness.edit("A") { $0.skip() }
            #expect(harness.takeStarts() == ["B"])
            try await harness.play([.done("B", "C"), .done("C")])
        case .setAside:
            #expect(harness.takeStarts() == ["B"])
            try await harness.play([.done("B")])
            try await harness.edit("A") { $0.retry() }
            #expect(harness.takeStarts() == ["A"])
            try await harness.play([.done("A", "C"), .done("C")])
        case .discard:
            #expect(harness.takeStarts() == ["B"])
            #expect(try await harness.result("A") == .discarded)
            try await harness.play([.done("B", "C"), .done("C")])
        }
        try await harness.close()
    }

    @Test("Of ten thousand lanes, one stuck lane does not hold back the others")
    func poisoned() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(ordering: .fifo, clock: VirtualClock())
        ) { (attempt: Attempt<Named>) in
            attempt.lane == "7" ? .wait(.manual) : .done
        }
        let lanes = 10_000
        try await stack.background { context in
            for name in ["a", "b"] {
                for lane in 0..<lanes { context.enqueue(Named(name: name), in: .work, lane: "\(lane)") }
            }
            try context.commit()
        }
        try await pipeline.waitUntilIdle()
        let (left, finished) = try await stack.background { context in
            (
                try context.rows(QueuedOperation.all.sorted { $0.id.ascending }),
                try context.count(FinishedOperation.where { $0.result == .completed })
            )
        }
        #expect(finished == 2 * (lanes - 1))
        #expect(left.map(\.lane) == ["7", "7"] && left.map(\.status) == [.held, .waiting])
        try await stack.close()
    }
}
