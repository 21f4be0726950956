import Foundation
import StoreModels
import Strata
import StrataTesting
import Testing

@testable import StrataPipeline

@Suite("Periodic operations", .timeLimit(.minutes(1))) struct ScheduleTests {
    private static func schedule(
        _ harness: PipelineHarness,
        _ name: String,
        overlap: OverlapPolicy = .skip,
        _ schedule: Schedule
    ) async throws {
        try await harness.stack.background { context in
            try context.schedule(name, Named(name: name), in: .work, overlap: overlap, schedule)
            try context.commit()
        }
        await harness.pipeline.waitUntilProcessed()
    }

    private static func pass(_ harness: PipelineHarness, _ seconds: Int) async {
        harness.clock.advance(by: .seconds(seconds))
        await harness.pipeline.waitUntilProcessed()
    }

    private static func queued(_ harness: PipelineHarness) async throws -> Int {
        try await harness.stack.background { try $0.count(QueuedOperation.all) }
    }

    private static func row(_ harness: PipelineHarness) async throws -> PeriodicOperation.Row {
        try await harness.stack.background { try #require(try $0.first(PeriodicOperation.all)).snapshot }
    }

    @Test("An interval does not drift, and an operation that is still queued is not queued twice")
    func interval() async throws {
        let harness = try await PipelineHarness.open()
        let start = harness.clock.now
        try await Self.schedule(harness, "tick", .every(.seconds(60)))
        #expect(try await Self.row(harness).nextAt == start.addingTimeInterval(60))
        await Self.pass(harness, 59)
        #expect(try await Self.queued(harness) == 0)
        await Self.pass(harness, 1)
        #expect(try await Self.queued(harness) == 1)
        await Self.pass(harness, 90)
        #expect(try await Self.queued(harness) == 1)
        let row = try await Self.row(harness)
        #expect(row.lastAt == start.addingTimeInterval(120) && row.nextAt == start.addingTimeInterval(180))
        let operation = try await harness.stack.background { context in
            let operation = try #require(try context.first(QueuedOperation.all))
            #expect(operation.commit > 0 && operation.rank == ~0 && operation.pipeline == .work)
            operation.skip()
            try context.commit()
            return try operation.payload(as: Named.self).name
        }
        #expect(operation == "tick")
        await Self.pass(harness, 30)
        #expect(try await Self.queued(harness) == 1)
        try await harness.close()
    }

    @Test("With the overlap policy .queue every occurrence is queued")
    func overlap() async throws {
        let harness = try await PipelineHarness.open()
        try await Self.schedule(harness, "tick", overlap: .queue, .every(.seconds(60)))
        for _ in 0..<3 { await Self.pass(harness, 60) }
        #expect(try await Self.queued(harness) == 3)
        try await harness.close()
    }

    @Test("A cron expression follows the wall clock of its zone, and missed moments are made up for once")
    func cron() async throws {
        let folder = try ScratchFolder()
        let harness = try await PipelineHarness.open(.sqlite(folder.file("s.sqlite")))
        let zone = try #require(TimeZone(identifier: "Europe/Berlin"))
        // 2026-05-09T06:13:20Z
        try await Self.schedule(harness, "nightly", .cron("30 3 * * *", in: zone))
        let next = try #require(try await Self.row(harness).nextAt)
        #expect(next.formatted(.iso8601) == "2026-05-10T01:30:00Z")
        try await harness.close()
        let later = try await PipelineHarness.open(.sqlite(folder.file("s.sqlite")))
        later.clock.advance(by: .seconds(5 * 86_400))
        await later.pipeline.waitUntilProcessed()
        #expect(try await Self.queued(later) == 1)
        #expect(try await Self.row(later).nextAt?.formatted(.iso8601) == "2026-05-15T01:30:00Z")
        try await later.close()
    }

    @Test("Repeating a schedule changes nothing; a changed, paused or resumed schedule is planned anew")
    func change() async throws {
        let harness = try await PipelineHarness.open()
        let start = harness.clock.now
        try await Self.schedule(harness, "tick", .every(.seconds(60)))
        await Self.pass(harness, 30)
        let isChanged = try await harness.stack.background { context in
            try context.schedule("tick", Named(name: "tick"), in: .work, .every(.seconds(60)))
            return context.hasChanges
        }
        #expect(!isChanged)
        #expect(try await Self.row(harness).nextAt == start.addingTimeInterval(60))
        try await Self.schedule(harness, "tick", .every(.seconds(100)))
        #expect(try await Self.row(harness).nextAt == start.addingTimeInterval(130))
        try await Self.set(harness, isPaused: true)
        #expect(try await Self.row(harness).nextAt == nil)
        await Self.pass(harness, 1000)
        #expect(try await Self.queued(harness) == 0)
        try await Self.set(harness, isPaused: false)
        #expect(try await Self.row(harness).nextAt == start.addingTimeInterval(1130))
        try await harness.stack.background { context in
            let removed = [try context.unschedule("tick"), try context.unschedule("tick")]
            #expect(removed == [true, false])
            try context.commit()
        }
        await Self.pass(harness, 1000)
        #expect(try await Self.queued(harness) == 0)
        try await harness.close()
    }

    @Test("Workers that declare the same schedule at their first start all succeed, and one schedule exists")
    func firstStart() async throws {
        let folder = try ScratchFolder()
        for round in 0..<5 {
            var stacks: [ContextStack] = []
            for _ in 0..<4 {
                stacks.append(
                    try await ContextStack.open(
                        .sqlite(folder.file("first.sqlite")),
                        models: Pipeline.models,
                        stack: .rootOnly
                    )
                )
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for stack in stacks {
                    group.addTask {
                        try await stack.background { context in
                            let name = Named(name: "tick")
                            try context.schedule("nightly \(round)", name, in: .work, .every(.seconds(60)))
                            try context.commit()
                        }
                    }
                }
                try await group.waitForAll()
            }
            let count = try await stacks[0].background { try $0.count(PeriodicOperation.all) }
            #expect(count == round + 1)
            for stack in stacks { try await stack.close() }
        }
    }

    @Test("Two contexts that create the same schedule at once make one schedule, and the later commit wins")
    func sameTime() async throws {
        let harness = try await PipelineHarness.open()
        let start = harness.clock.now
        let stack = harness.stack
        try await stack.background { context in
            try context.schedule("tick", Named(name: "mine"), in: .work, priority: 2, .every(.seconds(100)))
            try await stack.background(parent: .named(.root)) { other in
                try other.schedule("tick", Named(name: "theirs"), in: .work, .every(.seconds(60)))
                try other.commit()
            }
            await harness.pipeline.waitUntilProcessed()
            try context.commit()
        }
        await harness.pipeline.waitUntilProcessed()
        let row = try await Self.row(harness)
        #expect(row.priority == 2 && row.nextAt == start.addingTimeInterval(100))
        try await harness.close()
    }

    private static func set(_ harness: PipelineHarness, isPaused: Bool) async throws {
        try await harness.stack.background { context in
            try context.first(PeriodicOperation.all)?.isPaused = isPaused
            try context.commit()
        }
        await harness.pipeline.waitUntilProcessed()
    }

    @Test("Of several engines on one store, only one queues an occurrence")
    func several() async throws {
        let folder = try ScratchFolder()
        let first = try await PipelineHarness.open(.sqlite(folder.file("s.sqlite")))
        let second = try await ContextStack.open(
            .sqlite(folder.file("s.sqlite")),
            models: Pipeline.models,
            stack: .rootOnly
        )
        let other = try await Pipeline.open(
            second,
            named: "other",
            options: PipelineOptions(clock: first.clock)
        ) { (_: Attempt<Named>) in .done }
        try await Self.schedule(first, "tick", overlap: .queue, .every(.seconds(60)))
        for count in 1...5 {
            first.clock.advance(by: .seconds(60))
            // Either engine may queue the operation, and the other one learns of the commit.
            while try await Self.queued(first) < count, !Task.isCancelled { await Task.yield() }
            await first.pipeline.waitUntilProcessed()
            await other.waitUntilProcessed()
        }
        #expect(try await Self.queued(first) == 5)
        try await second.close()
        try await first.close()
    }

    @Test("A commit by one engine wakes another engine on the same store")
    func waking() async throws {
        let folder = try ScratchFolder()
        let first = try await PipelineHarness.open(.sqlite(folder.file("s.sqlite")))
        let second = try await ContextStack.open(
            .sqlite(folder.file("s.sqlite")),
            models: Pipeline.models,
            stack: .rootOnly
        )
        // The clock of this pipeline stands still, so no heartbeat causes a pass.
        let other = try await Pipeline.open(
            second,
            named: "other",
            options: PipelineOptions(clock: VirtualClock())
        ) { (_: Attempt<Named>) in
            .done
        }
        let log = EventRecorder(other)
        try await first.commit(["A"])
        let prerequisite = first.id("A")
        let id = try await first.stack.background { context in
            let operation = context.enqueue(Named(name: "B"), in: "other")
            try operation.addDependencies([prerequisite])
            try context.schedule("tick", Named(name: "tick"), in: "other", .every(.seconds(60)))
            try context.commit()
            return operation.id
        }
        try await first.play([.resume("A")])
        #expect(log.finished.isEmpty)
        try await first.end("A")
        try await log.waitForEnd(of: id)
        first.clock.advance(by: .seconds(60))
        try await log.wait { events in events.count { if case .finished = $0 { true } else { false } } == 2 }
        try await second.close()
        try await first.close()
    }

    @Test("An invalid schedule is refused, and a valid one is read back as written")
    func texts() throws {
        for wrong in ["61 * * * *", "* * *", "0 0 30 2 *", ""] {
            let error = #expect(throws: PipelineError.self) { try Schedule.cron(wrong) }
            #expect(error?.code == .invalidSchedule)
        }
        for interval: Duration in [.zero, .seconds(-1)] {
            let error = #expect(throws: PipelineError.self) { try Schedule.every(interval) }
            #expect(error?.code == .invalidSchedule)
        }
        let zone = try #require(TimeZone(identifier: "America/New_York"))
        for schedule in [try Schedule.cron(" 0 9-17 * * MON-FRI ", in: zone), try .every(.milliseconds(2500))] {
            #expect(Schedule(rawValue: schedule.rawValue) == schedule)
        }
        #expect(try Schedule.cron("@daily").rawValue == "cron GMT @daily")
        for wrong in [
            "", "cron", "cron GMT", "cron Nowhere/Else 61 * * * *", "every", "every nan", "every -1", "every 1 2",
        ] {
            #expect(Schedule(rawValue: wrong) == nil, "\(wrong)")
        }
    }

    @Test("A permanently failed operation does not end its schedule")
    func failed() async throws {
        let harness = try await PipelineHarness.open()
        try await Self.schedule(harness, "tick", .every(.seconds(60)))
        await Self.pass(harness, 60)
        let id = try await harness.stack.background { try #require(try $0.first(QueuedOperation.all)).id }
        harness.pipeline.resume()
        try await harness.end("tick", id: id, .success(.fail("no")))
        harness.pipeline.suspend()
        await Self.pass(harness, 60)
        let rows = try await harness.stack.background { try $0.rows(QueuedOperation.all.sorted { $0.commit }) }
        #expect(rows.map(\.status) == [.failed, .pending])
        #expect(rows.map(\.schedule) == ["tick", "tick"] && rows.map(\.key) == [nil, nil])
        try await harness.close()
    }

    @Test("A schedule continues after the clock is set back, and a schedule of an unknown zone is left alone")
    func clockSetBack() async throws {
        let harness = try await PipelineHarness.open()
        try await Self.schedule(harness, "tick", .every(.seconds(60)))
        let far = harness.clock.now.addingTimeInterval(1_000_000_000)
        // As if a wrong clock had planned the first schedule, and a process that knows more zones had stored the second
        // one.
        try harness.stack.transact(author: "test") { transaction in
            let id = try #require(try transaction.integer("SELECT id FROM PeriodicOperation", []))
            try transaction.run(
                "UPDATE PeriodicOperation SET nextAt = ?, _version = ?",
                [.real(far.timeIntervalSinceReferenceDate), .integer(transaction.number)]
            )
            try transaction.report(updated: id, ["nextAt"], of: PeriodicOperation.self)
        }
        try await harness.stack.background { context in
            let unknown = try #require(Schedule(rawValue: "cron Nowhere/Else * * * * *"))
            #expect(unknown.rawValue == "cron Nowhere/Else * * * * *" && unknown.next(after: Date()) == nil)
            try context.schedule("elsewhere", Named(name: "elsewhere"), in: .work, unknown)
            try context.commit()
        }
        await Self.pass(harness, 11)
        await Self.pass(harness, 60)
        let names = try await harness.stack.background { context in
            try context.fetch(QueuedOperation.all).map { try $0.payload(as: Named.self).name }
        }
        #expect(names == ["tick"])
        try await harness.close()
    }

    @Test("A schedule that is paused at the moment it is due is not queued")
    func pausedWhenDue() async throws {
        let harness = try await PipelineHarness.open()
        try await Self.schedule(harness, "tick", .every(.seconds(60)))
        // The engine has no time between the pause and the due time.
        try await harness.stack.background { context in
            try context.first(PeriodicOperation.all)?.isPaused = true
            try context.commit()
            harness.clock.advance(by: .seconds(60))
        }
        await harness.pipeline.waitUntilProcessed()
        #expect(try await Self.queued(harness) == 0)
        try await harness.close()
    }

    @Test("Clocks that differ slightly plan no occurrence twice")
    func skew() async throws {
        let harness = try await PipelineHarness.open()
        try await Self.schedule(harness, "tick", overlap: .queue, .every(.seconds(600)))
        // As if another process, whose clock is ten seconds ahead, had just queued the operation.
        let ahead = harness.clock.now.addingTimeInterval(10).timeIntervalSinceReferenceDate
        try harness.stack.transact(author: "test") { transaction in
            let id = try #require(try transaction.integer("SELECT id FROM PeriodicOperation", []))
            try transaction.run(
                "UPDATE PeriodicOperation SET lastAt = ?1, nextAt = ?1 + 600, _version = ?2",
                [.real(ahead), .integer(transaction.number)]
            )
            try transaction.report(updated: id, ["lastAt", "nextAt"], of: PeriodicOperation.self)
        }
        await Self.pass(harness, 11)
        #expect(try await Self.row(harness).nextAt?.timeIntervalSinceReferenceDate == ahead + 600)
        try await harness.close()
    }

    @Test("The default pipeline adopts a schedule of an undeclared pipeline")
    func adopted() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.stack.background { context in
            try context.schedule("tick", Named(name: "tick"), in: "gone", .every(.seconds(60)))
            try context.commit()
        }
        #expect(try await harness.pipeline.adoptOrphanedOperations() == ["gone"])
        #expect(try await Self.row(harness).pipeline == .work)
        try await harness.close()
    }
}
