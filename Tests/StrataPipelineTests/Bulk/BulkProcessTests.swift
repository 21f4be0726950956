import Foundation
import StoreModels
import Strata
import Testing

@testable import StrataPipeline

private struct Chore: OperationPayload {
    var number: Int
}

@Suite("Bulk actions beside other processes") struct BulkProcessTests {
    private static let count = 200
    /// The number of calls at which the test kills a process, unless `STRATA_STEPS=all` asks for all of them.
    private static let portion = 30

    private static func open(_ url: URL) async throws -> ContextStack {
        let models: [any Model.Type] = [Mark.self, Counter.self]
        return try await ContextStack.open(.sqlite(url), models: models + Pipeline.models, stack: .rootOnly)
    }

    @Test("A kill at any step of a bulk action leaves all of its effects or none", .timeLimit(.minutes(10)))
    func killed() async throws {
        let folder = try ScratchFolder()
        let whole = try await Self.prepare(folder.file("whole.sqlite"))
        let lines = try await HelperProcess("bulk", whole.path, "0").end()
        #expect(lines.first == "retried \(Self.count)")
        let last = try #require(lines.last)
        let calls = try #require(last.hasPrefix("done ") ? Int(last.dropFirst(5)) : nil, "\(lines)")
        try #require(calls > 5, "too few calls to be true")
        #expect(try await Self.statuses(whole) == [.pending: Self.count])
        let isComplete = ProcessInfo.processInfo.environment["STRATA_STEPS"] == "all"
        for call in stride(from: 1, through: calls, by: isComplete ? 1 : max(calls / Self.portion, 1)) {
            let url = try await Self.prepare(folder.file("\(call).sqlite"))
            let lines = try await HelperProcess("bulk", url.path, "\(call)").end()
            let statuses = try await Self.statuses(url)
            let isDone = statuses == [.pending: Self.count]
            #expect(isDone || statuses == [.failed: Self.count], "killed before call \(call): \(statuses)")
            if !lines.isEmpty { #expect(isDone, "killed before call \(call) after \(lines)") }
        }
    }

    /// Creates a store with failed operations.
    private static func prepare(_ url: URL) async throws -> URL {
        let stack = try await ContextStack.open(.sqlite(url), models: Pipeline.models, stack: .rootOnly)
        try await stack.background { context in
            for number in 0..<count { context.enqueue(Chore(number: number), in: "chores", tags: ["import"]) }
            try context.commit()
        }
        try stack.transact(author: "test") { transaction in
            let numbers = try transaction.numbers("SELECT \"id\" FROM \"QueuedOperation\"", [])
            try transaction.run(
                "UPDATE \"QueuedOperation\" SET \"status\" = 4, \"attempts\" = 10, \"_version\" = ?",
                [.integer(transaction.number)]
            )
            try transaction.report(updated: numbers, ["status", "attempts"], of: QueuedOperation.self)
        }
        try await stack.close()
        return url
    }

    private static func statuses(_ url: URL) async throws -> [OperationStatus: Int] {
        let stack = try await ContextStack.open(.sqlite(url), models: Pipeline.models, stack: .rootOnly)
        let all = try await stack.background { try $0.column(QueuedOperation.all, \.status) }
        try await stack.close()
        return Dictionary(grouping: all) { $0 }.mapValues(\.count)
    }

    @Test(
        "While two processes work, bulk actions of a third one lose nothing, and each operation ends once",
        .timeLimit(.minutes(3))
    )
    func working() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("s.sqlite")
        let stack = try await Self.open(url)
        let (lanes, perLane) = (6, 60)
        try await stack.background { context in
            context.insert(Counter())
            for number in 0..<(lanes * perLane) {
                let tags = number % 5 == 0 ? ["unwanted"] : ["wanted", "part \(number % 3)"]
                context.enqueue(Chore(number: number), in: "chores", lane: "\(number % lanes)", tags: tags)
            }
            try context.commit()
        }
        let workers = try (0..<2).map { _ in try HelperProcess("drain", url.path) }
        let isRunning = QueuedOperation.where { $0.status == .active }
        // At least one operation runs when the actions begin.
        while try await stack.background({ try $0.count(isRunning) + $0.count(FinishedOperation.all) }) == 0 {
            try await Task.sleep(for: .milliseconds(1))
        }
        let skipped = try await stack.background { context in
            try context.skipOperations(QueuedOperation.where { $0.hasTag("unwanted") }, running: .cancel)
        }
        for round in 0..<20 {
            try await stack.background { context in
                let part = QueuedOperation.where { $0.hasTag("part \(round % 3)") }
                try context.holdOperations(part, "audit", until: .distantFuture)
                try context.setPriority(round, of: part)
                try context.releaseOperations(QueuedOperation.all, from: "audit")
                try context.retryOperations(part)
            }
        }
        for worker in workers { await worker.wait() }
        let (left, finished, marks, counter) = try await stack.background { context in
            (
                try context.count(QueuedOperation.all) + context.count(OperationHold.all),
                try context.rows(FinishedOperation.all), try context.rows(Mark.all).map(\.operation),
                try #require(try context.first(Counter.all)).last
            )
        }
        #expect(left == 0)
        #expect(finished.count == lanes * perLane)
        // A handler may have completed its operation before the request to skip it.
        #expect(skipped > 0 && finished.count { $0.result == .skipped } <= skipped)
        let completed = finished.filter { $0.result == .completed }.map(\.id.rawValue)
        #expect(marks.sorted() == completed.sorted())
        #expect(counter == completed.count)
        try await stack.close()
    }
}
