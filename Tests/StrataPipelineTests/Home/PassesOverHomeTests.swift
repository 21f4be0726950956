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
        // The node itself asks for transactions and reports, at any moment.
        let calls = HomeFaults.Call.allCases.filter { $0 != .transactions && $0 != .report }
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

    private static func open(_ name: String, in folder: ScratchFolder) async throws -> ContextStack {
        try await ContextStack.open(
            .shared(FileHome(folder.file("home.sqlite")), copy: folder.file("\(name).sqlite")),
            models: Pipeline.models + [Stamp.self],
            stack: .rootOnly
        )
    }

    @Test("Changes and ends of operations are stored once each while another node commits")
    func changesOfHandlers() async throws {
        let folder = try ScratchFolder()
        let (worker, other) = (try await Self.open("worker", in: folder), try await Self.open("other", in: folder))
        let pipeline = try await Pipeline.open(worker, named: .work) { (attempt: Attempt<Named>) in
            .done { _ = $0.insert(Stamp(name: "handler \(attempt.payload.name)")) }
        }
        let count = 30
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for number in 0..<count {
                    try await worker.write { context in _ = context.enqueue(Named(name: "\(number)"), in: .work) }
                }
            }
            group.addTask {
                for number in 0..<count {
                    try await other.write { context in _ = context.insert(Stamp(name: "other \(number)")) }
                }
            }
            try await group.waitForAll()
        }
        try await pipeline.waitUntilIdle()
        for stack in [worker, other] {
            try await stack.catchUp()
            let counts = try await stack.background { context in
                [try context.count(Stamp.all), try context.count(FinishedOperation.where { $0.result == .completed })]
            }
            #expect(counts == [2 * count, count])
        }
        try await other.close()
        try await worker.close()
    }

    @Test("A block of `.done` that throws over an old copy runs again, and costs no attempt")
    func throwingBlock() async throws {
        let folder = try ScratchFolder()
        let (worker, other) = (try await Self.open("worker", in: folder), try await Self.open("other", in: folder))
        let (attempts, blocks) = (Runs(), Runs())
        let pipeline = try await Pipeline.open(worker, named: .work) { (attempt: Attempt<Named>) in
            attempts.add(attempt.payload.name)
            return .done { context in
                blocks.add("block")
                if try context.first(Stamp.where { $0.name == "other" }) != nil { return }
                try other.meanwhile { $0.insert(Stamp(name: "other")) }
                throw MissingStamp()
            }
        }
        try await worker.write { context in _ = context.enqueue(Named(name: "one"), in: .work) }
        try await pipeline.waitUntilIdle()
        #expect(attempts.names == ["one"])
        #expect(blocks.names == ["block", "block"])
        let completed = try await worker.background { context in
            try context.count(FinishedOperation.where { $0.result == .completed })
        }
        #expect(completed == 1)
        try await other.close()
        try await worker.close()
    }

    @Test("Holds end by the clock of the home, and deadlines of callers count by that of the node")
    func homeClock() async throws {
        let folder = try ScratchFolder()
        let home = FileHome(folder.file("home.sqlite"))
        home.faults.setClock(aheadBy: 3600)
        let stack = try await ContextStack.open(
            .shared(home, copy: folder.file("copy.sqlite")),
            models: Pipeline.models,
            stack: .rootOnly
        )
        // The first report follows the opening.
        while stack.clockDifference > -3000, !Task.isCancelled { await Task.yield() }
        let runs = Runs()
        let options = PipelineOptions(isSuspended: true)
        let pipeline = try await Pipeline.open(stack, named: .work, options: options) { (attempt: Attempt<Named>) in
            runs.add(attempt.payload.name)
            return try Outcome.done(result: attempt.payload.name)
        }
        let now = Date()
        let id = try await stack.write { context in
            context.enqueue(Named(name: "later"), in: .work, notBefore: now.addingTimeInterval(5400))
            return context.enqueue(Named(name: "held"), in: .work, notBefore: now.addingTimeInterval(1800)).id
        }
        let result = Task { try await pipeline.result(of: id, as: String.self, deadline: now.addingTimeInterval(600)) }
        // By the clock of the home, the deadline has passed already. The wait would end at its first look.
        try await Task.sleep(for: .milliseconds(100))
        pipeline.resume()
        #expect(try await result.value == "held")
        #expect(runs.names == ["held"])
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

private struct MissingStamp: Error {}

/// The names of the operations that handlers have begun.
private final class Runs: Sendable {
    private let all = Mutex<[String]>([])

    var names: [String] { all.withLock { $0.sorted() } }

    func add(_ name: String) { all.withLock { $0.append(name) } }
}
