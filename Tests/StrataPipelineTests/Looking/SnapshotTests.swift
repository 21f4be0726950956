import Foundation
import Strata
import StrataPipeline
import StrataTesting
import Testing

@Suite("Queue snapshots and wait reasons", .timeLimit(.minutes(1))) struct SnapshotTests {
    private static func blockers(_ stage: Stage, _ name: String) async throws -> [Blocker] {
        let id = stage.id(name)
        return try await stage.stack.background { context in
            let operation = try #require(try context.find(id))
            return try operation.blockers()
        }
    }

    @Test("An operation reports what it waits for")
    func blocked() async throws {
        let network = ManualConstraint(.network, isSatisfied: false)
        let stage = try await Stage.open(constraints: [network])
        try await stage.commit(["A", "B←A", "C", "D"])
        let later = stage.clock.now.addingTimeInterval(60)
        try await stage.edit("B") { try $0.hold("embargo", until: later) }
        try await stage.play([.resume("A", "C", "D")])
        #expect(try await Self.blockers(stage, "A") == [])
        #expect(try await Self.blockers(stage, "B") == [.hold("embargo", until: later), .dependency(stage.id("A"))])
        try await stage.end("C", .success(.wait(.network)))
        try await stage.end("D", .success(.fail("no such thing")))
        #expect(try await Self.blockers(stage, "C") == [.constraint(.network)])
        #expect(try await Self.blockers(stage, "D") == [.failed("no such thing")])
        stage.clock.advance(by: .seconds(61))
        await stage.pipeline.settled()
        #expect(try await Self.blockers(stage, "B") == [.dependency(stage.id("A"))])
        try await stage.play([.done("A", "B")])
        #expect(try await Self.blockers(stage, "B") == [])
        try await stage.close()
    }

    @Test(
        "An operation that waits for its lane names the operation ahead of it",
        arguments: [PipelineOrdering.fifo, .lifo, .commits]
    )
    func turn(_ ordering: PipelineOrdering) async throws {
        let stage = try await Stage.open(ordering: ordering)
        try await stage.commit(["A"])
        try await stage.play([.resume("A")])
        try await stage.commit(["B"])
        try await stage.commit(["C"])
        #expect(try await Self.blockers(stage, "A") == [])
        #expect(try await Self.blockers(stage, "B") == [.lane(stage.id("A"))])
        #expect(try await Self.blockers(stage, "C") == [.lane(stage.id("A"))])
        try await stage.end("A", .failure(CancellationError()))
        try await stage.close()
    }

    @Test("Neither parked operations nor those of the head's own commit count as waiting in a blocked lane")
    func waiting() async throws {
        for ordering in [PipelineOrdering.fifo, .commits] {
            let stage = try await Stage.open(ordering: ordering, whenFailed: .park)
            for name in ["A", "B", "C"] { try await stage.commit([Entry(stringLiteral: name)]) }
            try await stage.play([.resume("A")])
            try await stage.end("A", .success(.fail("broken")))
            try await stage.end("B", .success(.wait(.person)))
            let lanes = try await stage.stack.background { try $0.pipelineSnapshots().first?.blockedLanes }
            #expect(lanes?.map(\.head) == [stage.id("B")] && lanes?.map(\.waiting) == [1], "\(ordering)")
            try await stage.close()
        }
        let stage = try await Stage.open(ordering: .commits)
        try await stage.commit(["A", "B"])
        try await stage.commit(["C"])
        try await stage.play([.resume("A", "B")])
        try await stage.end("A", .success(.wait(.person)))
        let lanes = try await stage.stack.background { try $0.pipelineSnapshots().first?.blockedLanes }
        #expect(lanes?.map(\.head) == [stage.id("A")] && lanes?.map(\.waiting) == [1])
        try await stage.close()
    }

    @Test("A lane whose head depends on a blocked operation elsewhere is blocked; a progressing lane is not")
    func blockedElsewhere() async throws {
        let stage = try await Stage.open(ordering: .fifo)
        try await stage.commit(["a1", "b1←a1", "b2", "c1", "d1←c1"], lane: { String($0.first!) })
        try await stage.play([.resume("a1", "c1")])
        try await stage.end("a1", .success(.fail("poison")))
        await stage.pipeline.settled()
        let snapshots = try await stage.stack.background { try $0.pipelineSnapshots() }
        let lanes = try #require(snapshots.first).blockedLanes
        #expect(lanes.map(\.lane) == ["a", "b"])
        #expect(lanes.map(\.blockers) == [[.failed("poison")], [.dependency(stage.id("a1"))]])
        let queued = try await stage.row("b1")?.enqueuedAt
        #expect(lanes.map(\.lastAttempt) == [stage.clock.now, nil] && lanes.map(\.since) == [stage.clock.now, queued])
        #expect(lanes.map(\.waiting) == [0, 1] && queued != nil)
        try await stage.end("c1")
        try await stage.end("d1")
        try await stage.close()
    }

    @Test("A snapshot describes the queue in words, with one line for each blocked lane and its reason")
    func words() async throws {
        let stage = try await Stage.open(
            ordering: .fifo,
            clock: VirtualClock(Date(timeIntervalSince1970: 1_780_000_000.25))
        )
        try await stage.commit(["a1", "a2", "b1"], lane: { String($0.first!) })
        try await stage.play([.resume("a1", "b1")])
        try await stage.end("a1", .success(.fail("poison\n  of two lines\r\nor three")))
        try await stage.end("b1", .success(.postpone(for: .milliseconds(1500))))
        await stage.pipeline.settled()
        let snapshots = try await stage.stack.background { try $0.pipelineSnapshots() }
        let (a1, b1) = (stage.id("a1"), stage.id("b1"))
        let queued = try #require(snapshots.first?.oldest).formatted(
            Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        )
        let words = """
            work: 1 waiting, 1 held, 1 failed, the oldest since \(queued)
              lane 'a': \(a1) has failed: poison   of two lines  or three (since 2026-05-28T20:26:40.250Z), 1 behind it
              lane 'b': \(b1) held by 'retry' until 2026-05-28T20:26:41.750Z (since 2026-05-28T20:26:40.250Z), 0 behind it
            """
        #expect(snapshots.map(\.description) == [words])
        try await stage.close()
    }

    @Test("A snapshot counts operations and names blocked lanes with their reasons")
    func snapshot() async throws {
        let stage = try await Stage.open(ordering: .fifo)
        try await stage.commit(["a1", "a2", "a3", "b1", "b2", "c1"], lane: { String($0.first!) })
        try await stage.play([.resume("a1", "b1", "c1")])
        try await stage.end("a1", .success(.fail("poison")))
        try await stage.end("b1", .success(.wait(.person)))
        await stage.pipeline.settled()
        let snapshots = try await stage.stack.background { try $0.pipelineSnapshots() }
        let snapshot = try #require(snapshots.first)
        #expect(snapshots.count == 1 && snapshot.name == .work && snapshot.total == 6)
        #expect(snapshot.counts[.failed] == 1 && snapshot.counts[.held] == 1 && snapshot.counts[.active] == 1)
        let row = try await stage.row("a1")
        #expect(snapshot.oldest == row?.enqueuedAt && row?.enqueuedAt != nil)
        let lanes = snapshot.blockedLanes.sorted { $0.lane < $1.lane }
        #expect(lanes.map(\.lane) == ["a", "b"] && lanes.map(\.waiting) == [2, 1])
        #expect(lanes.map(\.head) == [stage.id("a1"), stage.id("b1")])
        #expect(lanes.map(\.blockers) == [[.failed("poison")], [.constraint(.person)]])
        #expect(lanes.allSatisfy { $0.lastAttempt == stage.clock.now })
        try await stage.close()
    }
}
