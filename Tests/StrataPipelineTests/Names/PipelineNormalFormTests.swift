import Foundation
import StoreModels
import Strata
import StrataPipeline
import StrataTesting
import Synchronization
import Testing

/// Swift considers `é` as one scalar and as a letter with an accent equal. The store does not, so these are two names.
@Suite("Names in two normal forms are two names", .timeLimit(.minutes(1)))
struct PipelineNormalFormTests {
    static let composed = "caf\u{e9}"
    static let decomposed = "cafe\u{301}"
    static let both = [composed, decomposed]

    /// The texts that handlers received, in order.
    private final class Notes: Sendable {
        private let texts = Mutex<[UTF8Text]>([])

        func add(_ text: String) { texts.withLock { $0.append(UTF8Text(text)) } }
        var sorted: [UTF8Text] { texts.withLock { $0 }.sorted() }
    }

    /// Holds handlers until the given number of them have joined.
    private final class Meeting: Sendable {
        private let state: Mutex<(missing: Int, waiting: [CheckedContinuation<Void, Never>])>

        init(of count: Int) { state = Mutex((count, [])) }

        func join() async {
            await withCheckedContinuation { continuation in
                let waiting = state.withLock { state in
                    state.missing -= 1
                    state.waiting.append(continuation)
                    return state.missing > 0 ? [] : state.waiting
                }
                for continuation in waiting { continuation.resume() }
            }
        }
    }

    private static func stack() async throws -> ContextStack {
        try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
    }

    @Test("Lanes with a limit run concurrently, and no operation is left over")
    func lanes() async throws {
        let stack = try await Self.stack()
        let meeting = Meeting(of: 2)
        let pipeline = try await Pipeline.open(stack, named: .work, options: PipelineOptions(maxConcurrentPerLane: 1)) {
            (attempt: Attempt<Named>) in
            if attempt.payload.name == "first" { await meeting.join() }
            return .done
        }
        try await stack.background { context in
            for lane in Self.both {
                for name in ["first", "second"] { context.enqueue(Named(name: name), in: .work, lane: lane) }
            }
            try context.commit()
        }
        try await pipeline.waitUntilIdle()
        #expect(try await stack.background { try $0.count(QueuedOperation.all) } == 0)
        try await stack.close()
    }

    @Test("An operation in a full lane reports it, and one in the lane of the other form does not wait")
    func waitReasons() async throws {
        let harness = try await PipelineHarness.open(maxPerLane: 1)
        try await harness.commit(["A", "B", "C"]) { $0 == "C" ? Self.decomposed : Self.composed }
        try await harness.play([.resume("A", "C")])
        let waitReasons = try await harness.stack.background {
            [ids = ["A", "B", "C"].map { harness.id($0) }] context in
            try ids.map { try context.find($0)?.waitReasons() }
        }
        #expect(waitReasons == [[], [.fullLane(limit: 1)], []])
        try await harness.play([.done("A", "B"), .done("C"), .done("B")])
        try await harness.close()
    }

