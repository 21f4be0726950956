import Foundation
import StoreModels
import Strata
import StrataPipeline
import Testing

private struct Chore: OperationPayload {
    var number: Int
}

@Suite("P12 L1 L2 L3 several processes drain one pipeline, and are killed") struct ProcessTests {
    private static let lanes = 6
    private static let perLane = 40

    @Test(
        "every operation ends once, with its mark, and is counted once in a row of all of them, and lanes keep their order",
        .timeLimit(.minutes(5))
    )
    func killed() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("s.sqlite")
        let models: [any Model.Type] = [Mark.self, Counter.self]
        let stack = try await ContextStack.open(.sqlite(url), models: models + Pipeline.models, stack: .rootOnly)
        try await stack.background { context in
            context.insert(Counter())
            for number in 0..<Self.perLane {
                for lane in 0..<Self.lanes {
                    context.enqueue(Chore(number: number), in: "chores", lane: "\(lane)")
                }
            }
            try context.commit()
        }
        var workers = try (0..<3).map { _ in try Child("drain", url.path) }
        var kills = 0
        let deadline = Date(timeIntervalSinceNow: 120)
        while try await stack.background({ try $0.count(QueuedOperation.all) }) > 0, Date() < deadline {
            try await Task.sleep(for: .milliseconds(Int.random(in: 100...300)))
            guard kills < 12 else { continue }
            let victim = Int.random(in: 0..<workers.count)
            workers[victim].kill()
            await workers[victim].wait()
            kills += 1
            workers[victim] = try Child("drain", url.path)
        }
        for worker in workers { await worker.wait() }
        let (left, marks, finished) = try await stack.background { context in
            (
                try context.rows(QueuedOperation.all), try context.rows(Mark.all).map(\.operation),
                try context.rows(FinishedOperation.all.sorted { $0.finishedAt })
            )
        }
        #expect(left.isEmpty, "after \(kills) kills: \(left.map { "\($0.id) \($0.status)" })")
        #expect(marks.count == Self.lanes * Self.perLane && Set(marks).count == marks.count, "after \(kills) kills")
        #expect(finished.count == Self.lanes * Self.perLane && finished.allSatisfy { $0.result == .completed })
        let counted = try await stack.background { try $0.column(Counter.all, \.last) }
        #expect(counted == [Self.lanes * Self.perLane], "after \(kills) kills")
        for lane in 0..<Self.lanes {
            let ids = finished.filter { $0.lane == "\(lane)" }.map(\.id.number)
            #expect(ids == ids.sorted(), "lane \(lane) after \(kills) kills")
        }
        #expect(kills > 0)
        try await stack.close()
    }

    @Test(
        "T8 killed after its handler has returned and before that is in the store: delivered again, under the same id",
        .timeLimit(.minutes(1))
    )
    func handled() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("s.sqlite")
        let stack = try await ContextStack.open(.sqlite(url), models: [Mark.self] + Pipeline.models, stack: .rootOnly)
        let id = try await stack.background { context in
            let operation = context.enqueue(Chore(number: 1), in: "chores")
            try context.commit()
            return operation.id
        }
        let worker = try Child("handle", url.path)
        #expect(try await worker.next() == "started \(id.number)")
        // Whoever writes keeps the end of the operation from being written.
        let writer = await HeldWriter(stack)
        #expect(try await worker.next() == "handled")
        try await Task.sleep(for: .milliseconds(50))
        worker.kill()
        await worker.wait()
        writer.release()
        #expect(try await stack.background { try $0.find(id)?.status } == .active)
        let (ended, end) = AsyncStream.makeStream(of: ObjectID<QueuedOperation>.self)
        let pipeline = try await Pipeline.open(stack, named: "chores") { (attempt: Attempt<Chore>) in
            end.yield(attempt.id)
            end.finish()
            return .done
        }
        var delivered: [ObjectID<QueuedOperation>] = []
        for await other in ended { delivered.append(other) }
        #expect(delivered == [id])
        await pipeline.close(grace: .seconds(10))
        let finished = try await stack.background { try $0.rows(FinishedOperation.all) }
        #expect(finished.map(\.id.number) == [id.number] && finished.first?.attempts == 1)
        try await stack.close()
    }
}
