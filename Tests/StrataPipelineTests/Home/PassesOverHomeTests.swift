import FileHome
import Foundation
import StoreModels
import Strata
import StrataTesting
import Synchronization
import Testing

@testable import StrataPipeline

/// A pipeline on a working copy.
@Suite("Passes in a store with a home", .timeLimit(.minutes(1)))
struct PassesOverHomeTests {
    @Test("Heartbeats and wakes that find nothing do not take the home's lock")
    func idle() async throws {
        let folder = try ScratchFolder()
        let home = FileHome(folder.file("home.sqlite"))
        let harness = try await PipelineHarness.open(.shared(home, copy: folder.file("copy.sqlite")))
        harness.pipeline.resume()
        await harness.pipeline.waitUntilProcessed()
        let calls = HomeFaults.Call.allCases.filter { $0 != .transactions }
        let before = calls.map { home.faults.count(of: $0) }
        for _ in 0..<5 {
            harness.clock.advance(by: .seconds(PassMemory.Heartbeat.interval))
            await harness.pipeline.waitUntilProcessed()
        }
        #expect(calls.map { home.faults.count(of: $0) } == before)
        try await harness.close()
    }

    @Test("Operations that a pass finds without the lock run once each")
    func claims() async throws {
        let folder = try ScratchFolder()
        let home = FileHome(folder.file("home.sqlite"))
        let stack = try await ContextStack.open(
            .shared(home, copy: folder.file("copy.sqlite")),
            models: Pipeline.models,
            stack: .rootOnly
        )
        let runs = Runs()
        let pipeline = try await Pipeline.open(stack, named: .work) { (attempt: Attempt<Named>) in
            runs.add(attempt.payload.name)
            return .done
        }
        let names = (0..<20).map { "\($0)" }
        for name in names {
            try await stack.write { context in _ = context.enqueue(Named(name: name), in: .work) }
        }
        try await pipeline.waitUntilIdle()
        #expect(runs.names == names.sorted())
        let finished = try await stack.background { try $0.count(FinishedOperation.all) }
        #expect(finished == names.count)
        try await stack.close()
    }

    @Test("A worker with claims still sends its heartbeat")
    func heartbeat() async throws {
        let folder = try ScratchFolder()
        let home = FileHome(folder.file("home.sqlite"))
        let harness = try await PipelineHarness.open(.shared(home, copy: folder.file("copy.sqlite")))
        try await harness.commit(["A"])
        harness.pipeline.resume()
        await harness.pipeline.waitUntilProcessed()
        let before = try home.newest().number
        harness.clock.advance(by: .seconds(PassMemory.Heartbeat.interval))
        await harness.pipeline.waitUntilProcessed()
        #expect(try home.newest().number > before)
        try await harness.end("A")
        try await harness.close()
    }
}

/// The names of the operations that handlers have begun.
private final class Runs: Sendable {
    private let all = Mutex<[String]>([])

    var names: [String] { all.withLock { $0.sorted() } }

    func add(_ name: String) { all.withLock { $0.append(name) } }
}
