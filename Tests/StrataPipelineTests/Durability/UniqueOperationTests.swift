import Foundation
import StoreModels
import Strata
import StrataTesting
import TestHomeTraits
import Testing

@testable import StrataPipeline

@Suite("Operations that are unique for some time", .timeLimit(.minutes(2))) struct UniqueOperationTests {
    /// What a call of `enqueue` has returned.
    struct Answer: Sendable, Equatable {
        let id: ObjectID<QueuedOperation>
        let isQueued: Bool
        let isDuplicate: Bool

        init(_ id: ObjectID<QueuedOperation>, isQueued: Bool, isDuplicate: Bool) {
            (self.id, self.isQueued, self.isDuplicate) = (id, isQueued, isDuplicate)
        }

        init(_ queued: UniqueEnqueue) {
            self.init(queued.id, isQueued: queued.operation != nil, isDuplicate: queued.isDuplicate)
        }
    }

    /// Queues an operation whose key is taken for a minute.
    private static func enqueue(
        _ name: String,
        onDuplicate policy: DuplicatePolicy = .keep,
        _ stack: ContextStack
    ) async throws -> Answer {
        try await stack.background { context in
            let queued = try context.enqueue(
                Named(name: name),
                in: .work,
                key: "k",
                uniqueFor: .seconds(60),
                onDuplicate: policy
            )
            try context.commit()
            return Answer(queued)
        }
    }

    private static func rowCount(_ stack: ContextStack) async throws -> Int {
        try await stack.background { try $0.count(OperationUniqueness.all) }
    }

    @Test("A key stays taken for its time, whether its operation is queued, runs or is completed")
    func time() async throws {
        let harness = try await PipelineHarness.open()
        let first = try await Self.enqueue("A", harness.stack)
        #expect(first.isQueued && !first.isDuplicate)
        let duplicate = Answer(first.id, isQueued: true, isDuplicate: true)
        #expect(try await Self.enqueue("B", harness.stack) == duplicate)
        harness.pipeline.resume()
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.log.started == [first.id])
        #expect(try await Self.enqueue("C", harness.stack) == duplicate)
        try await harness.end("A", id: first.id)
        let finished = Answer(first.id, isQueued: false, isDuplicate: true)
        #expect(try await Self.enqueue("D", harness.stack) == finished)
        // The record of the finished operation is not needed.
        try await harness.stack.background { context in
            context.delete(try #require(try context.first(FinishedOperation.all)))
            try context.commit()
        }
        harness.clock.advance(by: .seconds(59))
        #expect(try await Self.enqueue("E", harness.stack) == finished)
        harness.clock.advance(by: .seconds(1))
        let second = try await Self.enqueue("F", harness.stack)
        #expect(second.id != first.id && second.isQueued && !second.isDuplicate)
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.log.started == [first.id, second.id])
        #expect(try await Self.rowCount(harness.stack) == 1)
        try await harness.end("F", id: second.id)
        try await harness.close()
    }

    @Test("After its time, a key stays taken as long as its operation is queued")
    func queuedForLong() async throws {
        let harness = try await PipelineHarness.open()
        let first = try await Self.enqueue("A", harness.stack)
        harness.clock.advance(by: .seconds(3600))
        await harness.pipeline.waitUntilProcessed()
        #expect(try await Self.rowCount(harness.stack) == 0)
        let duplicate = Answer(first.id, isQueued: true, isDuplicate: true)
        #expect(try await Self.enqueue("B", harness.stack) == duplicate)
        #expect(try await Self.rowCount(harness.stack) == 0)
        try await harness.close()
    }

    @Test("The policy `replace` changes a queued operation, and leaves a completed one alone")
    func replace() async throws {
        let harness = try await PipelineHarness.open()
        let first = try await Self.enqueue("A", harness.stack)
        let replaced = try await Self.enqueue("B", onDuplicate: .replace, harness.stack)
        #expect(replaced == Answer(first.id, isQueued: true, isDuplicate: true))
        #expect(try await harness.stack.background { try $0.enqueued(Named.self).map(\.name) } == ["B"])
        harness.pipeline.resume()
        try await harness.end("B", id: first.id)
        let late = try await Self.enqueue("C", onDuplicate: .replace, harness.stack)
        #expect(late == Answer(first.id, isQueued: false, isDuplicate: true))
        #expect(try await harness.stack.background { try $0.count(QueuedOperation.all) } == 0)
        try await harness.close()
    }

    enum Loss: CaseIterable, Sendable { case skipped, deleted, discarded, expired }

    @Test("An operation whose work is not done frees its key", arguments: Loss.allCases)
    func freed(_ loss: Loss) async throws {
        let harness = try await PipelineHarness.open(retry: .never, onFailure: .discard)
        let first = try await Self.enqueue("A", harness.stack)
        #expect(try await Self.rowCount(harness.stack) == 1)
        if loss == .discarded {
            harness.pipeline.resume()
            try await harness.end("A", id: first.id, .success(.fail("no")))
        } else {
            try await harness.stack.background { context in
                let operation = try #require(try context.find(first.id))
                switch loss {
                case .skipped: operation.skip()
                case .deleted: context.delete(operation)
                default: try operation.setOptions(OperationOptions(expires: .after(.seconds(10))))
                }
                try context.commit()
            }
            harness.clock.advance(by: .seconds(10))
            await harness.pipeline.waitUntilProcessed()
        }
        #expect(try await Self.rowCount(harness.stack) == 0)
        let second = try await Self.enqueue("B", harness.stack)
        #expect(second.id != first.id && !second.isDuplicate)
        try await harness.close()
    }

    @Test("A context that deletes an operation can queue another one under its key in the same commit")
    func deletedHere() async throws {
        let harness = try await PipelineHarness.open()
        let first = try await Self.enqueue("A", harness.stack)
        let second = try await harness.stack.background { context in
            context.delete(try #require(try context.find(first.id)))
            let queued = try context.enqueue(Named(name: "B"), in: .work, key: "k", uniqueFor: .seconds(60))
            try context.commit()
            return Answer(queued)
        }
        #expect(second.id != first.id && second.isQueued && !second.isDuplicate)
        #expect(try await harness.stack.background { try $0.enqueued(Named.self).map(\.name) } == ["B"])
        #expect(try await Self.rowCount(harness.stack) == 1)
        // The new operation has the key.
        #expect(try await Self.enqueue("C", harness.stack) == Answer(second.id, isQueued: true, isDuplicate: true))
        try await harness.close()
    }

    @Test("An operation that completes itself and queues the next one is a duplicate of itself")
    func ofItself() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(clock: VirtualClock())
        ) { (_: Attempt<Named>) in
            .done { context in
                try context.enqueue(Named(name: "B"), in: .work, key: "k", uniqueFor: .seconds(60))
            }
        }
        let first = try await Self.enqueue("A", stack)
        try await pipeline.waitUntilIdle()
        let ids = try await stack.background { try $0.fetch(FinishedOperation.all).map(\.id.rawValue) }
        #expect(ids == [first.id.rawValue])
        await pipeline.close()
        try await stack.close()
    }

    @Test("In one context, an operation that is never queued frees its key, and leaves no row")
    func uncommitted() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.stack.background { context in
            func enqueue() throws -> UniqueEnqueue {
                try context.enqueue(Named(name: "A"), in: .work, key: "k", uniqueFor: .seconds(60))
            }
            let first = try enqueue()
            #expect(try enqueue().id == first.id)
            first.operation?.skip()
            let second = try enqueue()
            #expect(second.id != first.id && !second.isDuplicate)
            context.delete(try #require(second.operation))
            let third = try enqueue()
            #expect(third.id != second.id && !third.isDuplicate)
            // In another pipeline the same key is a different key.
            let other = try context.enqueue(Named(name: "A"), in: "other", key: "k", uniqueFor: .seconds(60))
            #expect(!other.isDuplicate)
            try context.commit()
            context.delete(try #require(try enqueue().operation))
            try context.commit()
        }
        #expect(try await Self.rowCount(harness.stack) == 1)
        #expect(try await harness.stack.background { try $0.count(QueuedOperation.all) } == 1)
        try await harness.close()
    }

    @Test("A child context cannot be committed if another stack has taken its key meanwhile and completed the work")
    func nested() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let stack = try await ContextStack.open(location, models: Pipeline.models, stack: .rootOnly)
        let other = try await ContextStack.open(location, models: Pipeline.models, stack: .rootOnly)
        let parent = try stack.push(.private, named: "parent")
        let child = try stack.push(.private, named: "child")
        let late = try await stack.on(child) { context in
            Answer(try context.enqueue(Named(name: "A"), in: .work, key: "k", uniqueFor: .seconds(60)))
        }
        #expect(!late.isDuplicate)
        try await child.save()
        let first = try await Self.enqueue("B", other)
        let pipeline = try await Pipeline.open(other, named: .work) { (_: Attempt<Named>) in .done }
        try await pipeline.waitUntilIdle()
        let error = await #expect(throws: StrataError.self) { try await parent.commit() }
        #expect(error?.code == .notUnique)
        #expect(error?.description.contains("key ('k') as QueuedOperation \(first.id.rawValue)") == true)
        try await stack.on(parent) { $0.rollback(includingSaved: true) }
        let again = try await stack.on(parent) { context in
            let queued = try context.enqueue(Named(name: "A"), in: .work, key: "k", uniqueFor: .seconds(60))
            try context.commit()
            return Answer(queued)
        }
        #expect(again.isDuplicate && !again.isQueued && again.id.rawValue == first.id.rawValue)
        await pipeline.close()
        try await other.close()
        try await stack.close()
    }

    @Test("A commit that has left out an operation conflicts if the key was freed meanwhile", arguments: [true, false])
    func freedMeanwhile(isSkipped: Bool) async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let id = try await Self.enqueue("A", stack).id
        var code: StrataError.Code?
        do {
            try await stack.background { context in
                let queued = try context.enqueue(Named(name: "B"), in: .work, key: "k", uniqueFor: .seconds(60))
                #expect(queued.id == id)
                try stack.meanwhile { context in
                    let operation = try #require(try context.find(id))
                    if isSkipped { operation.skip() } else { operation.complete() }
                }
                try context.commit()
            }
        } catch let error as StrataError { code = error.code }
        #expect(code == (isSkipped ? .conflict : nil))
        try await stack.close()
    }

    @Test("Contexts that leave out different numbers of operations with one key do not conflict")
    func duplicatesMeanwhile() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let id = try await Self.enqueue("A", stack).id
        try await stack.background { context in
            for name in ["B", "C"] {
                let queued = try context.enqueue(Named(name: name), in: .work, key: "k", uniqueFor: .seconds(60))
                #expect(queued.id == id)
            }
            try stack.meanwhile { context in
                let queued = try context.enqueue(Named(name: "D"), in: .work, key: "k", uniqueFor: .seconds(60))
                #expect(queued.id == id)
            }
            try context.commit()
        }
        try await stack.close()
    }

    @Test("Rows whose time is over are deleted in portions")
    func portions() async throws {
        let harness = try await PipelineHarness.open()
        let count = 2 * OperationRepository.uniquenessPortion + 50
        try await harness.stack.background { context in
            for number in 0..<count {
                let name = "\(number)"
                try context.enqueue(Named(name: name), in: .work, key: name, uniqueFor: .seconds(60))
            }
            try context.commit()
        }
        await harness.pipeline.waitUntilProcessed()
        let before = try harness.stack.commitCount()
        harness.clock.advance(by: .seconds(59))
        await harness.pipeline.waitUntilProcessed()
        #expect(try await Self.rowCount(harness.stack) == count)
        harness.clock.advance(by: .seconds(10))
        while try await Self.rowCount(harness.stack) > 0 { await harness.pipeline.waitUntilProcessed() }
        #expect(try harness.stack.commitCount() - before >= 3)
        try await harness.close()
    }

    @Test("A key that a clock ahead of time has taken is free once the clock is set back")
    func wrongClock() async throws {
        let harness = try await PipelineHarness.open()
        let start = harness.clock.now
        harness.clock.set(to: start.addingTimeInterval(86_400))
        let first = try await Self.enqueue("A", harness.stack)
        harness.pipeline.resume()
        try await harness.end("A", id: first.id)
        harness.clock.set(to: start)
        let second = try await Self.enqueue("B", harness.stack)
        #expect(!second.isDuplicate)
        #expect(try await Self.rowCount(harness.stack) == 1)
        try await harness.end("B", id: second.id)
        try await harness.close()
    }

    @Test("Keys of a renamed pipeline stay taken under its new name")
    func renamed() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let former = try await Pipeline.open(stack, named: .work) { (_: Attempt<Named>) in .done }
        let first = try await Self.enqueue("A", stack)
        try await former.waitUntilIdle()
        await former.close()
        let renamed = try await Pipeline.open(stack, named: "new", previousNames: [.work]) { (_: Attempt<Named>) in
            .done
        }
        let second = try await stack.background { context in
            Answer(try context.enqueue(Named(name: "B"), in: "new", key: "k", uniqueFor: .seconds(60)))
        }
        #expect(second == Answer(first.id, isQueued: false, isDuplicate: true))
        await renamed.close()
        try await stack.close()
    }

    @Test(
        "A store of the former version gets the tables of unique and debounced operations, and keeps its operations",
        .aboutTheFile("migrates a store")
    )
    func formerStore() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let later = [ObjectIdentifier(OperationUniqueness.self), ObjectIdentifier(DebouncedOperation.self)]
        let former = try await ContextStack.open(
            location,
            models: Pipeline.models.filter { !later.contains(ObjectIdentifier($0)) },
            stack: .rootOnly
        )
        let id = try await former.background { context in
            let operation = context.enqueue(Named(name: "A"), in: .work, key: "k")
            try context.commit()
            return operation.id.rawValue
        }
        try await former.close()
        let stack = try await ContextStack.open(location, models: Pipeline.models, stack: .rootOnly)
        let second = try await Self.enqueue("B", stack)
        #expect(second.isDuplicate && second.id.rawValue == id)
        try await stack.close()
    }

    @Test("Empty names and durations of zero or less are refused, and nothing is queued")
    func refused() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let calls: [(pipeline: PipelineName, key: String, duration: Duration)] = [
            (.work, "", .seconds(1)), ("", "k", .seconds(1)), (.work, "k", .zero), (.work, "k", .seconds(-1)),
        ]
        try await stack.background { context in
            for (pipeline, key, duration) in calls {
                let error = #expect(throws: PipelineError.self) {
                    try context.enqueue(Named(name: "A"), in: pipeline, key: key, uniqueFor: duration)
                }
                #expect(error?.code == .invalidArgument)
            }
            #expect(try context.count(QueuedOperation.all) == 0)
            // The longest duration is as good as any other.
            try context.enqueue(Named(name: "A"), in: .work, key: "k", uniqueFor: .seconds(Int64.max))
            try context.commit()
        }
        try await stack.close()
    }
}
