import Foundation
import StoreModels
import Strata
import StrataTesting
import Testing

@testable import StrataPipeline

@Suite("The queue in its store", .timeLimit(.minutes(1))) struct QueueStoreTests {
    @Test("A closed pipeline adopts no operations of undeclared pipelines")
    func closedDefault() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.stack.background { context in
            context.enqueue(Named(name: "A"), in: "gone")
            try context.commit()
        }
        await harness.pipeline.close()
        let error = await #expect(throws: PipelineError.self) { try await harness.pipeline.adoptOrphanedOperations() }
        #expect(error?.code == .closed && error?.message.contains("'work'") == true)
        #expect(
            try await harness.stack.background { try $0.count(QueuedOperation.where { $0.pipeline == "gone" }) } == 1
        )
        try await harness.close()
    }

    @Test("Operations run in the order of commits, whatever the clock said, and an id is never reused")
    func sequence() async throws {
        let harness = try await PipelineHarness.open(ordering: .fifo)
        try await harness.commit(["A"])
        try await harness.commit(["B"])
        // As if the second operation had been queued while the clock was wrong.
        let id = harness.id("B").rawValue
        try harness.stack.transact(author: "test") { transaction in
            try transaction.run(
                "UPDATE QueuedOperation SET enqueuedAt = -1e9, _version = ? WHERE id = ?",
                [.integer(transaction.number), .integer(id)]
            )
            try transaction.report(updated: id, ["enqueuedAt"], of: QueuedOperation.self)
        }
        try await harness.play([.resume("A"), .done("A", "B"), .done("B")])
        try await harness.commit(["C"])
        #expect(harness.id("C").rawValue > max(harness.id("A").rawValue, harness.id("B").rawValue))
        try await harness.end("C")
        try await harness.close()
    }

    /// Runs the operation A of a pipeline, and then lets another stack hold the writer of the store.
    private func runBesideWriter(
        in folder: ScratchFolder
    ) async throws -> (harness: PipelineHarness, other: ContextStack, writer: HeldWriter) {
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let harness = try await PipelineHarness.open(location, busyTimeout: 0.05)
        let other = try await ContextStack.open(location, models: Pipeline.models, stack: .rootOnly)
        try await harness.commit(["A"])
        try await harness.play([.resume("A")])
        return (harness, other, await HeldWriter(other))
    }

    /// How often the store has refused a pass or a commit.
    private static func refusals(_ events: [PipelineEvent]) -> Int {
        events.count { if case .storeFailed = $0 { true } else { false } }
    }

    @Test("A store that cannot be written to is logged once in half a minute for each code")
    func logged() {
        var log = StoreFailureLog()
        let start = Date(timeIntervalSince1970: 1_000_000)
        let (busy, full) = (StrataError(.busy, "busy"), StrataError(.diskFull, "full"))
        let steps: [(StrataError, TimeInterval)] = [
            (busy, 0), (busy, 29), (full, 29), (busy, 30), (busy, 0), (busy, 1),
        ]
        let logged = steps.map { log.note($0, at: start.addingTimeInterval($1)) }
        // Before the last two, the clock is set back.
        #expect(logged == [true, false, true, true, true, false])
    }

    @Test("A store that other connections keep busy does not fail an operation")
    func busy() async throws {
        let folder = try ScratchFolder()
        let (harness, other, writer) = try await runBesideWriter(in: folder)
        async let end: Void = harness.end("A")
        try await harness.log.wait { Self.refusals($0) > 0 }
        writer.release()
        // The engine tries again every second until the other stack has released its lock.
        while harness.log.finished.isEmpty {
            harness.clock.advance(by: .seconds(1))
            await harness.pipeline.waitUntilProcessed()
        }
        try await end
        #expect(try await harness.result("A") == .completed)
        #expect(harness.log.started.count == 1)
        try await other.close()
        try await harness.close()
    }

    @Test("An outcome that a busy store has refused is written when the pipeline is closed")
    func closedWhileBusy() async throws {
        let folder = try ScratchFolder()
        let (harness, other, writer) = try await runBesideWriter(in: folder)
        async let end: Void = harness.end("A")
        try await harness.log.wait { Self.refusals($0) == 1 }
        let closing = Task { await harness.pipeline.close() }
        // The passes of the closing are refused too.
        try await harness.log.wait { Self.refusals($0) == 3 }
        writer.release()
        await closing.value
        try await end
        #expect(try await harness.result("A") == .completed)
        #expect(harness.log.started.count == 1)
        try await other.close()
        try await harness.close()
    }

    @Test("A busy store does not fail an operation whose end has application changes, even on its last attempt")
    func busyBesideChanges() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let models = Pipeline.models + [Stamp.self]
        let stack = try await ContextStack.open(
            location,
            models: models,
            stack: .rootOnly,
            configuration: StoreConfiguration(busyTimeout: 0.05)
        )
        let other = try await ContextStack.open(location, models: models, stack: .rootOnly)
        let clock = VirtualClock()
        let (begun, hasBegun) = AsyncStream.makeStream(of: Void.self)
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(retry: RetryPolicy(maxAttempts: 1), clock: clock)
        ) { (_: Attempt<Named>) in
            hasBegun.finish()
            for await _ in gate {}
            return .done { $0.insert(Stamp(name: "A")) }
        }
        let log = EventRecorder(pipeline)
        try await stack.background { context in
            context.enqueue(Named(name: "A"), in: .work)
            try context.commit()
        }
        for await _ in begun {}
        let writer = await HeldWriter(other)
        open.finish()
        // The engine tries again every second until the other stack has released its lock.
        for count in 1...2 {
            try await log.wait { Self.refusals($0) == count }
            await clock.waitForAlarm(after: .seconds(1))
            if count == 2 { writer.release() }
            clock.advance(by: .seconds(1))
        }
        while log.finished.isEmpty {
            clock.advance(by: .seconds(1))
            await pipeline.waitUntilProcessed()
        }
        let (stamps, results) = try await stack.background { context in
            (try context.count(Stamp.all), try context.fetch(FinishedOperation.all).map(\.attempts))
        }
        #expect(stamps == 1 && results == [1] && log.started.count == 1)
        try await other.close()
        try await stack.close()
    }

    @Test("No SQL statement of an engine pass scans a table")
    func plans() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A", "B←A"])
        var statements = [
            QueueSQL.selectCandidates, QueueSQL.selectNextPending, QueueSQL.selectNextPendingUpTo, QueueSQL.claim,
            QueueSQL.selectFailedPrerequisite, QueueSQL.selectActiveOfLane, QueueSQL.setStatus, QueueSQL.selectTies,
            QueueSQL.selectWaitingDependants, QueueSQL.selectDependantsOfFailed, QueueSQL.selectDependencies,
            QueueSQL.deleteDependencies, QueueSQL.selectHolds, QueueSQL.deleteHolds, QueueSQL.selectWaitingOfCommit,
            QueueSQL.selectLane, QueueSQL.archive, QueueSQL.delete, QueueSQL.selectHolder, QueueSQL.requeue,
            QueueSQL.selectHoldNamed, QueueSQL.selectDueHolds, QueueSQL.selectNextDue, QueueSQL.selectScheduled,
            QueueSQL.selectDueSchedules, QueueSQL.selectActiveOfWorker, QueueSQL.selectUnfit,
            QueueSQL.selectOldFinished, QueueSQL.selectConstrained, QueueSQL.selectRecord,
            QueueSQL.selectPausesBegunAfter, QueueSQL.selectFinishedAfter, QueueSQL.selectTransitionsAfter,
        ]
        statements += [
            QueueSQL.archiveClaimed, QueueSQL.selectPosition, QueueSQL.selectDependantsOfGroup,
            QueueSQL.selectPrerequisites,
            QueueSQL.selectAwaiting, QueueSQL.selectNextAwaitedLane, QueueSQL.selectActiveLanes,
            QueueSQL.selectAnyRecordingTransitions, QueueSQL.selectTransition, QueueSQL.selectOldTransitions,
            QueueSQL.selectTrace, QueueSQL.deleteTrace,
            QueueSQL.selectDueExpiries, QueueSQL.selectFailingDependants, QueueSQL.setExpiryHandled,
            QueueSQL.setResultValue, QueueSQL.selectSettings, QueueSQL.selectEndedUniqueness,
            QueueSQL.selectSameUniqueness, QueueSQL.deleteUniqueness, QueueSQL.selectDueDebounced,
            QueueSQL.selectSameDebounced, QueueSQL.mergeDebounced, QueueSQL.selectOfKey, QueueSQL.replacePayload,
            QueueSQL.clearItem, QueueSQL.selectDebouncedAfter, QueueSQL.moveDebouncedTime,
            QueueSQL.selectQueuedRuns, QueueSQL.endRun, QueueSQL.selectOldRuns, QueueSQL.selectStrayRuns,
            QueueSQL.selectSchedulesOfRuns, QueueSQL.selectOverridesOf, QueueSQL.selectLimitsOf,
            QueueSQL.selectDeclaration,
        ]
        statements += [
            QueueSQL.selectLaneBudget, QueueSQL.selectNextOpening, QueueSQL.selectOpeningLanes,
            QueueSQL.selectAwaitedLanes, QueueSQL.selectLanesCountedAfter, QueueSQL.selectAwaitedLane,
            QueueSQL.selectFullLanes, QueueSQL.selectAwaitingOfCommit, QueueSQL.selectActive, QueueSQL.selectAllActive,
            QueueSQL.returnCopied,
        ]
        for isSuspected in [false, true] {
            for keys in [nil, "key"] {
                let selection = OperationRepository.Selection(keys: keys, isSuspected: isSuspected, types: ["A", "B"])
                statements += [false, true].map { QueueSQL.selectCandidates(selection, hasTies: $0) }
            }
        }
        statements.append(QueueSQL.selectAwaiting(types: 2))
        for ordering in PipelineOrdering.allCases where ordering.isSerial {
            statements += [
                QueueSQL.selectDependantBeside(ordering), QueueSQL.selectBesideBehind(ordering),
                QueueSQL.selectDependantBefore(ordering), QueueSQL.selectBehind(ordering),
            ]
            for counting in [true, false] {
                statements.append(QueueSQL.selectFirst(ordering, countingFailed: counting))
            }
        }
        let all = statements
        var scans: [String] = []
        try harness.stack.transact(author: "test") { transaction in
            for sql in all {
                try transaction.rows("EXPLAIN QUERY PLAN \(sql)", Self.nulls(for: sql)) { row in
                    let step = try row.read(String.self, at: 3)
                    if step.hasPrefix("SCAN"), !step.contains("CONSTANT ROW"), !step.contains("subquery") {
                        scans.append("\(step): \(sql)")
                    }
                }
            }
        }
        #expect(scans == [])
        // Statements about newly inserted operations look only at those, however many operations wait. Statements about
        // a rare property look only at the operations that have it.
        for (sql, index) in [
            (QueueSQL.selectUnfit, "INTEGER PRIMARY KEY"),
            (QueueSQL.selectConstrained, "INDEX QueuedOperation_constraint_with_constraint_index (constraint=?)"),
            (QueueSQL.selectScheduled, "INDEX QueuedOperation_schedule_with_schedule_index (schedule=?)"),
            (
                QueueSQL.selectFacts,
                "INDEX QueuedOperation_pipeline_lane_rank_commit_with_awaitsPlace_index"
            ),
            (
                QueueSQL.selectAwaiting,
                "INDEX QueuedOperation_pipeline_lane_rank_commit_with_awaitsPlace_index (pipeline=? AND lane=?)"
            ),
            (
                QueueSQL.selectAwaiting(types: 2),
                "INDEX QueuedOperation_pipeline_lane_rank_commit_with_awaitsPlace_index (pipeline=? AND lane=?)"
            ),
            (
                QueueSQL.selectAwaitingOfCommit,
                "INDEX QueuedOperation_pipeline_lane_rank_commit_with_awaitsPlace_index (pipeline=? AND lane=?)"
            ),
            (
                QueueSQL.selectNextAwaitedLane,
                "INDEX QueuedOperation_pipeline_lane_rank_commit_with_awaitsPlace_index (pipeline=? AND lane>?)"
            ),
        ] {
            var searches: [String] = []
            try harness.stack.transact(author: "test") { transaction in
                try transaction.rows("EXPLAIN QUERY PLAN \(sql)", Self.nulls(for: sql)) { row in
                    searches.append(try row.read(String.self, at: 3))
                }
            }
            #expect(searches.contains { $0.contains("QueuedOperation USING \(index)") }, "\(searches)")
            #expect(!searches.contains { $0.contains("TEMP B-TREE FOR ORDER") }, "\(searches)")
        }
        try await harness.close()
    }

    /// A null for each parameter of a statement, which has numbers for all of them or for none.
    private static func nulls(for sql: String) -> [StoredValue] {
        let numbered = (1...11).last { sql.contains("?\($0)") } ?? 0
        return [StoredValue](repeating: .null, count: numbered > 0 ? numbered : sql.count { $0 == "?" })
    }
}
