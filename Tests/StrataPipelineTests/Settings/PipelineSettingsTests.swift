import Foundation
import StoreModels
import Strata
import StrataTesting
import TestHomeTraits
import Testing

@testable import StrataPipeline

@Suite("Settings of pipelines that operators change", .timeLimit(.minutes(1))) struct PipelineSettingsTests {
    private func open(_ location: StoreLocation) async throws -> ContextStack {
        try await ContextStack.open(location, models: Pipeline.models, stack: .rootOnly)
    }

    private func waitReasons(_ harness: PipelineHarness, _ name: String) async throws -> [WaitReason] {
        let id = harness.id(name)
        return try await harness.stack.background { context in try #require(try context.find(id)).waitReasons() }
    }

    @Test("A pause by a stack without handlers stops all claims, and its end starts the waiting operations")
    func pause() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let harness = try await PipelineHarness.open(location)
        let other = try await open(location)
        harness.pipeline.resume()
        try await harness.commit(["A"])
        #expect(harness.takeStarts() == ["A"])
        let at = harness.clock.now
        let settings = try await other.updatePipelineSettings(of: .work, by: "ada", at: at) { $0.isPaused = true }
        #expect(settings.isPaused.value && settings.isPaused.isOverridden)
        #expect(settings.isPaused.change == PipelineSettings.Change(by: "ada", at: at))
        try await harness.commit(["B"])
        // The running operation continues, and its end starts nothing.
        try await harness.end("A")
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.takeStarts() == [])
        #expect(try await waitReasons(harness, "B") == [.paused(by: "ada", since: at)])
        let snapshot = try await harness.stack.background { try #require(try $0.pipelineSnapshots().first) }
        #expect(snapshot.pause == PipelineSettings.Change(by: "ada", at: at))
        #expect(snapshot.description.contains("paused by ada"))
        try await harness.pipeline.waitUntilIdle()
        #expect(harness.pipeline.suspensions == 0)
        try await other.updatePipelineSettings(of: .work, by: "bob") { $0.isPaused = false }
        try await harness.end("B")
        #expect(try await harness.result("B") == .completed)
        try await other.close()
        try await harness.close()
    }

    @Test("An operator's limit replaces the program's until its reset")
    func limit() async throws {
        let harness = try await PipelineHarness.open(max: 3)
        harness.pipeline.resume()
        try await harness.stack.updatePipelineSettings(of: .work, by: "ada") { $0.maxConcurrent = 1 }
        try await harness.commit(["A", "B", "C", "D"])
        #expect(harness.takeStarts() == ["A"])
        #expect(harness.pipeline.maxConcurrent == 1)
        #expect(try await waitReasons(harness, "B") == [.fullPipeline(limit: 1)])
        // The program's own value applies after the reset.
        try harness.pipeline.setMaxConcurrent(2)
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.takeStarts() == [])
        try await harness.stack.updatePipelineSettings(of: .work, by: "bob") { $0.reset(.maxConcurrent) }
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.takeStarts() == ["B"])
        let settings = try await harness.stack.pipelineSettings(of: .work)
        #expect(settings.maxConcurrent.value == 3 && !settings.maxConcurrent.isOverridden)
        #expect(settings.maxConcurrent.change?.by == "bob")
        try await harness.stack.updatePipelineSettings(of: .work, by: "ada") { $0.maxConcurrent = nil }
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.takeStarts() == ["C", "D"])
        try await harness.close()
    }

    @Test("An operator's rate limit applies at once, and its reset too")
    func rate() async throws {
        let harness = try await PipelineHarness.open()
        harness.pipeline.resume()
        try await harness.stack.updatePipelineSettings(of: .work, by: "ada") {
            $0.rateLimit = RateLimit(1, per: .seconds(10))
        }
        try await harness.commit(["A", "B", "C"])
        #expect(harness.takeStarts() == ["A"])
        #expect(
            try await waitReasons(harness, "B") == [.rateLimited(until: harness.clock.now.addingTimeInterval(10))]
        )
        harness.clock.advance(by: .seconds(10))
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.takeStarts() == ["B"])
        try await harness.stack.resetPipelineSettings(of: .work, by: "ada")
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.takeStarts() == ["C"])
        try await harness.close()
    }

    @Test("A restart and another declaration change no override, and the declaration of the last program is kept")
    func restart() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let first = try await PipelineHarness.open(location, max: 4)
        try await first.stack.updatePipelineSettings(of: .work, by: "ada") {
            $0.isPaused = true
            $0.maxConcurrent = 1
        }
        try await first.close()
        let second = try await PipelineHarness.open(location, max: 7)
        second.pipeline.resume()
        try await second.commit(["A", "B"])
        #expect(second.takeStarts() == [])
        #expect(second.pipeline.maxConcurrent == 1)
        let settings = try await second.stack.pipelineSettings(of: .work)
        #expect(settings.declared?.maxConcurrent == 7 && settings.maxConcurrent.value == 1)
        try await second.stack.resetPipelineSettings(of: .work, by: "bob")
        await second.pipeline.waitUntilProcessed()
        #expect(second.takeStarts() == ["A", "B"])
        let all = try await second.stack.background { try $0.allPipelineSettings() }
        #expect(all.map(\.pipeline) == [.work] && all.first?.isPaused.change?.by == "bob")
        try await second.close()
    }

    @Test("A value out of its bounds, an empty operator and an unknown pipeline are rejected, and nothing is stored")
    func rejected() async throws {
        let harness = try await PipelineHarness.open()
        let stack = harness.stack
        let changes: [@Sendable (inout PipelineSettingsUpdate) -> Void] = [
            { $0.maxConcurrent = 0 }, { $0.rateLimit = RateLimit(0, per: .seconds(1)) },
            { $0.rateLimit = RateLimit(1, per: .zero) },
        ]
        for change in changes {
            let error = await #expect(throws: PipelineError.self) {
                try await stack.updatePipelineSettings(of: .work, by: "ada") {
                    $0.isPaused = true
                    change(&$0)
                }
            }
            #expect(error?.code == .invalidArgument)
        }
        let empty = await #expect(throws: PipelineError.self) {
            try await stack.updatePipelineSettings(of: .work, by: "") { $0.isPaused = true }
        }
        #expect(empty?.code == .invalidArgument)
        let unknown = await #expect(throws: PipelineError.self) {
            try await stack.updatePipelineSettings(of: "wrok", by: "ada") { $0.isPaused = true }
        }
        #expect(unknown?.code == .unknownPipeline && unknown?.message.contains("'wrok'") == true)
        #expect(try await stack.background { try $0.count(PipelineOverride.all) } == 0)
        try await stack.updatePipelineSettings(of: "later", by: "ada", acceptsUnknownName: true) { $0.isPaused = true }
        #expect(try await stack.pipelineSettings(of: "later").isPaused.value)
        try await harness.close()
    }

    @Test("The settings of a name that no process has used declare nothing, and cannot be reset")
    func unknownName() async throws {
        let stack = try await open(.inMemory)
        let unknown = try await stack.pipelineSettings(of: "wrok")
        #expect(unknown.declared == nil && unknown.isPaused.change == nil && !unknown.maxConcurrent.isOverridden)
        let error = await #expect(throws: PipelineError.self) {
            try await stack.resetPipelineSettings(of: "wrok", by: "ada")
        }
        #expect(error?.code == .unknownPipeline && error?.message.contains("'wrok'") == true)
        #expect(error?.message.contains("acceptsUnknownName") == false)
        // An operator has prepared a queue that does not exist yet. The name is known from then on.
        try await stack.updatePipelineSettings(of: "later", by: "ada", acceptsUnknownName: true) { $0.isPaused = true }
        #expect(try await stack.pipelineSettings(of: "later").declared == nil)
        try await stack.resetPipelineSettings(of: "later", by: "bob")
        #expect(try await !stack.pipelineSettings(of: "later").isPaused.value)
        #expect(try await stack.background { try $0.allPipelineSettings() }.map(\.pipeline) == ["later"])
        try await stack.close()
    }

    @Test("A reset of an undeclared pipeline makes the update show the defaults")
    func undeclaredReset() async throws {
        let stack = try await open(.inMemory)
        try await stack.updatePipelineSettings(of: "later", by: "ada", acceptsUnknownName: true) { update in
            update.maxConcurrent = 2
            update.rateLimit = RateLimit(1, per: .seconds(1))
            update.isPaused = true
            update.reset()
            let (limit, rate, isPaused) = (update.maxConcurrent, update.rateLimit, update.isPaused)
            #expect(limit == 8 && rate == nil && !isPaused)
        }
        #expect(try await stack.background { try $0.count(PipelineOverride.all) } == 0)
        try await stack.close()
    }

    @Test("Changes of several operators at once are applied one after the other")
    func operators() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let harness = try await PipelineHarness.open(location, max: 1)
        let stacks = [harness.stack, try await open(location), try await open(location)]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<30 {
                let stack = stacks[index % 3]
                group.addTask {
                    try await stack.updatePipelineSettings(of: .work, by: "operator \(index)") {
                        $0.maxConcurrent = ($0.maxConcurrent ?? 0) + 1
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await stacks[1].pipelineSettings(of: .work).maxConcurrent.value == 31)
        for stack in stacks.dropFirst() { try await stack.close() }
        try await harness.close()
    }

    @Test("A queue of a broker can be paused, and its limits cannot be set; the other queues continue")
    func broker() async throws {
        let stack = try await open(.inMemory)
        let broker = try await TaskBroker.open(stack, named: "letters", handles: { $0.hasPrefix("to.") }) { handlers in
            handlers.on { (_: Attempt<Named>) in .done }
        }
        let log = EventRecorder(broker)
        try await stack.updatePipelineSettings(of: "to.ada", by: "ops", acceptsUnknownName: true) { $0.isPaused = true }
        let (ada, bob) = try await stack.background { context in
            let operations = (["to.ada", "to.bob"] as [PipelineName]).map { context.enqueue(Named(name: "A"), in: $0) }
            try context.commit()
            return (operations[0].id, operations[1].id)
        }
        try await log.waitForEnd(of: bob)
        try await broker.waitUntilIdle()
        #expect(log.started == [bob])
        // The queue is known as a queue of a broker after its first task was claimed.
        try await stack.updatePipelineSettings(of: "to.ada", by: "ops") { $0.reset() }
        try await log.waitForEnd(of: ada)
        let later = try await stack.background { context in
            let operation = context.enqueue(
                Named(name: "B"),
                in: "to.bob",
                notBefore: Date(timeIntervalSinceNow: 86_400)
            )
            try context.commit()
            return operation.id
        }
        await broker.waitUntilProcessed()
        #expect(try await stack.background { try $0.find(later)?.status } == .held)
        #expect(try await stack.pipelineSettings(of: "to.bob").declared == nil)
        let error = await #expect(throws: PipelineError.self) {
            try await stack.updatePipelineSettings(of: "to.bob", by: "ops") { $0.maxConcurrent = 1 }
        }
        #expect(error?.code == .invalidArgument)
        try await stack.close()
    }

    @Test("A limit that was stored before a broker has taken the queue is deleted with its first task")
    func brokerLimits() async throws {
        let stack = try await open(.inMemory)
        for name in ["to.ada", .work] as [PipelineName] {
            try await stack.updatePipelineSettings(of: name, by: "ops", acceptsUnknownName: true) { update in
                update.isPaused = false
                update.maxConcurrent = 1
                update.rateLimit = RateLimit(1, per: .seconds(3600))
            }
        }
        #expect(try await stack.pipelineSettings(of: "to.ada").maxConcurrent.value == 1)
        let broker = try await TaskBroker.open(stack, named: "letters", handles: { $0.hasPrefix("to.") }) { handlers in
            handlers.on { (_: Attempt<Named>) in .done }
        }
        let log = EventRecorder(broker)
        let id = try await stack.background { context in
            let operation = context.enqueue(Named(name: "A"), in: "to.ada")
            try context.commit()
            return operation.id
        }
        try await log.waitForEnd(of: id)
        let settings = try await stack.pipelineSettings(of: "to.ada")
        #expect(!settings.maxConcurrent.isOverridden && settings.maxConcurrent.change == nil)
        #expect(!settings.rateLimit.isOverridden && settings.rateLimit.value == nil)
        #expect(settings.isPaused.isOverridden, "brokers respect pauses")
        #expect(try await stack.pipelineSettings(of: .work).maxConcurrent.value == 1)
        try await stack.close()
    }

    @Test(
        "A store without the tables of settings gains them, and keeps its operations",
        .aboutTheFile("migrates a store")
    )
    func earlierStore() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let added: [any Model.Type] = [PipelineDeclaration.self, PipelineOverride.self, ScheduleRun.self]
        let models = Pipeline.models.filter { model in !added.contains { $0 == model } }
        #expect(models.count == Pipeline.models.count - added.count)
        let earlier = try await ContextStack.open(location, models: models, stack: .rootOnly)
        let id = try await earlier.background { context in
            let operation = context.enqueue(Named(name: "A"), in: .work)
            try context.commit()
            return operation.id
        }
        try await earlier.close()
        let stack = try await open(location)
        #expect(try await stack.pipelineSettings(of: .work).declared == nil)
        // The queued operation makes the name known.
        try await stack.updatePipelineSettings(of: .work, by: "ada") { $0.isPaused = true }
        let pipeline = try await Pipeline.open(stack, named: .work) { (_: Attempt<Named>) in .done }
        let log = EventRecorder(pipeline)
        try await pipeline.waitUntilIdle()
        #expect(log.started == [])
        try await stack.resetPipelineSettings(of: .work, by: "ada")
        try await log.waitForEnd(of: id)
        try await stack.close()
    }

    @Test("A renamed pipeline keeps the operator's settings")
    func renamed() async throws {
        let stack = try await open(.inMemory)
        let old = try await Pipeline.open(stack, named: "old") { (_: Attempt<Named>) in .done }
        try await stack.updatePipelineSettings(of: "old", by: "ada") { $0.isPaused = true }
        // A reset under the new name, which is in use again, does not end the pause.
        try await stack.updatePipelineSettings(of: .work, by: "bob", acceptsUnknownName: true) { $0.isPaused = true }
        try await stack.resetPipelineSettings(of: .work, by: "bob")
        await old.close()
        let new = try await Pipeline.open(stack, named: .work, previousNames: ["old"]) { (_: Attempt<Named>) in .done }
        let settings = try await stack.pipelineSettings(of: .work)
        #expect(settings.isPaused.value && settings.isPaused.change?.by == "ada")
        #expect(try await stack.pipelineSettings(of: "old").isPaused.change == nil)
        let all = try await stack.background { try $0.allPipelineSettings() }
        #expect(all.map(\.pipeline) == [.work])
        await new.close()
        try await stack.close()
    }

    @Test("A handler's commit that pauses its own pipeline lets nothing start after it")
    func insideHandler() async throws {
        let stack = try await open(.inMemory)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(ordering: .fifo)
        ) { (_: Attempt<Named>) in
            .done { context in try context.updatePipelineSettings(of: .work, by: "handler") { $0.isPaused = true } }
        }
        let log = EventRecorder(pipeline)
        let ids = try await stack.background { context in
            let operations = ["A", "B"].map { context.enqueue(Named(name: $0), in: .work) }
            try context.commit()
            return operations.map(\.id)
        }
        try await log.waitForEnd(of: ids[0])
        try await pipeline.waitUntilIdle()
        #expect(log.started == [ids[0]])
        try await stack.close()
    }
}
