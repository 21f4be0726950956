import Foundation
import Strata
import StrataTesting
import Synchronization
import Testing

@testable import StrataPipeline

@Suite("P4 P5 P7 lanes and what blocks them", .timeLimit(.minutes(1))) struct LaneTests {
    struct Stop: Error {}

    @Test("K1 a retry after no time comes soon, and what is behind it follows")
    func retryAtOnce() async throws {
        let stage = try await Stage.open(ordering: .fifo)
        try await stage.commit(["A", "B"])
        try await stage.play([.resume("A")])
        try await stage.end("A", .success(.retry(after: .zero)))
        #expect(stage.takeStarts() == [])
        try await stage.play([.pass(.milliseconds(20), "A"), .done("A", "B"), .done("B")])
        try await stage.close()
    }

    @Test("K3 what is left over starts by itself when its pipeline is opened")
    func leftOver() async throws {
        let stage = try await Stage.open()
        await stage.pipeline.close()
        try await stage.commit(["A"])
        let (names, run) = AsyncStream.makeStream(of: String.self)
        let again = try await Pipeline.open(stage.stack, named: .work, clock: stage.clock) {
            (attempt: Attempt<Named>) in
            run.yield(attempt.payload.name)
            return .done
        }
        #expect(await names.first { _ in true } == "A")
        await again.close(grace: .seconds(60))
        #expect(try await stage.result("A") == .completed)
        try await stage.close()
    }

    @Test("K4 what sorts earlier is added while another runs: that finishes, then the earlier one, never two at once")
    func earlier() async throws {
        let stage = try await Stage.open(ordering: .fifo)
        try await stage.commit(["A", "B"])
        try await stage.play([.resume("A")])
        try await stage.commit(["E"])
        try await stage.edit("E") { $0.sortKey = -1 }
        try await stage.play([.done("A", "E"), .done("E", "B"), .done("B")])
        try await stage.close()
    }

    @Test("K5 the operation that runs is skipped: its handler is cancelled, the next one starts when it has ended")
    func skippedWhileRunning() async throws {
        let stage = try await Stage.open(ordering: .fifo)
        try await stage.commit(["A", "B"])
        try await stage.play([.resume("A")])
        try await stage.edit("A") { $0.skip() }
        try await stage.log.waitForEnd(of: stage.id("A"))
        #expect(stage.takeStarts() == ["B"])
        #expect(try await stage.result("A") == .skipped)
        #expect(stage.log.started.count { $0 == stage.id("A") } == 1)
        try await stage.play([.done("B")])
        try await stage.close()
    }

    @Test("K6 the operation that runs is given another payload: that runs when it is tried again")
    func replacedWhileRunning() async throws {
        let stage = try await Stage.open(ordering: .fifo)
        try await stage.commit(["A"])
        try await stage.play([.resume("A")])
        try await stage.edit("A") { operation in
            try operation.setPayload(Named(name: "A2"))
            operation.retry()
        }
        try await stage.log.waitForEnd(of: stage.id("A"))
        try await stage.end("A2", id: stage.id("A"))
        #expect(try await stage.result("A") == .completed)
        #expect(stage.log.started == [stage.id("A"), stage.id("A")])
        try await stage.close()
    }

    @Test(
        "K6 the same where the attempt does not heed its cancellation and is done: what it has committed stays",
        arguments: [PipelineOrdering.flat, .commits],
        [true, false]
    )
    func replacedWhileDone(_ ordering: PipelineOrdering, _ isCommitting: Bool) async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models + [Note.self], stack: .rootOnly)
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let (goes, go) = AsyncStream.makeStream(of: Never.self)
        let pipeline = try await Pipeline.open(stack, named: .work, ordering: ordering, clock: VirtualClock()) {
            (attempt: Attempt<Named>) in
            let name = attempt.payload.name
            if name == "old" {
                start.finish()
                await Task { for await _ in goes {} }.value
            }
            return isCommitting ? .done { $0.insert(Note(text: name)) } : .done
        }
        let log = EventLog(pipeline)
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

    @Test("K7 retried by hand during a pause: the pause is over, and its end starts nothing")
    func retriedInPause() async throws {
        let stage = try await Stage.open(ordering: .fifo)
        try await stage.commit(["A"])
        try await stage.play([.resume("A")])
        try await stage.end("A", .success(.retry(after: .seconds(60))))
        try await stage.edit("A") { $0.retry() }
        #expect(stage.takeStarts() == ["A"])
        try await stage.play([.pass(.seconds(120)), .done("A")])
        #expect(stage.log.started.count == 2)
        try await stage.close()
    }

    @Test(
        "K8 a head that waits for a person blocks its lane only, and one call retries, skips or completes it",
        arguments: [
            OperationRequest.retry, .skip, .complete,
        ]
    )
    func stuckHead(_ request: OperationRequest) async throws {
        let stage = try await Stage.open(ordering: .fifo)
        try await stage.commit(["A", "B", "C"]) { $0 == "C" ? "other" : "one" }
        try await stage.play([.resume("A", "C")])
        try await stage.end("A", .success(.wait(.person)))
        try await stage.play([.done("C"), .pass(.seconds(3600))])
        let row = try #require(try await stage.row("A"))
        #expect(row.status == .held && row.constraint == "person" && row.attempts == 0)
        switch request {
        case .retry:
            try await stage.edit("A") { $0.retry() }
            #expect(stage.takeStarts() == ["A"])
            try await stage.play([.done("A", "B")])
        case .skip:
            try await stage.edit("A") { $0.skip() }
            #expect(stage.takeStarts() == ["B"])
        case .complete:
            try await stage.edit("A") { $0.complete() }
            #expect(stage.takeStarts() == ["B"])
        }
        try await stage.play([.done("B")])
        try await stage.close()
    }

    @Test("K9 many commits and ends at the same moment: one start for each attempt, in order")
    func atOnce() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let seen = Mutex<[String]>([])
        let pipeline = try await Pipeline.open(stack, named: .work, ordering: .fifo, clock: VirtualClock()) {
            (attempt: Attempt<Named>) in
            seen.withLock { $0.append(attempt.payload.name) }
            await Task.yield()
            return .done
        }
        let log = EventLog(pipeline)
        await withTaskGroup(of: Void.self) { group in
            for lane in 0..<8 {
                group.addTask {
                    for number in 0..<50 {
                        try? await stack.background { context in
                            context.enqueue(Named(name: "\(lane) \(number)"), in: .work, lane: "\(lane)")
                            try context.commit()
                        }
                    }
                }
            }
        }
        try await log.wait { $0.count { if case .finished = $0 { true } else { false } } == 400 }
        let names = seen.withLock { $0 }
        #expect(names.count == 400)
        for lane in 0..<8 {
            #expect(names.filter { $0.hasPrefix("\(lane) ") } == (0..<50).map { "\(lane) \($0)" })
        }
        try await stack.close()
    }

    @Test("K11 ten operations in one lane, of ten commits, in their order")
    func tenInOrder() async throws {
        let stage = try await Stage.open(ordering: .fifo)
        for number in 0..<10 { try await stage.commit([Entry(stringLiteral: "\(number)")]) }
        stage.pipeline.resume()
        for number in 0..<10 { try await stage.end("\(number)") }
        #expect(stage.takeStarts() == (0..<10).map { "\($0)" })
        try await stage.close()
    }

    @Test("K12 five lanes of 5 to 25 operations, each in its order, side by side")
    func fiveLanes() async throws {
        let stage = try await Stage.open(ordering: .fifo)
        let names = (1...5).flatMap { lane in (0..<lane * 5).map { "\(lane) \($0)" } }
        try await stage.commit(names.map { Entry(stringLiteral: $0) }) { String($0.prefix(1)) }
        stage.pipeline.resume()
        await stage.pipeline.settled()
        #expect(stage.takeStarts() == (1...5).map { "\($0) 0" })
        for name in names { try await stage.end(name) }
        let starts = stage.log.started
        #expect(starts.count == 75)
        for lane in 1...5 {
            let ids = (0..<lane * 5).map { stage.id("\(lane) \($0)") }
            #expect(starts.filter(ids.contains) == ids)
        }
        try await stage.close()
    }

    @Test("K13 a handler queues other work in the commit of its own end")
    func handsOn() async throws {
        let stage = try await Stage.open()
        try await stage.commit(["A"])
        stage.pipeline.resume()
        try await stage.end("A", .success(.done { $0.enqueue(Named(name: "B"), in: .work) }))
        try await stage.log.wait { $0.count { if case .started = $0 { true } else { false } } == 2 }
        let (queued, finished) = try await stage.stack.background { context in
            (try context.rows(QueuedOperation.all), try context.count(FinishedOperation.all))
        }
        #expect(queued.count == 1 && finished == 1)
        try await stage.end("B", id: queued[0].id)
        #expect(stage.log.finished.count == 2)
        try await stage.close()
    }

    @Test("K14 K15 the first of two pauses: the second waits, unless the first is skipped", arguments: [true, false])
    func pausedHead(_ isSkipped: Bool) async throws {
        let stage = try await Stage.open(ordering: .fifo)
        try await stage.commit(["A", "B"])
        try await stage.play([.resume("A")])
        try await stage.end("A", .success(.retry(after: .seconds(60))))
        if isSkipped {
            try await stage.play([.skip("A", "B"), .pass(.seconds(61)), .done("B")])
        } else {
            try await stage.play([.pass(.seconds(59)), .pass(.seconds(2), "A"), .done("A", "B"), .done("B")])
        }
        try await stage.close()
    }

    @Test("K16 the only operation, paused, is skipped and queued again under its key: it begins with no attempts")
    func again() async throws {
        let stage = try await Stage.open(ordering: .fifo)
        try await stage.stack.background { context in
            context.enqueue(Named(name: "A"), in: .work, key: "k")
            try context.commit()
        }
        stage.pipeline.resume()
        await stage.pipeline.settled()
        let first = try #require(stage.log.started.first)
        try await stage.end("A", id: first, .success(.retry(after: .seconds(60))))
        try await stage.stack.background { context in
            try context.find(first)?.skip()
            try context.commit()
            context.enqueue(Named(name: "A"), in: .work, key: "k")
            try context.commit()
        }
        await stage.pipeline.settled()
        let second = try #require(stage.log.started.last)
        #expect(second != first)
        #expect(try await stage.stack.background { try $0.find(second)?.attempts } == 1)
        try await stage.close()
    }

    @Test("K17 last in, first out")
    func lifo() async throws {
        let stage = try await Stage.open(ordering: .lifo)
        try await stage.commit(["A", "B"])
        try await stage.commit(["C"])
        try await stage.play([
            .resume("C"), .commit("D"), .done("C", "D"), .done("D", "B"), .done("B", "A"), .done("A"),
        ])
        try await stage.close()
    }

    @Test(
        "L8 what has failed for good blocks its lane, is parked, or dropped",
        arguments: [
            FailurePolicy.block, .park, .drop,
        ]
    )
    func failed(_ policy: FailurePolicy) async throws {
        let stage = try await Stage.open(ordering: .fifo, retry: .never, whenFailed: policy)
        try await stage.commit(["A", "B", "C←A"])
        try await stage.play([.resume("A")])
        try await stage.end("A", .failure(Stop()))
        switch policy {
        case .block:
            #expect(stage.takeStarts() == [])
            #expect(try await stage.row("A")?.status == .failed)
            try await stage.edit("A") { $0.skip() }
            #expect(stage.takeStarts() == ["B"])
            try await stage.play([.done("B", "C"), .done("C")])
        case .park:
            #expect(stage.takeStarts() == ["B"])
            try await stage.play([.done("B")])
            try await stage.edit("A") { $0.retry() }
            #expect(stage.takeStarts() == ["A"])
            try await stage.play([.done("A", "C"), .done("C")])
        case .drop:
            #expect(stage.takeStarts() == ["B"])
            #expect(try await stage.result("A") == .dropped)
            try await stage.play([.done("B", "C"), .done("C")])
        }
        try await stage.close()
    }

    @Test("L9 a thousand lanes of which one is stuck: all others go on")
    func poisoned() async throws {
        let stage = try await Stage.open(ordering: .fifo)
        let names = (0..<1000).flatMap { ["\($0) a", "\($0) b"] }
        try await stage.commit(names.map { Entry(stringLiteral: $0) }) { String($0.split(separator: " ")[0]) }
        stage.pipeline.resume()
        try await stage.end("7 a", .success(.wait(.person)))
        for name in names where !name.hasPrefix("7 ") { try await stage.end(name) }
        #expect(stage.log.finished.count == 1998)
        #expect(try await stage.row("7 b")?.status == .waiting)
        try await stage.close()
    }
}
