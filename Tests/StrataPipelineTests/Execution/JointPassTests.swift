import Dispatch
import Foundation
import StoreModels
import StrataTesting
import Synchronization
import Testing

@testable import Strata
@testable import StrataPipeline

@Suite("A pass of the blocks that share a transaction", .timeLimit(.minutes(1)))
struct JointPassTests {
    private struct Run: OperationPayload {
        var number: Int
    }

    private struct Refusal: Error {}

    /// A pipeline with eight handlers whose blocks share a transaction, in the order of their numbers, while eight more
    /// operations are queued.
    private final class Fixture: Sendable {
        static let count = 8
        let stack: ContextStack
        let pipeline: Pipeline
        let log: EventRecorder
        private let gates: [AsyncStream<Never>.Continuation]
        private let isInside = DispatchSemaphore(value: 0)
        private let release = DispatchSemaphore(value: 0)

        /// - Parameter refused: the number of the operation whose block throws.
        init(refused: Int? = nil, patience: Duration = .seconds(3600)) async throws {
            let stack = try await ContextStack.open(
                .inMemory,
                models: Pipeline.models + [Stamp.self],
                stack: .rootOnly
            )
            stack.core.engine.setGroupTimeLimit(.seconds(3600))
            // The last one is the gate of the operations that come after the blocks.
            let gates = (0...Self.count).map { _ in AsyncStream.makeStream(of: Never.self) }
            let streams = gates.map(\.stream)
            pipeline = try await Pipeline.open(
                stack,
                named: .work,
                options: PipelineOptions(maxConcurrent: Self.count, retry: .never, clock: VirtualClock())
            ) { (attempt: Attempt<Run>) in
                let number = attempt.payload.number
                if number >= 0 { for await _ in streams[min(number, Self.count)] {} }
                return .done { context in
                    if number == refused { throw Refusal() }
                    context.insert(Stamp(name: "\(number)"))
                }
            }
            self.stack = stack
            self.gates = gates.map(\.continuation)
            log = EventRecorder(pipeline)
            engine.joint.withLock { $0.patience = patience }
            for consumer in engine.state.withLock({ $0.consumers.values.map(\.definition) }) {
                consumer.blockPace.timeLimit.withLock { $0 = .seconds(3600) }
            }
            // Shows that blocks are short.
            try await enqueue(-1..<0)
            try await pipeline.waitUntilIdle()
        }

        var engine: QueueEngine { pipeline.handle.engine }

        func enqueue(_ numbers: Range<Int>) async throws {
            try await stack.background { context in
                for number in numbers { context.enqueue(Run(number: number), in: .work) }
                try context.commit()
            }
        }

        /// Lets the eight blocks run one after another in one transaction.
        ///
        /// - Returns: the number of transactions before it.
        @discardableResult
        func runBlocks() async throws -> Int {
            try await enqueue(0..<2 * Self.count)
            try await waitForStarts(1 + Self.count)
            Thread.detachNewThread { [self] in
                // While this transaction runs, the blocks wait for the writer.
                try? stack.transact(author: "hand") { _ in
                    isInside.signal()
                    release.wait()
                }
            }
            #expect(await waitInThread(isInside))
            for number in 0..<Self.count {
                gates[number].finish()
                while stack.waitingWriteCount <= number { try await Task.sleep(for: .milliseconds(1)) }
            }
            let transactions = stack.transactionCount
            release.signal()
            return transactions
        }

        /// Lets the operations after the blocks end, and waits for the ends of all.
        func finish() async throws {
            gates[Self.count].finish()
            try await pipeline.waitUntilIdle()
        }

        func waitForStarts(_ count: Int) async throws {
            try await log.wait { events in events.count { if case .started = $0 { true } else { false } } >= count }
        }

        private func waitInThread(_ semaphore: DispatchSemaphore) async -> Bool {
            await withCheckedContinuation { continuation in
                DispatchQueue.global().async {
                    continuation.resume(returning: semaphore.wait(timeout: .now() + 30) == .success)
                }
            }
        }

        /// Expects that each operation has ended once, and that the changes of all but the refused one are stored.
        func expectAll(refused: Int? = nil) async throws {
            let numbers = (-1..<2 * Self.count).filter { $0 != refused }
            let (stamps, results, left) = try await stack.background { context in
                (
                    try context.column(Stamp.all, \.name), try context.column(FinishedOperation.all, \.result),
                    try context.column(QueuedOperation.all, \.status)
                )
            }
            #expect(stamps.sorted() == numbers.map { "\($0)" }.sorted())
            #expect(results == [OperationResult](repeating: .completed, count: numbers.count))
            #expect(left == (refused == nil ? [] : [.failed]))
            try await log.wait { $0.count >= 2 * (2 * Self.count + 1) }
            let ends = log.events.compactMap { event -> ObjectID<QueuedOperation>? in
                switch event {
                case .finished(let id, _), .failed(let id, _): id
                default: nil
                }
            }
            #expect(Set(ends).count == 2 * Self.count + 1 && ends.count == 2 * Self.count + 1)
        }

