import Foundation
import Strata
import StrataInspection
import StrataPipeline
import Testing

@testable import StrataConsole

/// Pages read bounded portions by indexes, however many lanes, operations and runs the store has.
@Suite("Plans of the console's queries about queues", .timeLimit(.minutes(1))) struct QueuePlanTests {
    private static let statuses = "INDEX QueuedOperation_status_pipeline_rank_commit_index"
    private static let lanes = "INDEX QueuedOperation_pipeline_lane_sortKey_commit_index"

    private static func plan(_ sql: SQL, _ stack: ContextStack) async throws -> [String] {
        try await stack.background { context in
            try context.rows("EXPLAIN QUERY PLAN \(sql)").map { try $0.value(String.self, "detail") }
        }
    }

    private static func open() async throws -> ContextStack {
        try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
    }

    @Test("Lanes are found one after the other in their index")
    func lanes() async throws {
        let stack = try await Self.open()
        for after in [nil, "", "a"] as [String?] {
            let names = try await Self.plan(LaneSQL.names(of: "photos", after: after, limit: 26), stack)
            let searches = names.filter { $0.contains(Self.lanes) }
            #expect(searches.count == 2, "\(names)")
            #expect(searches.allSatisfy { $0.contains("COVERING \(Self.lanes) (pipeline=? AND lane>?)") }, "\(names)")
            #expect(!names.contains { $0.contains("SCAN QueuedOperation") || $0.contains("SCAN o") }, "\(names)")
        }
        let count = try await Self.plan(LaneSQL.count(of: "a", "photos", limit: 1000), stack)
        #expect(count.contains { $0.contains("COVERING \(Self.lanes) (pipeline=? AND lane=?)") }, "\(count)")
        try await stack.close()
    }

    @Test("The first operation of a lane is found without reading the lane")
    func heads() async throws {
        let stack = try await Self.open()
        for isNewestFirst in [false, true] {
            let first = try await Self.plan(LaneSQL.first(of: "a", "photos", isNewestFirst: isNewestFirst), stack)
            #expect(first.count == 1 && first.first?.contains("\(Self.lanes) (pipeline=? AND lane=?)") == true)
            let sql = LaneSQL.firstUnfailed(of: "a", "photos", isNewestFirst: isNewestFirst, limit: 10)
            let unfailed = try await Self.plan(sql, stack)
            #expect(unfailed.contains { $0.contains("\(Self.lanes) (pipeline=? AND lane=?)") }, "\(unfailed)")
        }
        let running = try await Self.plan(LaneSQL.running(in: "a", "photos"), stack)
        #expect(running.first?.contains("\(Self.statuses) (status=? AND pipeline=?)") == true, "\(running)")
        let failed = try await Self.plan(LaneSQL.lanes(of: "photos", .failed, limit: 10), stack)
        #expect(failed.count == 1 && failed.first?.contains("\(Self.statuses) (status=? AND pipeline=?)") == true)
        let bucket = try await Self.plan(LaneSQL.bucket(of: "a", "photos"), stack)
        #expect(bucket.first?.contains("(pipeline=? AND lane=?)") == true, "\(bucket)")
        try await stack.close()
    }

    @Test("Operations are counted in the index of the statuses, and finished ones in the index of the times")
    func counts() async throws {
        let stack = try await Self.open()
        let totals = try await Self.plan(OperationCounts.byQueue, stack)
        #expect(totals.count == 1 && totals.first?.contains("COVERING \(Self.statuses)") == true, "\(totals)")
        let counts = try await Self.plan(OperationCounts.byStatus(of: "photos"), stack)
        let step = "COVERING \(Self.statuses) (status=? AND pipeline=?)"
        #expect(counts.contains { $0.contains(step) }, "\(counts)")
        let held = try await Self.plan(OperationCounts.pendingWithHold(of: "photos", at: Date()), stack)
        #expect(held.first { $0.hasPrefix("SEARCH") }?.contains(step) == true, "\(held)")
        #expect(held.contains { $0.contains("SEARCH h") && $0.contains("(operation=?)") }, "\(held)")
        #expect(!held.contains { $0.contains("SCAN") }, "\(held)")
        let oldest = try await Self.plan(OperationCounts.oldest(of: "photos", .pending, priorities: 10), stack)
        #expect(!oldest.contains { $0.contains("SCAN QueuedOperation") || $0.contains("SCAN o") }, "\(oldest)")
        let finished = try await Self.plan(FinishedCounts.byMinute(from: Date(), minutes: 60, limit: 10), stack)
        let times = "COVERING INDEX FinishedOperation_finishedAt_index (finishedAt>? AND finishedAt<?)"
        #expect(finished.contains { $0.contains(times) }, "\(finished)")
        #expect(!finished.contains { $0.contains("SCAN FinishedOperation") }, "\(finished)")
        try await stack.close()
    }

    @Test("Workers and schedules are read in the order of an index")
    func lists() async throws {
        let stack = try await Self.open()
        let workers = try await Self.plan(WorkerSQL.workers(after: 5, limit: 10), stack)
        #expect(workers.contains { $0.contains("SEARCH w USING INTEGER PRIMARY KEY (rowid>?)") }, "\(workers)")
        #expect(workers.contains { $0.contains("SEARCH h USING INTEGER PRIMARY KEY (rowid=?)") }, "\(workers)")
        let running = try await Self.plan(WorkerSQL.runningCounts, stack)
        #expect(running.contains { $0.contains("\(Self.statuses) (status=?)") }, "\(running)")
        let schedules = try await Self.plan(ScheduleRow.select(offset: 50, limit: 51), stack)
        #expect(!schedules.contains { $0.contains("TEMP B-TREE") }, "\(schedules)")
        try await stack.close()
    }

    @Test("Counts of minutes end at their limit, and belong to their minutes")
    func minutes() async throws {
        let stack = try await Self.open()
        let now = Date()
        try await ConsoleFixture.enqueue(["photos", "photos", "photos"], on: stack)
        try await stack.background { context in _ = try context.skipOperations(QueuedOperation.all) }
        let start = now.addingTimeInterval(-90)
        let (all, limited) = try await stack.background { context in
            (
                try context.finishedCounts(from: start, minutes: 4, limit: 10),
                try context.finishedCounts(from: start, minutes: 4, limit: 2)
            )
        }
        #expect(all == [0, 3, 0, 0])
        #expect(limited == [0, 2, 0, 0])
        try await stack.close()
    }

    @Test("The summary of one queue counts the operations of this queue that have holds, each of them once")
    func holds() async throws {
        let stack = try await Self.open()
        try await ConsoleFixture.enqueue(["photos", "photos", "photos", "letters"], on: stack)
        try await stack.background { context in
            let photos = try context.fetch(QueuedOperation.where { $0.pipeline == "photos" })
            for name in ["audit", "budget"] { try photos[0].hold(name, until: .distantFuture) }
            try photos[1].hold("audit", until: .distantPast)
            let letter = try #require(try context.first(QueuedOperation.where { $0.pipeline == "letters" }))
            try letter.hold("audit", until: .distantFuture)
            try context.commit()
            let summary = try #require(try context.queueSummary(of: "photos"))
            #expect(summary.counts[.held] == 1 && summary.counts[.pending] == 2)
            #expect(try context.queueCounts()["photos"] == summary.counts)
        }
        try await stack.close()
    }

    @Test("The summary of one queue is that of the list, and unknown queues do not have one")
    func summary() async throws {
        let stack = try await Self.open()
        try await ConsoleFixture.enqueue(["photos", "photos", "letters"], on: stack)
        try await stack.background { context in
            let known = try #require(try context.queueSummary(of: "photos"))
            let listed = try #require(try context.queueSummaries(limit: 10).last)
            #expect(known.name == listed.name && known.counts == listed.counts && known.oldest == listed.oldest)
            let counted = try context.queueSummary(of: "photos", counts: context.queueCounts()["photos"])
            #expect(counted?.counts == known.counts)
            let rest = try context.queueSummaries(from: 1, limit: 10, counts: context.queueCounts()).map(\.name)
            #expect(rest == ["photos"])
            let ready = try context.oldestOperation(of: "photos", .pending)
            #expect(ready == known.oldest)
            let failed = try context.oldestOperation(of: "photos", .failed)
            #expect(failed == nil)
            let unknown = try context.queueSummary(of: "other")
            #expect(unknown == nil)
        }
        try await stack.close()
    }
}
