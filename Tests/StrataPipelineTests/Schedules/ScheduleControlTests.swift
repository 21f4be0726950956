import Foundation
import StoreModels
import Strata
import StrataTesting
import Testing

@testable import StrataPipeline

@Suite("Control of schedules", .timeLimit(.minutes(1))) struct ScheduleControlTests {
    private struct Failure: Error, CustomStringConvertible {
        var description: String { "the disk is full" }
    }

    private func schedule(
        _ harness: PipelineHarness,
        overlap: OverlapPolicy = .skip,
        catchUp: CatchUp = .one
    ) async throws {
        try await harness.stack.background { context in
            try context.schedule(
                "tick",
                Named(name: "tick"),
                in: .work,
                overlap: overlap,
                catchUp: catchUp,
                .every(.seconds(60))
            )
            try context.commit()
        }
        await harness.pipeline.waitUntilProcessed()
    }

    private func pass(_ harness: PipelineHarness, _ seconds: Int) async {
        harness.clock.advance(by: .seconds(seconds))
        await harness.pipeline.waitUntilProcessed()
    }

    private func runs(_ harness: PipelineHarness) async throws -> [ScheduledRun] {
        try await harness.stack.background { try $0.scheduledRuns(of: "tick") }
    }

    private func snapshot(_ harness: PipelineHarness) async throws -> ScheduleSnapshot {
        try await harness.stack.background { try #require(try $0.scheduleSnapshots().first) }
    }

    @Test("A run on request is queued at once, and does not move the schedule")
    func runNow() async throws {
        let harness = try await PipelineHarness.open()
        let start = harness.clock.now
        try await schedule(harness)
        await pass(harness, 20)
        let now = harness.clock.now
        let id = try await harness.stack.background { context in
            let operation = try context.runScheduleNow("tick", at: now)
            try context.commit()
            return operation.id
        }
        await harness.pipeline.waitUntilProcessed()
        let snapshot = try await snapshot(harness)
        #expect(snapshot.nextAt == start.addingTimeInterval(60) && snapshot.lastAt == nil)
        #expect(snapshot.runs.map(\.operation) == [id] && snapshot.runs.first?.outcome == .queued)
        #expect(snapshot.runs.first?.dueAt == nil && snapshot.runs.first?.queuedAt == now)
        harness.pipeline.resume()
        try await harness.end("tick", id: id)
        #expect(try await runs(harness).map(\.outcome) == [.completed])
        // The due operation comes as before.
        await pass(harness, 40)
        #expect(try await runs(harness).map(\.dueAt) == [start.addingTimeInterval(60), nil])
        let payload = try await harness.stack.background { context in
            try context.first(QueuedOperation.all)?.payload(as: Named.self)
        }
        #expect(payload == Named(name: "tick"))
        try await harness.close()
    }

    @Test("The last runs have their times, results and errors, also when finished operations are gone")
    func results() async throws {
        let harness = try await PipelineHarness.open(retry: RetryPolicy(maxAttempts: 1))
        let start = harness.clock.now
        harness.pipeline.resume()
        try await schedule(harness)
        await pass(harness, 60)
        let running = try #require(try await runs(harness).first)
        #expect(running.outcome == .running && running.startedAt == harness.clock.now && running.finishedAt == nil)
        #expect(running.dueAt == start.addingTimeInterval(60))
        await pass(harness, 5)
        try await harness.end("tick", id: running.operation)
        await pass(harness, 55)
        let failing = try #require(try await runs(harness).first)
        try await harness.end("tick", id: failing.operation, .failure(Failure()))
        #expect(try await runs(harness).map(\.outcome) == [.failed, .completed])
        #expect(try await runs(harness).first?.error == "the disk is full")
        try await harness.stack.background { context in
            try context.find(failing.operation)?.skip()
            for operation in try context.fetch(FinishedOperation.all) { context.delete(operation) }
            try context.commit()
        }
        await harness.pipeline.waitUntilProcessed()
        let ended = try await runs(harness)
        #expect(ended.map(\.outcome) == [.skipped, .completed])
        #expect(ended.first?.error == "the disk is full" && ended.last?.error == nil)
        #expect(ended.last?.startedAt == start.addingTimeInterval(60))
        #expect(ended.last?.finishedAt == start.addingTimeInterval(65))
        let found = try await harness.stack.background { try $0.scheduledRun(of: failing.operation) }
        #expect(found == ended.first)
        try await harness.close()
    }

    @Test("The newest hundred runs are kept, and the removal of a schedule removes them")
    func kept() async throws {
        let harness = try await PipelineHarness.open()
        let start = harness.clock.now
        try await schedule(harness, overlap: .queue)
        for _ in 0..<105 { await pass(harness, 60) }
        let runs = try await runs(harness)
        #expect(runs.count == ScheduledRun.keptCount)
        #expect(runs.first?.dueAt == start.addingTimeInterval(105 * 60))
        try await harness.stack.background { context in
            try context.unschedule("tick")
            try context.commit()
        }
        #expect(try await harness.stack.background { try $0.count(ScheduleRun.all) } == 0)
        try await harness.close()
    }

    @Test("An operator's pause survives a declaration and a restart, and names the operator")
    func pause() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let harness = try await PipelineHarness.open(location)
        try await schedule(harness)
        let at = harness.clock.now
        try await harness.stack.background { context in
            try context.pauseSchedule("tick", by: "ada", at: at)
            try context.commit()
        }
        try await schedule(harness)
        try await harness.close()
        let later = try await PipelineHarness.open(location)
        try await schedule(later)
        await pass(later, 600)
        let paused = try await snapshot(later)
        #expect(paused.isPaused && paused.nextAt == nil && paused.runs == [])
        #expect(paused.pauseChange == PipelineSettings.Change(by: "ada", at: at))
        try await later.stack.background { context in
            try context.resumeSchedule("tick", by: "bob", at: at)
            try context.commit()
        }
        await later.pipeline.waitUntilProcessed()
        let resumed = try await snapshot(later)
        #expect(!resumed.isPaused && resumed.nextAt == later.clock.now.addingTimeInterval(60))
        #expect(resumed.pauseChange?.by == "bob")
        try await later.close()
    }

    @Test("An unknown schedule and an empty operator are rejected")
    func rejected() async throws {
        let harness = try await PipelineHarness.open()
        try await schedule(harness)
        try await harness.stack.background { context in
            let unknown = #expect(throws: PipelineError.self) { _ = try context.runScheduleNow("tock") }
            #expect(unknown?.code == .unknownSchedule)
            let empty = #expect(throws: PipelineError.self) { try context.pauseSchedule("tick", by: "") }
            #expect(empty?.code == .invalidArgument)
            let limit = #expect(throws: PipelineError.self) {
                let every = try Schedule.every(.seconds(60))
                _ = try context.schedule("tick", Named(name: "tick"), in: .work, catchUp: .all(limit: 0), every)
            }
            #expect(limit?.code == .invalidArgument)
            #expect(!context.hasChanges)
        }
        try await harness.close()
    }

    @Test(
        "After ten missed minutes the policy decides which operations are queued",
        arguments: [
            (CatchUp.none, [600]), (CatchUp.one, [60]), (CatchUp.all(limit: 3), [480, 540, 600]),
            (CatchUp.all(limit: 100), [60, 120, 180, 240, 300, 360, 420, 480, 540, 600]),
        ]
    )
    func downtime(_ catchUp: CatchUp, _ seconds: [Int]) async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let harness = try await PipelineHarness.open(location)
        let start = harness.clock.now
        try await schedule(harness, catchUp: catchUp)
        try await harness.close()
        let later = try await PipelineHarness.open(location, clock: VirtualClock(start.addingTimeInterval(610)))
        await later.pipeline.waitUntilProcessed()
        let due = try await runs(later).compactMap(\.dueAt).sorted()
        #expect(due == seconds.map { start.addingTimeInterval(Double($0)) })
        let found = try await snapshot(later)
        #expect(found.lastAt == start.addingTimeInterval(600) && found.nextAt == start.addingTimeInterval(660))
        #expect(found.overlap == .skip)
        #expect(try await later.stack.background { try $0.count(QueuedOperation.all) } == seconds.count)
        try await later.close()
    }
}
