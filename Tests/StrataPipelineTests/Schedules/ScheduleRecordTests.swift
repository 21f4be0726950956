import Foundation
import StoreModels
import Strata
import StrataTesting
import TestHomeTraits
import Testing

@testable import StrataPipeline

/// The tables of schedules in a store of an earlier version.
private enum Earlier {
    @Model(.index("nextAt"), table: "PeriodicOperation") final class PeriodicOperation {
        @Attribute(.unique(onConflict: .update)) var name: String
        var pipeline: PipelineName
        var lane: String = ""
        var priority: Int = 0
        var type: String
        var payload: Data
        var payloadVersion: Int
        var schedule: Schedule
        var overlap: OverlapPolicy = OverlapPolicy.skip
        var isPaused: Bool = false
        @Attribute(.bookkeeping) var planned: String?
        @Attribute(.bookkeeping) var nextAt: Date?
        @Attribute(.bookkeeping) var lastAt: Date?
    }
}

@Suite("The record of a schedule's runs and pauses", .timeLimit(.minutes(1))) struct ScheduleRecordTests {
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

    private func runs(_ harness: PipelineHarness) async throws -> [ScheduledRun] {
        try await harness.stack.background { try $0.scheduledRuns(of: "tick") }
    }

    /// The number of runs whose operations the engine takes to be queued.
    private func queuedRuns(_ harness: PipelineHarness) async throws -> Int {
        try await harness.stack.background { context in
            try context.fetch(ScheduleRun.all).count { $0.isQueued == true }
        }
    }

    @Test("A deleted operation ends its run, and an operation deleted before its commit has no run")
    func deleted() async throws {
        let harness = try await PipelineHarness.open()
        try await schedule(harness)
        let id = try await harness.stack.background { context in
            let operation = try context.runScheduleNow("tick")
            try context.commit()
            return operation.id
        }
        #expect(try await queuedRuns(harness) == 1)
        try await harness.stack.background { context in
            context.delete(try #require(try context.find(id)))
            context.delete(try context.runScheduleNow("tick"))
            try context.commit()
        }
        #expect(try await runs(harness).map(\.outcome) == [.deleted])
        #expect(try await queuedRuns(harness) == 0)
        try await harness.close()
    }

    @Test("A paused schedule that is run only on request keeps its newest hundred runs")
    func requestedRuns() async throws {
        let harness = try await PipelineHarness.open()
        try await schedule(harness)
        let start = harness.clock.now
        for second in 1...103 {
            try await harness.stack.background { context in
                try context.runScheduleNow("tick", at: start.addingTimeInterval(Double(second)))
                try context.commit()
            }
        }
        let all = try await harness.stack.background { try $0.rows(ScheduleRun.all).map(\.queuedAt) }
        #expect(all.sorted() == (4...103).map { start.addingTimeInterval(Double($0)) })
        try await harness.close()
    }

    @Test("The runs of a schedule that was deleted as an object are deleted with it")
    func deletedSchedule() async throws {
        let harness = try await PipelineHarness.open()
        try await schedule(harness)
        harness.clock.advance(by: .seconds(60))
        await harness.pipeline.waitUntilProcessed()
        #expect(try await runs(harness).count == 1)
        try await harness.stack.background { context in
            context.delete(try #require(try context.first(PeriodicOperation.all)))
            try context.commit()
        }
        #expect(try await runs(harness) == [])
        try await harness.close()
    }

    @Test("Due times during a pause that no engine has seen are left out")
    func unseenPause() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let harness = try await PipelineHarness.open(location)
        let start = harness.clock.now
        try await schedule(harness, catchUp: .all(limit: 100))
        try await harness.close()
        let tool = try await ContextStack.open(location, models: Pipeline.models, stack: .rootOnly)
        for isPaused in [true, false] {
            try await tool.background { context in
                if isPaused {
                    try context.pauseSchedule("tick", by: "ada")
                } else {
                    try context.resumeSchedule("tick", by: "ada")
                }
                try context.commit()
            }
        }
        try await tool.close()
        let later = try await PipelineHarness.open(location, clock: VirtualClock(start.addingTimeInterval(610)))
        await later.pipeline.waitUntilProcessed()
        #expect(try await runs(later) == [])
        let snapshot = try await later.stack.background { try #require(try $0.scheduleSnapshots().first) }
        #expect(snapshot.nextAt == later.clock.now.addingTimeInterval(60))
        try await later.close()
    }

    @Test("The last due time of a schedule is that of its newest operation")
    func lastDueTime() async throws {
        let harness = try await PipelineHarness.open()
        let start = harness.clock.now
        try await schedule(harness, catchUp: .all(limit: 2))
        harness.clock.advance(by: .seconds(610))
        await harness.pipeline.waitUntilProcessed()
        let snapshot = try await harness.stack.background { try #require(try $0.scheduleSnapshots().first) }
        #expect(snapshot.lastAt == start.addingTimeInterval(600) && snapshot.nextAt == start.addingTimeInterval(660))
        #expect(snapshot.runs.compactMap(\.dueAt) == [start.addingTimeInterval(600), start.addingTimeInterval(540)])
        try await harness.close()
    }

    @Test(
        "A schedule of a store without catch-up keeps its due date, and makes up for one time",
        .aboutTheFile("migrates a store")
    )
    func earlierStore() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let start = VirtualClock().now
        let changed: [any Model.Type] = [
            PeriodicOperation.self, PipelineDeclaration.self, PipelineOverride.self, ScheduleRun.self,
        ]
        let models = Pipeline.models.filter { model in !changed.contains { $0 == model } }
        let earlier = try await ContextStack.open(
            location,
            models: models + [Earlier.PeriodicOperation.self],
            stack: .rootOnly
        )
        try await earlier.background { context in
            let every = try Schedule.every(.seconds(60))
            let known = context.insert(
                Earlier.PeriodicOperation(
                    name: "tick",
                    pipeline: .work,
                    type: Named.operationType,
                    payload: try JSONEncoder().encode(Named(name: "tick")),
                    payloadVersion: Named.payloadVersion,
                    schedule: every
                )
            )
            known.planned = every.rawValue
            known.nextAt = start.addingTimeInterval(60)
            try context.commit()
        }
        try await earlier.close()
        let harness = try await PipelineHarness.open(location, clock: VirtualClock(start.addingTimeInterval(610)))
        await harness.pipeline.waitUntilProcessed()
        let snapshot = try await harness.stack.background { try #require(try $0.scheduleSnapshots().first) }
        #expect(snapshot.catchUp == .one && snapshot.pauseChange == nil)
        #expect(snapshot.runs.compactMap(\.dueAt) == [start.addingTimeInterval(60)])
        #expect(snapshot.nextAt == start.addingTimeInterval(660))
        try await harness.close()
    }
}
