import Foundation
import StoreModels
import Strata
import Testing

@testable import StrataPipeline

private struct Chore: OperationPayload {
    var number: Int
}

@Suite("Several processes drain one pipeline and are killed") struct PipelineProcessTests {
    private static let lanes = 6
    private static let perLane = 200
    /// The maximum number of killed processes, and the minimum number of those that must have run an operation when
    /// killed.
    private static let maximumKills = 20
    private static let minimumLosses = 10

    @Test(
        "Every operation ends and is counted exactly once although processes are killed, and lanes keep their order",
        .timeLimit(.minutes(5)),
        arguments: [2, 4]
    )
    func killed(_ count: Int) async throws {
        let folder = try ScratchFolder()
        let url = folder.file("s.sqlite")
        let processLog = try ProcessLog(url.path + ".diary")
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
        var workers = try (0..<count).map { _ in try HelperProcess("drain", url.path) }
        var killed: Set<Int32> = []
        var losses = 0
        let deadline = Date(timeIntervalSinceNow: 120)
        let total = Self.lanes * Self.perLane
        while Date() < deadline {
            let left = try await stack.background { try $0.count(QueuedOperation.all) }
            if left == 0 { break }
            try await Task.sleep(for: .milliseconds(Int.random(in: 10...50)))
            let place = Int.random(in: 0..<workers.count)
            let victim = workers[place].id
            // The kills are spread over the whole queue.
            let isDue =
                total - left >= killed.count * total / (Self.maximumKills + 1) && killed.count < Self.maximumKills
            guard isDue, try processLog.entries().contains(where: { $0.process == victim }) else { continue }
            // Every second kill waits for an operation, because a process whose home is slow is often between two.
            if killed.count.isMultiple(of: 2), try await !stack.background({ try Self.isHolding(victim, $0) }) {
                continue
            }
            workers[place].kill()
            await workers[place].wait()
            killed.insert(victim)
            if try await stack.background({ try Self.isHolding(victim, $0) }) { losses += 1 }
            workers[place] = try HelperProcess("drain", url.path)
        }
        for worker in workers { await worker.wait() }
        let comment: Comment = "\(killed.count) kills, \(losses) of them during an operation"
        #expect(losses >= Self.minimumLosses, comment)
        let (left, marks, finished) = try await stack.background { context in
            (
                try context.rows(QueuedOperation.all), try context.rows(Mark.all).map(\.operation),
                try context.rows(FinishedOperation.all)
            )
        }
        #expect(left.isEmpty, "\(comment): \(left.map { "\($0.id) \($0.status)" })")
        #expect(marks.count == total && Set(marks).count == marks.count, comment)
        #expect(finished.count == total && finished.allSatisfy { $0.result == .completed }, comment)
        // A killed process uses no attempt.
        #expect(finished.allSatisfy { $0.attempts == 1 }, comment)
        let counted = try await stack.background { try $0.column(Counter.all, \.last) }
        #expect(counted == [total], comment)
        let entries = try processLog.entries()
        for lane in 0..<Self.lanes { Self.check(entries, lane: "\(lane)", killed, comment) }
        try await stack.close()
    }

    /// Whether the store says that a process runs an operation.
    private static func isHolding(_ process: Int32, _ context: ObjectContext) throws -> Bool {
        let workers = try context.rows(PipelineWorker.where { $0.process == Int(process) }).map(\.id.rawValue)
        return try context.rows(QueuedOperation.where { $0.status == .active }).contains { row in
            row.worker.map(workers.contains) ?? false
        }
    }

    /// Checks that the operations of a lane began in order, each after the handler of the previous one had ended. An
    /// operation may begin again only if the process that ran it was killed before and writes nothing more.
    private static func check(_ entries: [ProcessLogEntry], lane: String, _ killed: Set<Int32>, _ comment: Comment) {
        let last = Dictionary(entries.enumerated().map { ($1.process, $0) }) { $1 }
        var former: ProcessLogEntry?
        var ended = -1
        for (place, entry) in entries.enumerated() where entry.lane == lane {
            if entry.isEnd {
                let isOfFormer = former?.process == entry.process && former?.number == entry.number
                #expect(isOfFormer, "\(entry) ends behind \(former as Any), \(comment)")
                ended = entry.number
            } else {
                let isNext = entry.number == ended + 1 && ended == former?.number ?? -1
                let isDead = former.map { killed.contains($0.process) && last[$0.process]! < place } ?? false
                let isAgain = entry.number == former?.number && isDead
                #expect(isNext || isAgain, "\(entry) begins behind \(former as Any), \(ended) has ended, \(comment)")
                former = entry
            }
        }
        #expect(ended == perLane - 1, "lane \(lane), \(comment)")
    }

    @Test(
        "An operation runs again under its id if its process is killed before the handler's result is stored",
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
        let worker = try HelperProcess("handle", url.path)
        #expect(try await worker.next() == "started \(id.rawValue)")
        // The held writer prevents the end of the operation from being stored.
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
        #expect(finished.map(\.id.rawValue) == [id.rawValue] && finished.first?.attempts == 1)
        try await stack.close()
    }
}
