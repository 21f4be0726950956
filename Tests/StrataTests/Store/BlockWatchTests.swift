import Foundation
import InMemoryLogging
import Logging
import StoreModels
import Synchronization
import TestHomeTraits
import Testing

@testable import Strata

@Suite("Warnings of blocks that hold the writer", .timeLimit(.minutes(2)))
struct BlockWatchTests {
    private let handler = InMemoryLogHandler()

    private func open(patience: Duration) async throws -> ContextStack {
        let logger = Logger(label: "test") { [handler] _ in handler }
        let stack = try await ContextStack.open(
            .inMemory,
            models: savingModels,
            stack: .rootOnly,
            logger: logger
        )
        // Otherwise the first commit would wait for its ids, without a place among the writes.
        _ = try stack.core.engine.ids.take()
        stack.core.engine.blockWatch.patience.withLock { $0 = patience }
        stack.runWrites(inside: true)
        return stack
    }

    /// The queues that warnings name.
    private var warnings: [String] {
        handler.entries.filter { $0.level == .warning }.compactMap { $0.metadata["strata.queue"]?.description }
    }

    /// Runs a block that stays inside its transaction while `body` runs.
    private static func withOpenBlock(_ stack: ContextStack, _ body: () async throws -> Void) async throws {
        let (hasBegun, gate) = (Signal(), DispatchSemaphore(value: 0))
        let call = Task {
            try await stack.write { context in
                #expect(context.runsInTransaction)
                hasBegun.set()
                gate.wait()
                context.insert(Cell(a: 1))
            }
        }
        await hasBegun.wait()
        do { try await body() } catch {
            gate.signal()
            throw error
        }
        gate.signal()
        try await call.value
    }

    private static func commit(_ stack: ContextStack) async throws {
        try await stack.background { context in
            context.insert(Cell(a: 2))
            try context.commit()
        }
    }

    @Test("A block that waits for the commit of another task is reported, again after some time, and can end")
    func waiting() async throws {
        let stack = try await open(patience: .milliseconds(1))
        let handler = handler
        try await stack.write { context in
            context.insert(Cell(a: 1))
            let hasCommitted = DispatchSemaphore(value: 0)
            _ = Task.detached {
                try await Self.commit(stack)
                hasCommitted.signal()
            }
            // Without a sign, the block would wait for ever here.
            while hasCommitted.wait(timeout: .now()) == .timedOut {
                if handler.entries.filter({ $0.level == .warning }).count >= 2 { break }
                sched_yield()
            }
        }
        #expect(warnings.count >= 2 && Set(warnings) == ["strata.write"])
        let text = handler.entries.first { $0.level == .warning }?.message.description ?? ""
        #expect(text.contains("If the block waits for another commit, neither ever ends"), "\(text)")
        let hasEnded = try await eventually { try await stack.background { try $0.count(Cell.all) } == 2 }
        #expect(hasEnded)
        try await stack.close()
    }

    @Test("A block of an engine is reported with its queue, also if another block waits for it")
    func engine() async throws {
        let stack = try await open(patience: .milliseconds(1))
        let pace = BlockPace(isShort: true)
        let handler = handler
        let other = Mutex<Task<Void, any Error>?>(nil)
        try await stack.writeOverStore(on: BlockQueue(label: "test.queue"), pace: pace) { context in
            context.insert(Cell(a: 1))
            let call = Task.detached { try await stack.write { _ = $0.insert(Cell(a: 2)) } }
            other.withLock { $0 = call }
            while !handler.entries.contains(where: { $0.level == .warning }) { sched_yield() }
        }
        try await other.withLock({ $0 })?.value
        #expect(warnings.first == "test.queue")
        #expect(try await stack.background { try $0.count(Cell.all) } == 2)
        try await stack.close()
    }

    @Test("A block that runs before its transaction waits for an earlier one inside, which is reported")
    func queue() async throws {
        let stack = try await open(patience: .milliseconds(1))
        let handler = handler
        let later = Mutex<Task<Void, any Error>?>(nil)
        try await Self.withOpenBlock(stack) {
            let call = Task { try await stack.write(ifChanged: .merge(.error)) { _ in } }
            later.withLock { $0 = call }
            let isLogged = try await eventually { handler.entries.contains { $0.level == .warning } }
            #expect(isLogged)
        }
        try await later.withLock({ $0 })?.value
        try await stack.close()
    }

    @Test("Waiting writes share one timer, and without them no timer runs")
    func timer() async throws {
        let stack = try await open(patience: .seconds(600))
        let watch = stack.core.engine.blockWatch
        try await Self.withOpenBlock(stack) { #expect(!watch.hasStarted) }
        let commits = Mutex<[Task<Void, any Error>]>([])
        try await Self.withOpenBlock(stack) {
            for count in 1...3 {
                let call = Task { try await Self.commit(stack) }
                commits.withLock { $0.append(call) }
                let isWaiting = try await eventually { stack.waitingWriteCount == count }
                #expect(isWaiting && watch.hasStarted)
            }
        }
        for commit in commits.withLock({ $0 }) { try await commit.value }
        #expect(warnings == [])
        try await stack.close()
    }

    @Test("Without a logger no timer runs")
    func silent() {
        let watch = BlockWatch(nil)
        var hasRun = false
        watch.watch(queue: "test") {
            hasRun = true
            watch.start { 1 }
            #expect(!watch.hasStarted && !watch.hasBlock)
        }
        #expect(hasRun)
    }

    @Test("A task that a block starts and does not wait for can commit")
    func childTask() async throws {
        let stack = try await open(patience: .seconds(600))
        let started = Mutex<Task<Void, any Error>?>(nil)
        try await stack.write { context in
            context.insert(Cell(a: 1))
            let task = Task { try await stack.write { _ = $0.insert(Cell(a: 2)) } }
            started.withLock { $0 = task }
        }
        try await started.withLock({ $0 })?.value
        #expect(try await stack.background { try $0.count(Cell.all) } == 2)
        try await stack.close()
    }

    @Test(
        "A block that writes on its own thread, beside its commit, gets an error, and the others are committed",
        .aboutTheFile("counts transactions, and a failed commit is repeated with the lock of a home")
    )
    func nestedWrite() async throws {
        let store = try await SharingStore()
        let stack = store.stack
        stack.runWrites(inside: true)
        let outcomes = try await store.runTogether([
            { try await stack.write { _ = $0.insert(Cell(a: 1)) } },
            {
                try await stack.write { context in
                    context.insert(Cell(a: 2))
                    try stack.core.engine.write(for: { "other" }) { _ in [] }
                }
            },
            { try await stack.write { _ = $0.insert(Cell(a: 3)) } },
        ])
        #expect(outcomes.codes == [nil, .invalidState, nil])
        #expect(outcomes.transactions == 1)
        try await stack.close()
    }
}
