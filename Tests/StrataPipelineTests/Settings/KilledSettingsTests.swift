import Foundation
import StoreModels
import Strata
import StrataTesting
import Testing

@testable import StrataPipeline

private struct Chore: OperationPayload {
    var number: Int
}

/// `STRATA_KILLS` sets the number of kills, and `STRATA_SEED` repeats the moments:
///
///     STRATA_KILLS=1000 Scripts/test --filter KilledSettingsTests
@Suite("A process that changes settings is killed") struct KilledSettingsTests {
    @Test(
        "After a kill all settings are old or all are new, and workers obey them (seed: STRATA_SEED)",
        .timeLimit(.minutes(10))
    )
    func kills() async throws {
        let seed = Dice.seed
        let rounds = ProcessInfo.processInfo.environment["STRATA_KILLS"].flatMap { Int($0) } ?? 20
        var random = Dice(seed: seed)
        let folder = try ScratchFolder()
        let url = folder.file("s.sqlite")
        let stack = try await ContextStack.open(.sqlite(url), models: Pipeline.models, stack: .rootOnly)
        let pipeline = try await Pipeline.open(
            stack,
            named: "chores",
            options: PipelineOptions(maxConcurrent: 8)
        ) { (_: Attempt<Chore>) in .done }
        let log = EventRecorder(pipeline)
        var last = 8
        var changes = 0
        for round in 0..<rounds {
            let comment: Comment = "seed \(seed), round \(round)"
            let before = last
            let child = try HelperProcess("settings", url.path)
            // Some children die while they open the store, the others after a few changes, each at a random moment.
            let lives = Int.random(in: 0..<6, using: &random)
            for _ in 0..<lives {
                let line = try await child.next()
                last = try #require(Int(line), comment)
            }
            let pause =
                lives == 0 ? Int.random(in: 0..<40_000, using: &random) : Int.random(in: 0..<4000, using: &random)
            try await Task.sleep(for: .microseconds(pause))
            child.kill()
            for line in await child.end() { last = try #require(Int(line), comment) }

            let settings = try await stack.pipelineSettings(of: "chores")
            let number = try #require(settings.maxConcurrent.value, comment)
            #expect(number == last || number == last + 1, comment)
            last = number
            if number != before {
                changes += number - before
                #expect(settings.rateLimit.value?.count == 1000 + number, comment)
                #expect(settings.isPaused.value == (number % 2 == 1), comment)
                // The test itself may have been the last to change the pause.
                #expect(settings.maxConcurrent.change?.by == "operator \(number)", comment)
                #expect(settings.rateLimit.change?.by == "operator \(number)", comment)
            }
            try await checkWorker(stack, pipeline, log, isPaused: settings.isPaused.value, comment)
        }
        #expect(changes > rounds / 2, "too few changes to say anything, seed \(seed)")
        try await stack.close()
    }

    /// Checks that a worker of this process starts an operation only if the pipeline is not paused. Then the pipeline
    /// is not paused.
    private func checkWorker(
        _ stack: ContextStack,
        _ pipeline: Pipeline,
        _ log: EventRecorder,
        isPaused: Bool,
        _ comment: Comment
    ) async throws {
        let id = try await stack.background { context in
            let operation = context.enqueue(Chore(number: 1), in: "chores")
            try context.commit()
            return operation.id
        }
        if isPaused {
            try await pipeline.waitUntilIdle()
            #expect(!log.started.contains(id), comment)
            try await stack.updatePipelineSettings(of: "chores", by: "test") { $0.isPaused = false }
        }
        try await log.waitForEnd(of: id)
    }

    @Test(
        "A worker in another process stops at a pause of this process, and continues at its end",
        .timeLimit(.minutes(2))
    )
    func otherWorker() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("s.sqlite")
        let models: [any Model.Type] = [Mark.self, Counter.self]
        let stack = try await ContextStack.open(.sqlite(url), models: models + Pipeline.models, stack: .rootOnly)
        try await stack.background { context in
            context.insert(Counter())
            for number in 0..<200 { context.enqueue(Chore(number: number), in: "chores", lane: "0") }
            try context.commit()
        }
        let worker = try HelperProcess("drain", url.path)
        while try await stack.background({ try $0.count(Mark.all) }) < 5 { try await Task.sleep(for: .milliseconds(5)) }
        try await stack.updatePipelineSettings(of: "chores", by: "ada") { $0.isPaused = true }
        // The one operation that ran at the pause ends.
        while try await stack.background({ try $0.exists(QueuedOperation.where { $0.status == .active }) }) {
            try await Task.sleep(for: .milliseconds(5))
        }
        let marks = try await stack.background { try $0.count(Mark.all) }
        for number in 200..<220 {
            try await stack.background { context in
                context.enqueue(Chore(number: number), in: "chores", lane: "0")
                try context.commit()
            }
        }
        #expect(try await stack.background { try $0.count(Mark.all) } == marks)
        try await stack.updatePipelineSettings(of: "chores", by: "ada") { $0.isPaused = false }
        await worker.wait()
        #expect(try await stack.background { try $0.count(Mark.all) } == 220)
        try await stack.close()
    }
}