    @Test("Serial lanes do not wait for each other", arguments: [PipelineOrdering.fifo, .lifo, .commits])
    func orderings(_ ordering: PipelineOrdering) async throws {
        let stack = try await Self.stack()
        let meeting = Meeting(of: 2)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(ordering: ordering)
        ) { (_: Attempt<Named>) in
            await meeting.join()
            return .done
        }
        try await stack.background { context in
            for lane in Self.both { context.enqueue(Named(name: "A"), in: .work, lane: lane) }
            try context.commit()
        }
        try await pipeline.waitUntilIdle()
        try await stack.close()
    }

    @Test("Pipelines run their own operations only")
    func pipelines() async throws {
        let stack = try await Self.stack()
        let notes = [Notes(), Notes()]
        var pipelines: [Pipeline] = []
        for (name, notes) in zip(Self.both, notes) {
            pipelines.append(
                try await Pipeline.open(stack, named: PipelineName(name)) { (attempt: Attempt<Named>) in
                    notes.add(attempt.payload.name)
                    return .done
                }
            )
        }
        #expect(pipelines[0].name != pipelines[1].name && pipelines[0].name == PipelineName(Self.composed))
        for pipeline in pipelines { pipeline.suspend() }
        try await stack.background { context in
            for name in Self.both { context.enqueue(Named(name: name), in: PipelineName(name)) }
            try context.commit()
        }
        let snapshots = try await stack.background { try $0.pipelineSnapshots() }
        #expect(snapshots.map { UTF8Text($0.name.rawValue) } == Self.both.map(UTF8Text.init(_:)).sorted())
        for pipeline in pipelines { pipeline.resume() }
        for pipeline in pipelines { try await pipeline.waitUntilIdle() }
        #expect(notes.map(\.sorted) == Self.both.map { [UTF8Text($0)] })
        try await stack.close()
    }

    private struct Handler: TaskHandler {
        let notes: Notes
        func handle(_ attempt: Attempt<Named>) async throws -> Outcome {
            notes.add(attempt.pipeline.rawValue)
            return .done
        }
    }

    @Test("Two brokers each take the queue of one form")
    func brokers() async throws {
        let stack = try await Self.stack()
        let (notes, other) = (Notes(), Notes())
        let own = PipelineName(Self.decomposed)
        let brokers = [
            try await TaskBroker.open(
                stack,
                named: "all",
                handles: { $0 != own && $0 != "rest" },
                handler: Handler(notes: notes)
            ),
            try await TaskBroker.open(stack, named: "one", handles: { $0 == own }, handler: Handler(notes: other)),
        ]
        try await stack.background { context in
            for name in Self.both + ["other"] {
                for text in ["A", "B"] { context.enqueue(Named(name: text), in: PipelineName(name)) }
            }
            try context.commit()
        }
        for broker in brokers { try await broker.waitUntilIdle() }
        #expect(notes.sorted == [UTF8Text(Self.composed), UTF8Text(Self.composed), "other", "other"].sorted())
        #expect(other.sorted == [UTF8Text(Self.decomposed), UTF8Text(Self.decomposed)])
        try await stack.close()
    }

    @Test("A broker with one slot runs queues of both forms")
    func oneSlot() async throws {
        let stack = try await Self.stack()
        let notes = Notes()
        let broker = try await TaskBroker.open(
            stack,
            named: "all",
            handles: { _ in true },
            options: PipelineOptions(maxConcurrent: 1),
            handler: Handler(notes: notes)
        )
        try await stack.background { context in
            for name in Self.both { context.enqueue(Named(name: "A"), in: PipelineName(name)) }
            try context.commit()
        }
        try await broker.waitUntilIdle()
        #expect(notes.sorted == Self.both.map(UTF8Text.init(_:)).sorted())
        try await stack.close()
    }

    @Test("A constraint of one form does not wake operations that wait for the other form")
    func constraints() async throws {
        let constraints = Self.both.map { ManualConstraint(Constraint(rawValue: $0), isSatisfied: false) }
        #expect(constraints[0].constraint != constraints[1].constraint)
        #expect(Set(constraints.map(\.constraint)).count == 2)
        let harness = try await PipelineHarness.open(constraints: constraints)
        try await harness.commit(["A", "B"])
        try await harness.play([.resume("A", "B")])
        try await harness.end("A", .success(.wait(constraints[0].constraint)))
        try await harness.end("B", .success(.wait(constraints[1].constraint)))
        #expect(harness.takeStarts() == [])
        constraints[1].set(true)
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.takeStarts() == ["B"])
        constraints[0].set(true)
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.takeStarts() == ["A"])
        try await harness.play([.done("A"), .done("B")])
        try await harness.close()
    }

    @Test("Schedules of both forms run, each separately")
    func schedules() async throws {
        let clock = VirtualClock()
        let stack = try await Self.stack()
        let notes = Notes()
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(clock: clock)
        ) { (attempt: Attempt<Named>) in
            notes.add(attempt.payload.name)
            return .done
        }
        try await stack.background { context in
            for name in Self.both {
                try context.schedule(name, Named(name: name), in: .work, .every(.seconds(60)))
            }
            try context.commit()
        }
        await pipeline.waitUntilProcessed()
        clock.advance(by: .seconds(61))
        await pipeline.waitUntilProcessed()
        try await pipeline.waitUntilIdle()
        #expect(notes.sorted == Self.both.map(UTF8Text.init(_:)).sorted())
        try await stack.background { context in
            try context.unschedule(Self.composed)
            try context.commit()
            #expect(try context.rows(PeriodicOperation.all).map { UTF8Text($0.name) } == [UTF8Text(Self.decomposed)])
        }
        try await stack.close()
    }

    @Test("Keys of both forms are two keys", arguments: [DuplicatePolicy.keep, .replace])
    func keys(_ policy: DuplicatePolicy) async throws {
        let stack = try await Self.stack()
        let ids = try await stack.background { context in
            let ids = try Self.both.map { key in
                try context.enqueue(Named(name: key), in: .work, key: key, onDuplicate: policy).id
            }
            try context.commit()
            return ids
        }
        #expect(ids[0] != ids[1])
        let again = try await stack.background { context in
            let ids = try Self.both.map { key in
                try context.enqueue(Named(name: "again"), in: .work, key: key, onDuplicate: policy).id
            }
            try context.commit()
            return ids
        }
        #expect(again == ids)
        try await stack.close()
    }

    @Test("An operation that ends releases its key in its own form only")
    func releasedKeys() async throws {
        let stack = try await Self.stack()
        let notes = Notes()
        let pipeline = try await Pipeline.open(stack, named: .work) { (attempt: Attempt<Named>) in
            notes.add(attempt.payload.name)
            guard attempt.payload.name == "A" else { return .done }
            return .done { context in
                for key in Self.both { context.enqueue(Named(name: key), in: .work, key: key) }
            }
        }
        try await stack.background { context in
            context.enqueue(Named(name: "A"), in: .work, key: Self.composed)
            try context.commit()
        }
        try await pipeline.waitUntilIdle()
        #expect(notes.sorted == (Self.both + ["A"]).map(UTF8Text.init(_:)).sorted())
        try await stack.close()
    }

    @Test("Operations in random queues and lanes with random keys all run", arguments: [false, true])
    func random(isBroker: Bool) async throws {
        let seed = Dice.seed
        var generator = Dice(seed: seed)
        let texts = OddTexts.draw(60, using: &generator)
        let stack = try await Self.stack()
        let notes = Notes()
        let runner: any OperationRunner
        if isBroker {
            runner = try await TaskBroker.open(
                stack,
                named: "all",
                handles: { _ in true },
                options: PipelineOptions(maxConcurrent: 3),
                handler: Handler(notes: notes)
            )
        } else {
            runner = try await Pipeline.open(stack, named: .work, options: PipelineOptions(maxConcurrentPerLane: 1)) {
                (attempt: Attempt<Named>) in
                notes.add(attempt.payload.name)
                return .done
            }
        }
        runner.suspend()
        try await stack.background { context in
            for text in texts {
                let name: PipelineName = isBroker ? "q\(text)" : .work
                // A key must not be empty, and a text may be.
                try context.enqueue(Named(name: text), in: name, lane: text, key: "k\(text)", onDuplicate: .keep)
                context.enqueue(Named(name: text), in: name, lane: text)
            }
            try context.commit()
        }
        let bytes = Set(texts.map { Array($0.utf8) })
        let count = try await stack.background { try $0.count(QueuedOperation.where { $0.key != nil }) }
        #expect(count == bytes.count, "seed \(seed)")
        if isBroker {
            let snapshots = try await stack.background { try $0.pipelineSnapshots() }
            #expect(Set(snapshots.map(\.name)).count == bytes.count, "seed \(seed)")
        }
        runner.resume()
        try await runner.waitUntilIdle()
        let expected = (texts + bytes.map { String(decoding: $0, as: UTF8.self) }).map {
            UTF8Text(isBroker ? "q\($0)" : $0)
        }
        #expect(notes.sorted == expected.sorted(), "seed \(seed)")
        try await stack.close()
    }
}
