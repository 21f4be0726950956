import Foundation
import Strata
import StrataTesting
import Testing

@testable import StrataPipeline

@Suite("Gates that hold a whole pipeline", .timeLimit(.minutes(1))) struct PipelineGateTests {
    private let server = ManualConstraint("server", isSatisfied: true)

    /// Queues `count` operations in one commit.
    private func queue(_ count: Int, in stack: ContextStack, keys: String? = nil) async throws {
        try await stack.background { context in
            for number in 0..<count {
                context.enqueue(Named(name: "\(keys ?? "")\(number)"), in: .work, key: keys.map { "\($0)\(number)" })
            }
            try context.commit()
        }
    }

    @Test("Operations stay pending at a closed gate, nothing is written, and all continue when it opens")
    func closedGate()
        async throws
    {
        server.set(false)
        let harness = try await PipelineHarness.open(gate: PipelineGate(server))
        try await harness.commit(["A", "B", "C"])
        harness.pipeline.resume()
        await harness.pipeline.waitUntilProcessed()
        let commits = try harness.stack.commitCount()
        for _ in 0..<100 {
            harness.clock.advance(by: .seconds(60))
            await harness.pipeline.waitUntilProcessed()
        }
        #expect(harness.takeStarts() == [])
        #expect(try harness.stack.commitCount() == commits)
        #expect(try await harness.row("A")?.status == .pending)
        #expect(try await harness.row("A")?.attempts == 0)
        server.set(true)
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.takeStarts() == ["A", "B", "C"])
        try await harness.close()
    }

    @Test("Running operations continue when the gate closes, and waiting ones start when it opens")
    func closingDuringRun() async throws {
        let harness = try await PipelineHarness.open(max: 1, gate: PipelineGate(server))
        try await harness.commit(["A", "B"])
        harness.pipeline.resume()
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.takeStarts() == ["A"])
        server.set(false)
        try await harness.end("A")
        await harness.pipeline.waitUntilProcessed()
        #expect(try await harness.result("A") == .completed)
        #expect(harness.takeStarts() == [])
        // Operations that are queued in the meantime wait as well.
        try await harness.commit(["C"])
        #expect(harness.takeStarts() == [])
        server.set(true)
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.takeStarts() == ["B"])
        try await harness.end("B")
        try await harness.end("C")
        try await harness.close()
    }

    @Test("Operations with an exempt key pass a closed gate")
    func operationsWithExemptKeys() async throws {
        server.set(false)
        let harness = try await PipelineHarness.open(gate: PipelineGate(server, exemptKeys: "elsewhere/"))
        try await queue(3, in: harness.stack)
        try await queue(2, in: harness.stack, keys: "elsewherf/")
        try await queue(2, in: harness.stack, keys: "elsewhere/")
        harness.pipeline.resume()
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.log.started.count == 2)
        let status = try await harness.stack.background { context in
            try context.fetch(QueuedOperation.where { $0.status == .active }).compactMap(\.key).sorted()
        }
        #expect(status == ["elsewhere/0", "elsewhere/1"])
        // One operation comes later, and one is held until a moment.
        try await harness.stack.background { context in
            context.enqueue(Named(name: "late"), in: .work, key: "elsewhere/late")
            context.enqueue(
                Named(name: "later"),
                in: .work,
                key: "elsewhere/later",
                notBefore: harness.clock.now.addingTimeInterval(60)
            )
            try context.commit()
        }
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.log.started.count == 3)
        harness.clock.advance(by: .seconds(60))
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.log.started.count == 4)
        server.set(true)
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.log.started.count == 8)
        try await harness.close()
    }

    @Test("Waiting for idleness does not wait for operations at a closed gate")
    func idleAtClosedGate() async throws {
        server.set(false)
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let pipeline = try await Pipeline.open(stack, named: .work, gate: PipelineGate(server, exemptKeys: "x")) {
            (_: Attempt<Named>) in .done
        }
        try await queue(10, in: stack)
        try await queue(3, in: stack, keys: "x")
        try await pipeline.waitUntilIdle()
        #expect(try await stack.background { try $0.count(QueuedOperation.all) } == 10)
        server.set(true)
        try await pipeline.waitUntilIdle()
        #expect(try await stack.background { try $0.count(QueuedOperation.all) } == 0)
        try await stack.close()
    }

    @Test("A gate that opens and closes repeatedly loses no operation")
    func flappingGate() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let pipeline = try await Pipeline.open(stack, named: .work, gate: PipelineGate(server)) {
            (_: Attempt<Named>) in
            await Task.yield()
            return .done
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [server] in
                for step in 0..<2_000 {
                    server.set(step % 2 == 1)
                    await Task.yield()
                }
            }
            group.addTask { for _ in 0..<40 { try await queue(5, in: stack) } }
            try await group.waitForAll()
        }
        // The last step has opened the gate.
        #expect(server.isSatisfied)
        for _ in 0..<20_000 {
            if try await stack.background({ try $0.count(QueuedOperation.all) }) == 0 { break }
            try await Task.sleep(for: .milliseconds(1))
        }
        #expect(try await stack.background { try $0.count(QueuedOperation.all) } == 0)
        withExtendedLifetime(pipeline) {}
        try await stack.close()
    }

    @Test("A gate holds only its own pipeline, and only in its own process")
    func scopeOfGate() async throws {
        server.set(false)
        let place = FileManager.default.temporaryDirectory.appending(path: "gate-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: place) }
        let file = StoreLocation.sqlite(place.appending(path: "store.sqlite"))
        let stack = try await ContextStack.open(file, models: Pipeline.models, stack: .rootOnly)
        let closed = try await Pipeline.open(stack, named: .work, gate: PipelineGate(server)) { (_: Attempt<Named>) in
            .done
        }
        let other = try await Pipeline.open(stack, named: "other") { (_: Attempt<Named>) in .done }
        try await queue(3, in: stack)
        try await stack.background { context in
            context.enqueue(Named(name: "x"), in: "other")
            try context.commit()
        }
        try await other.waitUntilIdle()
        try await closed.waitUntilIdle()
        #expect(try await stack.background { try $0.count(QueuedOperation.all) } == 3)
        // Simulates another process, whose gate is open.
        let second = try await ContextStack.open(file, models: Pipeline.models, stack: .rootOnly)
        let open = try await Pipeline.open(second, named: .work) { (_: Attempt<Named>) in .done }
        try await open.waitUntilIdle()
        #expect(try await stack.background { try $0.count(QueuedOperation.all) } == 0)
        try await second.close()
        try await stack.close()
    }
}
