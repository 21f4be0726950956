import Foundation
import StoreModels
import Strata
import StrataPipeline
import TestHomeTraits
import Testing

/// A step is each change of a file by SQLite, and each lock that SQLite takes or releases. Other processes can
/// distinguish the states of a store only at these steps. The test kills a process before a step, and another process
/// continues.
///
/// By default each test tries about 20 steps, different ones each time. `STRATA_STEPS` sets this number, and
/// `STRATA_STEPS=all` tries all steps.
@Suite("A process is killed between any two steps", .aboutTheFile("copies the file, and kills at the calls of SQLite"))
struct KilledPipelineTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let isComplete = environment["STRATA_STEPS"] == "all"
    /// The approximate number of steps to try in each test.
    private static let portion = environment["STRATA_STEPS"].flatMap { Int($0) } ?? 20

    @Test(
        "A kill during enqueueing, claiming, a handler's commit, a retry or a completion loses nothing",
        .timeLimit(.minutes(20))
    )
    func steps() async throws {
        let folder = try ScratchFolder()
        let count = try await callsOfWholeRun(folder.file("whole.sqlite"))
        #expect(count > 100, "too few steps to be true")
        for call in Self.chosen(1...count) {
            try await kill(before: call, folder.file("\(call).sqlite"), "killed before call \(call) of \(count)")
        }
    }

    @Test("A kill during the opening or the recovery after an earlier kill loses nothing", .timeLimit(.minutes(20)))
    func reclaim() async throws {
        let folder = try ScratchFolder()
        let origin = folder.file("origin.sqlite")
        // A process that dies while all of its handlers may be running.
        let whole = try await callsOfWholeRun(folder.file("whole.sqlite"))
        var call = whole / 3
        var active = 0
        while active == 0, call < whole {
            Self.remove(origin)
            _ = try await run(origin, killBefore: call)
            active = try await Self.withStack(origin) { try $0.count(QueuedOperation.where { $0.status == .active }) }
            call += 3
        }
        try #require(active > 0, "no process died with an operation in its hands")
        let opening = try await callsOfWholeRun(Self.copy(origin, to: folder.file("recovered.sqlite")))
        for call in Self.chosen(1...opening) {
            let url = try Self.copy(origin, to: folder.file("\(call).sqlite"))
            try await kill(
                before: call,
                url,
                "killed before call \(call) of \(opening) of who came after one that was killed"
            )
        }
    }

    // MARK: Runs

    /// Kills a process before a call, and runs another process after it.
    private func kill(before call: Int, _ url: URL, _ comment: Comment) async throws {
        let killed = try await run(url, killBefore: call)
        try await inspect(url, after: killed, comment)
        // Threads may run in another order, so the call may come after the last one.
        let next = try await run(url, killBefore: 0)
        #expect(next.last?.hasPrefix("done") == true, "\(comment): \(next)")
        try await check(url, comment)
        Self.remove(url)
    }

    /// Runs a process until it is killed or done. Returns the lines that it has acknowledged.
    private func run(_ url: URL, killBefore call: Int) async throws -> [String] {
        try await HelperProcess("steps", url.path, "\(call)").end()
    }

    /// The number of calls of a run without a kill.
    private func callsOfWholeRun(_ url: URL) async throws -> Int {
        let lines = try await run(url, killBefore: 0)
        let last = try #require(lines.last, "nothing came of it")
        try #require(last.hasPrefix("done "), "\(lines)")
        try await check(url, "without a kill")
        return try #require(Int(last.dropFirst(5)))
    }

    private static func chosen(_ calls: ClosedRange<Int>) -> [Int] {
        if isComplete { return Array(calls) }
        let step = max(calls.count / portion, 1)
        return Array(stride(from: Int.random(in: 1...step), through: calls.upperBound, by: step))
    }

    private static func withStack<T: Sendable>(
        _ url: URL,
        _ body: @escaping @Sendable (ObjectContext) throws -> T
    ) async throws -> T {
        let stack = try await ContextStack.open(.sqlite(url), models: [Mark.self] + Pipeline.models, stack: .rootOnly)
        let result = try await stack.background { try body($0) }
        try await stack.close()
        return result
    }

    private static func files(_ url: URL) -> [URL] {
        ["", "-wal", "-shm", "-turn"].map { URL(fileURLWithPath: url.path + $0) }
    }

    private static func copy(_ url: URL, to other: URL) throws -> URL {
        for (from, to) in zip(files(url), files(other)) where FileManager.default.fileExists(atPath: from.path) {
            try FileManager.default.copyItem(at: from, to: to)
        }
        return other
    }

    private static func remove(_ url: URL) {
        for file in files(url) { try? FileManager.default.removeItem(at: file) }
    }

    // MARK: Checks

    /// Checks the state after a kill: each commit is stored completely or not at all, and everything acknowledged is
    /// stored.
    private func inspect(_ url: URL, after lines: [String], _ comment: Comment) async throws {
        let (operations, finished, marks, torn) = try await Self.withStack(url) { context in
            (
                try context.rows(QueuedOperation.all), try context.rows(FinishedOperation.all),
                try context.rows(Mark.all).map(\.operation),
                try context.values(
                    Int.self,
                    "SELECT count(*) FROM \(QueuedOperation.self) AS o WHERE (o.status = 3) <> (o.worker IS NOT NULL)"
                )
            )
        }
        // A claimed operation has a worker, and no other operation has one.
        #expect(torn == [0], "\(comment)")
        let queued = try operations.map { try number($0.payload) } + finished.map { try number($0.payload) }
        for commit in 1...3 {
            let own = queued.filter { ($0 + 1) / 2 == commit }.sorted()
            let expected = marks.contains(Int64(-commit)) ? [2 * commit - 1, 2 * commit] : []
            #expect(own == expected, "commit \(commit), \(comment)")
            if lines.contains("queued \(commit)") { #expect(!own.isEmpty, "commit \(commit), \(comment)") }
        }
        for line in lines where line.hasPrefix("finished ") {
            let id = try #require(Int64(line.split(separator: " ")[1]))
            #expect(finished.contains { $0.id.rawValue == id }, "\(line), \(comment)")
        }
        // A handler's changes and the end of its operation are in one commit.
        for operation in operations {
            let number = try number(operation.payload)
            #expect(!marks.contains(Int64(number)), "operation \(number), \(comment)")
        }
        for operation in finished where operation.result == .completed {
            let number = try number(operation.payload)
            #expect(marks.contains(Int64(number)) == (number != 2), "operation \(number), \(comment)")
        }
    }

    /// Checks the final state: each operation has ended once with the expected result, and no other rows are left.
    private func check(_ url: URL, _ comment: Comment) async throws {
        let (left, finished, marks, integrity) = try await Self.withStack(url) { context in
            (
                try context.count(QueuedOperation.all) + context.count(OperationHold.all)
                    + context.count(OperationDependency.all) + context.count(PipelineWorker.all),
                try context.rows(FinishedOperation.all), try context.rows(Mark.all).map(\.operation),
                try context.values(String.self, "SELECT integrity_check FROM pragma_integrity_check")
            )
        }
        #expect(left == 0, "\(comment)")
        let results = try finished.map { try (number($0.payload), $0.result) }.sorted { $0.0 < $1.0 }
        #expect(results.map(\.0) == [1, 2, 3, 4, 5, 6], "\(comment)")
        #expect(results.filter { $0.1 != .completed }.map(\.0) == [4], "\(comment)")
        #expect(results.filter { $0.1 == .skipped }.map(\.0) == [4], "\(comment)")
        #expect(marks.filter { $0 > 0 }.sorted() == [1, 3, 5, 6], "\(comment)")
        let third = try finished.first { try number($0.payload) == 3 }
        #expect(third?.failures.list.count == 1 && third?.attempts == 2, "\(comment)")
        #expect(integrity == ["ok"], "\(comment)")
    }

    private func number(_ payload: Data) throws -> Int {
        struct Number: Decodable { var number: Int }
        return try JSONDecoder().decode(Number.self, from: payload).number
    }
}
