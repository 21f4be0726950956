import Foundation
import StoreModels
import Strata
import Testing

@testable import StrataPipeline

private struct Chore: OperationPayload {
    var number: Int
}

@Suite("Limits that several processes share, of which some are killed", .timeLimit(.minutes(5)))
struct LimitProcessTests {
    private static let processCount = 3
    private static let lanes = 4
    private static let perLane = 100
    private static let maximumKills = 6

    /// The entries of the process log, and the number of entries up to which each killed process surely lived.
    private struct Record {
        var entries: [ProcessLogEntry] = []
        var ends: [Int32: Int] = [:]
        var losses = 0
    }

    @Test("All processes together never run more attempts than the limit, although processes are killed")
    func concurrency() async throws {
        let limit = 3
        let folder = try ScratchFolder()
        let stack = try await Self.open(folder)
        let record = try await Self.run(stack, folder, limit: limit, rate: 0)
        #expect(record.losses > 0, "no process was killed during an operation")
        let most = Self.mostConcurrent(record)
        #expect(most == limit, "\(most) ran at once")
        let results = try await stack.background { try $0.rows(FinishedOperation.all).map(\.result) }
        #expect(results.count == Self.lanes * Self.perLane && results.allSatisfy { $0 == .completed })
        try await stack.close()
    }

    @Test("Each lane starts exactly as many attempts as its rate limit allows, although processes are killed")
    func rate() async throws {
        let (limit, rate) = (3, 20)
        let folder = try ScratchFolder()
        let stack = try await Self.open(folder)
        let record = try await Self.run(stack, folder, limit: limit, rate: rate)
        #expect(Self.mostConcurrent(record) <= limit)
        let (finished, tokens) = try await stack.background { context in
            (try context.column(FinishedOperation.all, \.lane), try context.column(LaneBudget.all, \.tokens))
        }
        // A day has one token for each 72 minutes, so the test sees the first ones only.
        #expect(tokens.count == Self.lanes && tokens.allSatisfy { $0 < 1 }, "\(tokens)")
        for lane in 0..<Self.lanes {
            let begun = record.entries.count { !$0.isEnd && $0.lane == "\(lane)" }
            let ended = finished.count { $0 == "\(lane)" }
            // Each killed process may have started two attempts, also before their handlers begin.
            #expect(begun <= rate && ended <= rate, "lane \(lane): \(begun) begun, \(ended) finished")
            #expect(ended >= rate - Self.maximumKills * 2, "lane \(lane): \(ended) finished")
        }
        try await stack.close()
    }

    private static func open(_ folder: ScratchFolder) async throws -> ContextStack {
        let stack = try await ContextStack.open(
            .sqlite(folder.file("s.sqlite")),
            models: Pipeline.models,
            stack: .rootOnly
        )
        try await stack.background { context in
            for number in 0..<Self.perLane {
                for lane in 0..<Self.lanes { context.enqueue(Chore(number: number), in: "chores", lane: "\(lane)") }
            }
            try context.commit()
        }
        return stack
    }

    /// Lets several processes work until no operation runs or is ready, and kills and replaces some of them.
    private static func run(
        _ stack: ContextStack,
        _ folder: ScratchFolder,
        limit: Int,
        rate: Int
    ) async throws -> Record {
        let path = folder.file("s.sqlite").path
        let processLog = try ProcessLog(path + ".diary")
        func worker() throws -> HelperProcess { try HelperProcess("limited", path, "\(limit)", "\(rate)") }
        var record = Record()
        var workers = try (0..<processCount).map { _ in try worker() }
        let total = rate > 0 ? lanes * rate : lanes * perLane
        let deadline = Date(timeIntervalSinceNow: 150)
        while Date() < deadline {
            let (active, pending, finished) = try await counts(stack)
            #expect(active <= limit, "\(active) active operations")
            if active == 0, pending == 0, finished > 0 { break }
            try await Task.sleep(for: .milliseconds(Int.random(in: 5...25)))
            // The kills are spread over the whole queue.
            guard record.ends.count < maximumKills, finished >= record.ends.count * total / (maximumKills + 2) else {
                continue
            }
            let place = Int.random(in: 0..<workers.count)
            let victim = workers[place].id
            guard try processLog.entries().contains(where: { $0.process == victim }) else { continue }
            let living = try processLog.entries().count
            workers[place].kill()
            await workers[place].wait()
            // Another process may have begun operations after the kill, and before this process reads the log.
            let last = try processLog.entries().lastIndex { $0.process == victim } ?? 0
            record.ends[victim] = max(living, last + 1)
            if try await stack.background({ try Self.isHolding(victim, $0) }) { record.losses += 1 }
            workers[place] = try worker()
        }
        for worker in workers {
            worker.kill()
            await worker.wait()
        }
        let (active, pending, _) = try await counts(stack)
        #expect(active == 0 && pending == 0, "\(active) active and \(pending) pending operations are left")
        record.entries = try processLog.entries()
        return record
    }

    private static func counts(_ stack: ContextStack) async throws -> (active: Int, pending: Int, finished: Int) {
        try await stack.background { context in
            (
                try context.count(QueuedOperation.where { $0.status == .active }),
                try context.count(QueuedOperation.where { $0.status == .pending }),
                try context.count(FinishedOperation.all)
            )
        }
    }

    /// Whether the store says that a process runs an operation.
    private static func isHolding(_ process: Int32, _ context: ObjectContext) throws -> Bool {
        let workers = try context.rows(PipelineWorker.where { $0.process == Int(process) }).map(\.id.rawValue)
        return try context.rows(QueuedOperation.where { $0.status == .active }).contains { row in
            row.worker.map(workers.contains) ?? false
        }
    }

    /// The greatest number of handlers that ran at the same time. The handlers of a killed process have ended with it.
    private static func mostConcurrent(_ record: Record) -> Int {
        var running: [Int32: Int] = [:]
        var most = 0
        for (place, entry) in record.entries.enumerated() {
            for (process, end) in record.ends where end <= place { running[process] = nil }
            running[entry.process, default: 0] += entry.isEnd ? -1 : 1
            most = max(most, running.values.reduce(0, +))
        }
        return most
    }
}
