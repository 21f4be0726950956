import FileHome
import Foundation
import StoreModels
import StrataTesting
import Synchronization
import Testing

@testable import Strata
@testable import StrataPipeline

/// Several nodes with free handlers that see the same new operation.
@Suite("Claims of several nodes", .timeLimit(.minutes(2)))
struct ClaimBackoffTests {
    /// The operations that handlers have begun, in their order, with the numbers of their workers.
    private final class Runs: Sendable {
        private let all = Mutex<[(worker: Int, name: String)]>([])

        var count: Int { all.withLock { $0.count } }
        var names: Set<String> { all.withLock { Set($0.map(\.name)) } }

        func add(_ name: String, by worker: Int) { all.withLock { $0.append((worker, name)) } }

        func worker(of name: String) -> Int? { all.withLock { $0.first { $0.name == name }?.worker } }
    }

    /// A node with a pipeline whose handlers end at once.
    private struct Worker {
        let stack: ContextStack
        let faults: HomeFaults
        let pipeline: Pipeline

        var lockCount: Int { faults.count(of: .lock) }
        var bound: Duration { pipeline.handle.engine.state.withLock { $0.claimBackoff.bound } }
    }

    private let folder: ScratchFolder
    private let runs = Runs()

    init() throws { folder = try ScratchFolder() }

    private func open(_ name: String, _ faults: HomeFaults = HomeFaults()) async throws -> ContextStack {
        try await ContextStack.open(
            .shared(FileHome(folder.file("home.sqlite"), faults: faults), copy: folder.file("\(name).sqlite")),
            models: Pipeline.models,
            stack: .rootOnly
        )
    }

    /// Opens a worker that waits for an hour after it has lost an operation. So the machine's speed does not decide.
    private func openWorker(_ number: Int) async throws -> Worker {
        let faults = HomeFaults()
        let stack = try await open("worker \(number)", faults)
        // A node that was alone for a second would publish without the lock.
        let follower = try #require(stack.core.engine.writer.follower)
        follower.quietTime.withLock { $0 = .seconds(1_000_000) }
        follower.noteOthers()
        // With a clock that stands still, no alarm makes a pass.
        let options = PipelineOptions(clock: VirtualClock())
        let pipeline = try await Pipeline.open(stack, named: .work, options: options) {
            [runs] (attempt: Attempt<Named>) in
            runs.add(attempt.payload.name, by: number)
            return .done
        }
        pipeline.handle.engine.state.withLock { $0.claimBackoff.range = .seconds(3600) ... .seconds(3600) }
        await pipeline.waitUntilProcessed()
        return Worker(stack: stack, faults: faults, pipeline: pipeline)
    }

    private func enqueue(_ name: String, on stack: ContextStack) async throws {
        let count = runs.count
        try await stack.write { context in _ = context.enqueue(Named(name: name), in: .work) }
        while runs.count == count, !Task.isCancelled { await Task.yield() }
    }

    @Test("For a new operation, one node takes the home's lock, and not all, once the others have lost one")
    func several() async throws {
        let web = try await open("web")
        var workers: [Worker] = []
        for number in 0..<6 { workers.append(try await openWorker(number)) }
        // All workers find the first operation before one of them gets the lock.
        for worker in workers { worker.faults.hold(.lock) }
        try await web.write { context in _ = context.enqueue(Named(name: "first"), in: .work) }
        while workers.contains(where: { $0.faults.heldCount == 0 }), !Task.isCancelled { await Task.yield() }
        for worker in workers { worker.faults.releaseCalls() }
        while workers.count(where: { $0.bound == .zero }) > 1 || runs.count == 0, !Task.isCancelled {
            await Task.yield()
        }
        // Passes that were requested before are over.
        for worker in workers { await worker.pipeline.waitUntilProcessed() }
        let winner = try #require(workers.firstIndex { $0.bound == .zero })
        #expect(runs.worker(of: "first") == winner)

        let before = workers.map(\.lockCount)
        let names = (0..<10).map { "\($0)" }
        for name in names { try await enqueue(name, on: web) }
        let locks = zip(workers, before).map { worker, count in worker.lockCount - count }
        for (number, count) in locks.enumerated() where number != winner { #expect(count == 0, "worker \(number)") }
        // One for the claim, one for the end.
        #expect(locks[winner] <= 3 * names.count)
        #expect(names.allSatisfy { runs.worker(of: $0) == winner })

        // Nodes do not wait after their own commits, nor after others' commits once they have claimed an operation.
        workers[winner].pipeline.suspend()
        let other = (winner + 1) % workers.count
        try await enqueue("own", on: workers[other].stack)
        #expect(runs.worker(of: "own") == other)
        #expect(workers[other].bound == .zero)
        try await enqueue("last", on: web)
        #expect(runs.worker(of: "last") == other)
        #expect(runs.names.count == names.count + 3 && runs.count == names.count + 3)

        for worker in workers { try await worker.stack.close() }
        try await web.close()
    }

    @Test("A claim in the transaction of a handler's changes ends the wait, too")
    func jointPass() async throws {
        let stack = try await open("worker")
        let bounds = Mutex<[Duration]>([])
        let options = PipelineOptions(maxConcurrent: 1, clock: VirtualClock())
        let pipeline = try await Pipeline.open(stack, named: .work, options: options) { (attempt: Attempt<Named>) in
            // While a pass runs, the end of the attempt would be left to the next one.
            await attempt.engine.executor.waitUntilIdle()
            let bound = attempt.engine.state.withLock { state in
                defer { state.claimBackoff.note(found: 1, claimed: 0) }
                return state.claimBackoff.bound
            }
            bounds.withLock { $0.append(bound) }
            return .done { _ in }
        }
        try await stack.write { context in
            for name in ["one", "two", "three"] { _ = context.enqueue(Named(name: name), in: .work) }
        }
        try await pipeline.waitUntilIdle()
        #expect(bounds.withLock { $0 } == [.zero, .zero, .zero])
        try await stack.close()
    }

    @Test("The wait doubles with each loss up to a limit, and a claim ends it")
    func bounds() {
        var backoff = ClaimBackoff()
        let first = backoff.beginWait()
        #expect(first == .zero)
        // The pass has found nothing, so it has lost nothing.
        backoff.note(found: 0, claimed: 0)
        #expect(backoff.bound == .zero)
        for milliseconds in [4, 8, 16, 32, 64, 64] {
            backoff.note(found: 2, claimed: 0)
            let bound = Duration.milliseconds(milliseconds)
            #expect(backoff.bound == bound)
            let (wait, second) = (backoff.beginWait(), backoff.beginWait())
            #expect(wait.map { (bound / 2...bound).contains($0) } ?? false)
            // One pass serves all commits during the wait.
            #expect(second == nil)
            backoff.endWait()
        }
        // An operation of several is enough.
        backoff.note(found: 2, claimed: 1)
        let last = backoff.beginWait()
        #expect(last == .zero && backoff.bound == .zero)
    }
}
