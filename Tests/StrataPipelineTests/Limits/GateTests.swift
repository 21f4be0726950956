import Foundation
import Strata
import StrataTesting
import Testing

@testable import StrataPipeline

@Suite("Gates that hold a whole pipeline", .timeLimit(.minutes(1))) struct GateTests {
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

    @Test func `operations stay pending at a closed gate, nothing is written, and all go on when it opens`()
        async throws
    {
        server.set(false)
        let stage = try await Stage.open(gate: PipelineGate(server))
        try await stage.commit(["A", "B", "C"])
        stage.pipeline.resume()
        await stage.pipeline.settled()
        let commits = try stage.stack.commitCount()
        for _ in 0..<100 {
            stage.clock.advance(by: .seconds(60))
            await stage.pipeline.settled()
        }
        #expect(stage.takeStarts() == [])
        #expect(try stage.stack.commitCount() == commits)
        #expect(try await stage.row("A")?.status == .pending)
        #expect(try await stage.row("A")?.attempts == 0)
        server.set(true)
        await stage.pipeline.settled()
        #expect(stage.takeStarts() == ["A", "B", "C"])
        try await stage.close()
    }

    @Test func `what runs goes on when the gate closes, and what waits is started when it opens`() async throws {
        let stage = try await Stage.open(max: 1, gate: PipelineGate(server))
        try await stage.commit(["A", "B"])
        stage.pipeline.resume()
        await stage.pipeline.settled()
        #expect(stage.takeStarts() == ["A"])
        server.set(false)
        try await stage.end("A")
        await stage.pipeline.settled()
        #expect(try await stage.result("A") == .completed)
        #expect(stage.takeStarts() == [])
        // Operations that are queued in the meantime wait as well.
        try await stage.commit(["C"])
        #expect(stage.takeStarts() == [])
        server.set(true)
        await stage.pipeline.settled()
        #expect(stage.takeStarts() == ["B"])
        try await stage.end("B")
        try await stage.end("C")
        try await stage.close()
    }

    @Test func `operations with an exempt key pass a closed gate`() async throws {
        server.set(false)
        let stage = try await Stage.open(gate: PipelineGate(server, exemptKeys: "elsewhere/"))
        try await queue(3, in: stage.stack)
        try await queue(2, in: stage.stack, keys: "elsewherf/")
        try await queue(2, in: stage.stack, keys: "elsewhere/")
        stage.pipeline.resume()
        await stage.pipeline.settled()
        #expect(stage.log.started.count == 2)
        let status = try await stage.stack.background { context in
            try context.fetch(QueuedOperation.where { $0.status == .active }).compactMap(\.key).sorted()
        }
        #expect(status == ["elsewhere/0", "elsewhere/1"])
        // One operation comes later, and one is held until a moment.
        try await stage.stack.background { context in
            context.enqueue(Named(name: "late"), in: .work, key: "elsewhere/late")
            context.enqueue(
                Named(name: "later"),
                in: .work,
                key: "elsewhere/later",
                notBefore: stage.clock.now.addingTimeInterval(60)
            )
            try context.commit()
        }
        await stage.pipeline.settled()
        #expect(stage.log.started.count == 3)
        stage.clock.advance(by: .seconds(60))
        await stage.pipeline.settled()
        #expect(stage.log.started.count == 4)
        server.set(true)
        await stage.pipeline.settled()
        #expect(stage.log.started.count == 8)
        try await stage.close()
    }

    @Test func `what waits at a closed gate is not waited for`() async throws {
        server.set(false)
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let pipeline = try await Pipeline.open(stack, named: .work, gate: PipelineGate(server, exemptKeys: "x")) {
            (_: Attempt<Named>) in .done
        }
        try await queue(10, in: stack)
        try await queue(3, in: stack, keys: "x")
        try await pipeline.drained()
        #expect(try await stack.background { try $0.count(QueuedOperation.all) } == 10)
        server.set(true)
        try await pipeline.drained()
        #expect(try await stack.background { try $0.count(QueuedOperation.all) } == 0)
        try await stack.close()
    }

    @Test func `a gate that opens and closes again and again loses nothing`() async throws {
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

    @Test func `a gate holds back its own pipeline only, and not in another process`() async throws {
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
        try await other.drained()
        try await closed.drained()
        #expect(try await stack.background { try $0.count(QueuedOperation.all) } == 3)
        // Simulates another process, whose gate is open.
        let second = try await ContextStack.open(file, models: Pipeline.models, stack: .rootOnly)
        let open = try await Pipeline.open(second, named: .work) { (_: Attempt<Named>) in .done }
        try await open.drained()
        #expect(try await stack.background { try $0.count(QueuedOperation.all) } == 0)
        try await second.close()
        try await stack.close()
    }
}