        func close() async throws {
            await pipeline.close()
            try await stack.close()
        }
    }

    private static let operation = ClaimedOperation(
        claim: Claim(operation: 1, worker: 1, epoch: 1),
        pipeline: .work,
        lane: "",
        attempt: 1,
        type: "Run",
        payload: Data(),
        payloadVersion: 1,
        key: nil,
        enqueuedAt: nil,
        options: nil
    )

    @Test("One transaction has the changes and ends of eight handlers, and the next eight claims")
    func shared() async throws {
        let fixture = try await Fixture()
        let before = try await fixture.runBlocks()
        try await fixture.waitForStarts(1 + 2 * Fixture.count)
        #expect(fixture.stack.transactionCount == before + 1)
        try await fixture.finish()
        try await fixture.expectAll()
        try await fixture.close()
    }

    @Test("If a block throws, all others are committed, and the next operations start", arguments: [0, 3, 7])
    func refused(_ number: Int) async throws {
        let fixture = try await Fixture(refused: number)
        try await fixture.runBlocks()
        try await fixture.waitForStarts(1 + 2 * Fixture.count)
        try await fixture.finish()
        try await fixture.expectAll(refused: number)
        try await fixture.close()
    }

    @Test("If blocks wait too long, the first one writes the pass, and the handlers of the others report their ends")
    func impatient() async throws {
        let fixture = try await Fixture(patience: .zero)
        let before = try await fixture.runBlocks()
        try await fixture.waitForStarts(1 + 2 * Fixture.count)
        #expect(fixture.stack.transactionCount > before + 1)
        try await fixture.finish()
        try await fixture.expectAll()
        try await fixture.close()
    }

    @Test("A pass that has waited too long for blocks is left to the engine, as soon as one block has failed")
    func overdue() async throws {
        let fixture = try await Fixture()
        let input = try #require(fixture.engine.collectInput())
        var joint = QueueEngine.JointState()
        joint.begin(input)
        joint.waiting = 2
        joint.patience = .seconds(3600)
        let early = joint.takePass(endedBy: nil)?.number
        #expect(early == nil)
        joint.patience = .zero
        let overdue = joint.takePass(endedBy: nil)?.number
        #expect(overdue == 1)
        #expect(joint.pass?.number == nil)
        joint.begin(input)
        // A block that has found the first pass does not belong to the second one.
        let facts = OperationRepository.CachedFacts(sequence: 1, facts: OperationRepository.StoreFacts())
        let consumer = try #require(fixture.engine.state.withLock { $0.consumers.values.first?.definition })
        let end = JointPass.End(
            attemptEnd: AttemptEnd(operation: Self.operation, consumer: consumer, outcome: .success(.done)),
            decided: []
        )
        let isLate = joint.add(end, to: 1, leaving: facts, isUnchanged: true)
        #expect(!isLate && joint.pass?.ends.count == 0)
        let isInTime = joint.add(end, to: 2, leaving: facts, isUnchanged: true)
        #expect(isInTime && joint.pass?.ends.count == 1)
        fixture.engine.restore(input)
        fixture.engine.schedulePass()
        try await fixture.close()
    }

    @Test("If the pass fails, the changes and ends of all blocks are committed without it")
    func failedPass() async throws {
        let fixture = try await Fixture()
        try fixture.stack.transact(author: "hand") { transaction in
            // Only operations after the blocks cannot be claimed.
            try transaction.run(
                """
                CREATE TEMP TRIGGER "no_claims" BEFORE UPDATE OF "status" ON main."QueuedOperation" \
                WHEN NEW."status" = 3 AND (SELECT count(*) FROM main."Stamp") > 1 \
                BEGIN SELECT RAISE(ABORT, 'no claims'); END
                """
            )
        }
        try await fixture.runBlocks()
        try await fixture.log.wait { $0.contains { if case .storeFailed = $0 { true } else { false } } }
        // The block that has tried to write the pass runs again.
        while try await fixture.stack.background({ try $0.count(Stamp.all) }) < 1 + Fixture.count {
            try await Task.sleep(for: .milliseconds(1))
        }
        #expect(try await fixture.stack.background { try $0.count(FinishedOperation.all) } == 1 + Fixture.count)
        try fixture.stack.transact(author: "hand") { try $0.run("DROP TRIGGER temp.\"no_claims\"") }
        fixture.engine.schedulePass()
        try await fixture.waitForStarts(1 + 2 * Fixture.count)
        try await fixture.finish()
        #expect(try await fixture.stack.background { try $0.count(Stamp.all) } == 1 + 2 * Fixture.count)
        try await fixture.close()
    }
}
