import Foundation
import Strata
import StrataPipeline
import StrataTesting
import Testing

@Suite("Queue snapshots and wait reasons", .timeLimit(.minutes(1))) struct SnapshotTests {
    private static func waitReasons(_ harness: PipelineHarness, _ name: String) async throws -> [WaitReason] {
        let id = harness.id(name)
        return try await harness.stack.background { context in
            let operation = try #require(try context.find(id))
            return try operation.waitReasons()
        }
    }

    @Test("An operation reports what it waits for")
    func blocked() async throws {
        let network = ManualConstraint(.network, isSatisfied: false)
        let harness = try await PipelineHarness.open(constraints: [network])
        try await harness.commit(["A", "B←A", "C", "D"])
        let later = harness.clock.now.addingTimeInterval(60)
        try await harness.edit("B") { try $0.hold("embargo", until: later) }
        try await harness.play([.resume("A", "C", "D")])
        #expect(try await Self.waitReasons(harness, "A") == [])
        #expect(
            try await Self.waitReasons(harness, "B") == [.hold("embargo", until: later), .dependency(harness.id("A"))]
        )
        try await harness.end("C", .success(.wait(.network)))
        try await harness.end("D", .success(.fail("no such thing")))
        #expect(try await Self.waitReasons(harness, "C") == [.constraint(.network)])
        #expect(try await Self.waitReasons(harness, "D") == [.failed("no such thing")])
        harness.clock.advance(by: .seconds(61))
        await harness.pipeline.waitUntilProcessed()
        #expect(try await Self.waitReasons(harness, "B") == [.dependency(harness.id("A"))])
        try await harness.play([.done("A", "B")])
        #expect(try await Self.waitReasons(harness, "B") == [])
        try await harness.close()
    }

    @Test("An operation of a suspended pipeline reports it, also if all pipelines are suspended together")
    func suspended() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A", "B←A"])
        #expect(try await Self.waitReasons(harness, "A") == [.suspended])
        #expect(try await Self.waitReasons(harness, "B") == [.dependency(harness.id("A")), .suspended])
        harness.stack.pipelines.suspend()
        harness.pipeline.resume()
        #expect(try await Self.waitReasons(harness, "A") == [.suspended])
        harness.stack.pipelines.resume()
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.takeStarts() == ["A"])
        #expect(try await Self.waitReasons(harness, "A") == [])
        #expect(try await Self.waitReasons(harness, "B") == [.dependency(harness.id("A"))])
        try await harness.close()
    }

    @Test("An operation that waits for a free place names the limit of its pipeline, and that of all pipelines")
    func full() async throws {
        let harness = try await PipelineHarness.open(max: 2)
        try await harness.commit(["A", "B", "C"])
        try await harness.play([.resume("A", "B")])
        #expect(try await Self.waitReasons(harness, "C") == [.fullPipeline(limit: 2)])
        try harness.stack.pipelines.setMaxConcurrent(1)
        #expect(try await Self.waitReasons(harness, "C") == [.fullPipeline(limit: 2), .fullStack(limit: 1)])
        try await harness.play([.limit(3)])
        #expect(try await Self.waitReasons(harness, "C") == [.fullStack(limit: 1)])
        try harness.stack.pipelines.setMaxConcurrent(nil)
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.takeStarts() == ["C"])
        #expect(try await Self.waitReasons(harness, "C") == [])
        try await harness.close()
    }

    @Test("An operation that was claimed after the state of its context does not wait for itself")
    func claimedMeanwhile() async throws {
        let harness = try await PipelineHarness.open(max: 1)
        try await harness.commit(["A", "B"])
        let (running, next) = (harness.id("A"), harness.id("B"))
        let pinned = try harness.stack.create(.private, merging: .pinned)
        let before = try await pinned.perform { try $0.find(running)?.waitReasons() }
        #expect(before == [.suspended])
        try await harness.play([.resume("A")])
        let (status, after, other) = try await pinned.perform { context in
            let operation = try context.find(running)
            return (operation?.status, try operation?.waitReasons(), try context.find(next)?.waitReasons())
        }
        #expect(status == .pending && after == [] && other == [.fullPipeline(limit: 1)])
        try await harness.play([.done("A", "B")])
        try await harness.close()
    }

    @Test("An operation at a closed gate names the gate's constraint, and one with an exempt key does not")
    func closedGate() async throws {
        let server = ManualConstraint("server", isSatisfied: false)
        let harness = try await PipelineHarness.open(gate: PipelineGate(server, exemptKeys: "local/"))
        harness.pipeline.resume()
        try await harness.commit(["A"])
        let exempt = try await harness.stack.background { context in
            let operation = context.enqueue(Named(name: "B"), in: .work, key: "local/B", notBefore: .distantFuture)
            try context.commit()
            return try operation.waitReasons()
        }
        #expect(try await Self.waitReasons(harness, "A") == [.gateClosed("server")])
        #expect(exempt.count == 1 && !exempt.contains(.gateClosed("server")))
        server.set(true)
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.takeStarts() == ["A"])
        server.set(false)
        try await harness.commit(["C"])
        #expect(try await Self.waitReasons(harness, "A") == [])
        #expect(try await Self.waitReasons(harness, "C") == [.gateClosed("server")])
        try await harness.close()
    }

    @Test("An operation that no open pipeline takes reports it, with and without an engine in this process")
    func notOpen() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A"])
        let other = try await harness.stack.background { context in
            let other = context.enqueue(Named(name: "B"), in: "wrok")
            try context.commit()
            return try other.waitReasons()
        }
        #expect(other == [.notOpen])
        #expect(try await Self.waitReasons(harness, "A") == [.suspended])
        await harness.pipeline.close()
        #expect(try await Self.waitReasons(harness, "A") == [.notOpen])
        try await harness.close()
    }

    @Test("Each reason of a process has words, and equals only itself")
    func reasonWords() {
        let date = Date(timeIntervalSince1970: 1_780_000_000.25)
        let words: [(reason: WaitReason, text: String)] = [
            (.expired(at: date), "has not started before it expired at 2026-05-28T20:26:40.250Z"),
            (.notOpen, "has no open pipeline or broker in this process"),
            (.claimedTwice, "is in a queue that several brokers take"),
            (.suspended, "waits until its pipeline is resumed"),
            (.gateClosed("server"), "waits until 'server' opens the gate of its pipeline"),
            (.fullPipeline(limit: 8), "waits for a place in its pipeline, which runs 8 at once"),
            (.fullPipeline(limit: 9), "waits for a place in its pipeline, which runs 9 at once"),
            (.fullStack(limit: 8), "waits for a place in the stack, whose pipelines run 8 at once"),
            (.rateLimited(until: date), "waits for the rate limit until 2026-05-28T20:26:40.250Z"),
            (.laneRateLimited(until: date), "waits for the rate limit of its lane until 2026-05-28T20:26:40.250Z"),
            (
                .fullGlobally(limit: 8),
                "waits for a place in its pipeline, which runs 8 at once in all processes together"
            ),
        ]
        for (reason, text) in words {
            #expect(reason.description == text)
            #expect(words.count { $0.reason == reason } == 1)
        }
        let others: [WaitReason] = [.fullLane(limit: 8), .constraint("server"), .rateLimited(until: .distantPast)]
        #expect(Set(words.map { $0.reason } + others).count == words.count + others.count)
    }

    @Test(
        "An operation that waits for its lane names the operation ahead of it",
        arguments: [PipelineOrdering.fifo, .lifo, .commits]
    )
    func turn(_ ordering: PipelineOrdering) async throws {
        let harness = try await PipelineHarness.open(ordering: ordering)
        try await harness.commit(["A"])
        try await harness.play([.resume("A")])
        try await harness.commit(["B"])
        try await harness.commit(["C"])
        #expect(try await Self.waitReasons(harness, "A") == [])
        #expect(try await Self.waitReasons(harness, "B") == [.lane(harness.id("A"))])
        #expect(try await Self.waitReasons(harness, "C") == [.lane(harness.id("A"))])
        try await harness.end("A", .failure(CancellationError()))
        try await harness.close()
    }

    @Test(
        "Neither operations that were set aside nor those of the head's own commit count as waiting in a blocked lane"
    )
    func waiting() async throws {
        for ordering in [PipelineOrdering.fifo, .commits] {
            let harness = try await PipelineHarness.open(ordering: ordering, onFailure: .setAside)
            for name in ["A", "B", "C"] { try await harness.commit([Entry(stringLiteral: name)]) }
            try await harness.play([.resume("A")])
            try await harness.end("A", .success(.fail("broken")))
            try await harness.end("B", .success(.wait(.manual)))
            let lanes = try await harness.stack.background { try $0.pipelineSnapshots().first?.blockedLanes }
            #expect(lanes?.map(\.head) == [harness.id("B")] && lanes?.map(\.waiting) == [1], "\(ordering)")
            try await harness.close()
        }
        let harness = try await PipelineHarness.open(ordering: .commits)
        try await harness.commit(["A", "B"])
        try await harness.commit(["C"])
        try await harness.play([.resume("A", "B")])
        try await harness.end("A", .success(.wait(.manual)))
        let lanes = try await harness.stack.background { try $0.pipelineSnapshots().first?.blockedLanes }
        #expect(lanes?.map(\.head) == [harness.id("A")] && lanes?.map(\.waiting) == [1])
        try await harness.close()
    }

    @Test("A lane whose head depends on a blocked operation elsewhere is blocked; a progressing lane is not")
    func blockedElsewhere() async throws {
        let harness = try await PipelineHarness.open(ordering: .fifo)
        try await harness.commit(["a1", "b1←a1", "b2", "c1", "d1←c1"], lane: { String($0.first!) })
        try await harness.play([.resume("a1", "c1")])
        try await harness.end("a1", .success(.fail("poison")))
        await harness.pipeline.waitUntilProcessed()
        let snapshots = try await harness.stack.background { try $0.pipelineSnapshots() }
        let lanes = try #require(snapshots.first).blockedLanes
        #expect(lanes.map(\.lane) == ["a", "b"])
        #expect(lanes.map(\.waitReasons) == [[.failed("poison")], [.dependency(harness.id("a1"))]])
        let queued = try await harness.row("b1")?.enqueuedAt
        #expect(
            lanes.map(\.lastAttempt) == [harness.clock.now, nil] && lanes.map(\.since) == [harness.clock.now, queued]
        )
        #expect(lanes.map(\.waiting) == [0, 1] && queued != nil)
        try await harness.end("c1")
        try await harness.end("d1")
        try await harness.close()
    }

    @Test("A snapshot describes the queue in words, with one line for each blocked lane and its reason")
    func words() async throws {
        let harness = try await PipelineHarness.open(
            ordering: .fifo,
            clock: VirtualClock(Date(timeIntervalSince1970: 1_780_000_000.25))
        )
        try await harness.commit(["a1", "a2", "b1"], lane: { String($0.first!) })
        try await harness.play([.resume("a1", "b1")])
        try await harness.end("a1", .success(.fail("poison\n  of two lines\r\nor three")))
        try await harness.end("b1", .success(.snooze(for: .milliseconds(1500))))
        await harness.pipeline.waitUntilProcessed()
        let snapshots = try await harness.stack.background { try $0.pipelineSnapshots() }
        let (a1, b1) = (harness.id("a1"), harness.id("b1"))
        let queued = try #require(snapshots.first?.oldest).formatted(
            Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        )
        let words = """
            work: 1 waiting, 1 held, 1 failed, the oldest since \(queued)
              lane 'a': \(a1) has failed: poison   of two lines  or three (since 2026-05-28T20:26:40.250Z), 1 waiting
              lane 'b': \(b1) is held by 'retry' until 2026-05-28T20:26:41.750Z (since 2026-05-28T20:26:40.250Z), 0 waiting
            """
        #expect(snapshots.map(\.description) == [words])
        try await harness.close()
    }

    @Test("A snapshot counts operations and names blocked lanes with their reasons")
    func snapshot() async throws {
        let harness = try await PipelineHarness.open(ordering: .fifo)
        try await harness.commit(["a1", "a2", "a3", "b1", "b2", "c1"], lane: { String($0.first!) })
        try await harness.play([.resume("a1", "b1", "c1")])
        try await harness.end("a1", .success(.fail("poison")))
        try await harness.end("b1", .success(.wait(.manual)))
        await harness.pipeline.waitUntilProcessed()
        let snapshots = try await harness.stack.background { try $0.pipelineSnapshots() }
        let snapshot = try #require(snapshots.first)
        #expect(snapshots.count == 1 && snapshot.name == .work && snapshot.total == 6)
        #expect(snapshot.counts[.failed] == 1 && snapshot.counts[.held] == 1 && snapshot.counts[.active] == 1)
        let row = try await harness.row("a1")
        #expect(snapshot.oldest == row?.enqueuedAt && row?.enqueuedAt != nil)
        let lanes = snapshot.blockedLanes.sorted { $0.lane < $1.lane }
        #expect(lanes.map(\.lane) == ["a", "b"] && lanes.map(\.waiting) == [2, 1])
        #expect(lanes.map(\.head) == [harness.id("a1"), harness.id("b1")])
        #expect(lanes.map(\.waitReasons) == [[.failed("poison")], [.constraint(.manual)]])
        #expect(lanes.allSatisfy { $0.lastAttempt == harness.clock.now })
        try await harness.close()
    }
}
