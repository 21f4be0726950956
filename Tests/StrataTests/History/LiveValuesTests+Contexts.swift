import Dispatch
import Foundation
import StoreModels
import Testing

@testable import Strata

/// Errors, contexts, and the ends of live sequences.
extension LiveValuesTests {
    @Test("An error of the block ends the sequence, and the next request runs the block again")
    func errors() async throws {
        let folder = try StoreFolder()
        let stack = try await Self.open(folder)
        var live = stack.live { context -> Int in
            let count = try context.count(Author.all)
            if count == 1 { throw Refusal() }
            return count
        }.makeAsyncIterator()
        #expect(try await live.next() == 0)
        try await commit(in: stack) { $0.insert(Author(name: "a")) }
        for _ in 0..<2 { await #expect(throws: Refusal.self) { try await live.next() } }
        try await commit(in: stack) { $0.insert(Author(name: "b")) }
        #expect(try await live.next() == 2)
        var wrong = stack.live { try $0.values(Int.self, "SELECT nothing") }.makeAsyncIterator()
        let error = await #expect(throws: StrataError.self) { try await wrong.next() }
        #expect(error?.code == .invalidQuery)
        let consumer = Consumer(stack.live { _ -> Int in throw Refusal() })
        await #expect(throws: Refusal.self) { try await consumer.task.value }
        try await stack.close()
    }

    /// Calls that a block must not make. The type of its context has none of them.
    private static let commits: [@Sendable (ObjectContext) throws -> Void] = [
        { try $0.cast.save() },
        { try $0.cast.commit() },
        { context in try context.savepoint { try context.cast.save() } },
        { context in try context.cast.batchUpdate(Article.all) { $0.views.set(to: 9) } },
        { context in try context.cast.batchDelete(Author.all) },
    ]

    @Test("A block cannot save, commit or run batches, and its edits are dropped")
    func readsOnly() async throws {
        let folder = try StoreFolder()
        let stack = try await Self.open(folder)
        let network = try stack.create(.private, named: .network)
        for commit in Self.commits {
            let block: @Sendable (ObjectContext) throws -> Int = { context in
                context.insert(Author(name: "a"))
                try commit(context)
                return 1
            }
            for live in [stack.live(block), network.live(block)] {
                var values = live.makeAsyncIterator()
                let error = await #expect(throws: StrataError.self) { try await values.next() }
                #expect(error?.code == .invalidState)
            }
        }
        let live = stack.live { context -> Int in
            context.insert(Author(name: "a"))
            return try context.count(Author.all)
        }
        let consumer = Consumer(live)
        try await untilIdle(stack)
        #expect(consumer.values.all == ["1"])
        let isEmpty = try await network.perform { context in
            try context.count(Author.all) == 0 && !context.hasChanges
        }
        #expect(isEmpty)
        try await stack.close()
    }

    @Test("Over a context, the block sees and follows the unsaved changes of the context and its parents")
    func layers() async throws {
        let folder = try StoreFolder()
        let stack = try await Self.open(folder)
        let network = try stack.create(.private, named: .network)
        try stack.create(.private, named: .other)
        var live = network.live { try $0.column(Author.named, \.name) }.makeAsyncIterator()
        #expect(try await live.next() == [])
        try await stack.on(.other) { _ = $0.insert(Author(name: "other")) }
        try await stack.on(.network) { _ = $0.insert(Author(name: "own")) }
        #expect(try await live.next() == ["own"])
        let id = try await stack.on(.root) { $0.insert(Author(name: "parent", fee: 1)).id }
        #expect(try await live.next() == ["own", "parent"])
        // This row is found in a layer, without a statement.
        var fees = network.live { try $0.find(id)?.fee ?? 0 }.makeAsyncIterator()
        #expect(try await fees.next() == 1)
        try await stack.on(.root) { try #require(try $0.find(id)).fee = 2 }
        #expect(try await fees.next() == 2)
        try await stack.on(.other) { try $0.save() }
        #expect(try await live.next() == ["other", "own", "parent"])
        try await stack.on(.network) { $0.rollback() }
        #expect(try await live.next() == ["other", "parent"])
        try await commit(in: stack) { $0.insert(Author(name: "stored")) }
        #expect(try await live.next() == ["other", "parent", "stored"])
        try await stack.close()
    }

    @Test("A loop ends when the context is dropped, the task is cancelled, or the stack is closed")
    func ends() async throws {
        let folder = try StoreFolder()
        let stack = try await Self.open(folder)
        let read: @Sendable (ObjectContext) throws -> Int = { try $0.count(Author.all) }
        let network = try stack.create(.private, named: .network)
        let (dropped, cancelled, closed) = (
            Consumer(network.live(read)), Consumer(stack.live(read)), Consumer(stack.live(read))
        )
        try await untilIdle(stack, count: 3)
        try await stack.reset()
        try await dropped.task.value
        cancelled.task.cancel()
        try await cancelled.task.value
        try await untilIdle(stack)
        try await stack.close()
        try await closed.task.value
        for consumer in [dropped, cancelled, closed] { #expect(consumer.values.all == ["0"]) }
    }

    @Test("A run that the end of its context interrupts has no value")
    func droppedDuringRun() async throws {
        let folder = try StoreFolder()
        let stack = try await Self.open(folder)
        let network = try stack.create(.private, named: .network)
        let (hasBegun, gate) = (Signal(), DispatchSemaphore(value: 0))
        let live = network.live { context -> Int in
            hasBegun.set()
            gate.wait()
            return try context.count(Author.all)
        }
        let consumer = Consumer(live)
        await hasBegun.wait()
        try await stack.reset()
        gate.signal()
        try await consumer.task.value
        #expect(consumer.values.all == [])
        try await stack.close()
    }

    @Test("A block waits for a place among the readers, and the cancellation of its task then ends the sequence")
    func waitsForPlace() async throws {
        let folder = try StoreFolder()
        let stack = try await ContextStack.open(
            folder.location,
            models: allModels,
            stack: .rootOnly,
            configuration: StoreConfiguration(maximumReaderCount: 1)
        )
        let (hasBegun, end) = (Signal(), Signal())
        let holder = Task {
            try await stack.background { _ in
                hasBegun.set()
                await end.wait()
            }
        }
        await hasBegun.wait()
        let read: @Sendable (ObjectContext) throws -> Int = { try $0.count(Author.all) }
        let (waiting, cancelled) = (Consumer(stack.live(read)), Consumer(stack.live(read)))
        let areWaiting = try await eventually { stack.core.engine.waitingCount == 2 }
        #expect(areWaiting)
        cancelled.task.cancel()
        try await cancelled.task.value
        end.set()
        try await holder.value
        try await untilIdle(stack)
        #expect(waiting.values.all == ["0"])
        try await stack.close()
    }

    @Test("Closing the stack waits for a run, and the sequence then ends")
    func closedDuringRun() async throws {
        let folder = try StoreFolder()
        let stack = try await Self.open(folder)
        let (hasBegun, gate) = (Signal(), DispatchSemaphore(value: 0))
        let live = stack.live { context -> Int in
            hasBegun.set()
            gate.wait()
            return try context.count(Author.all)
        }
        let consumer = Consumer(live)
        await hasBegun.wait()
        let closing = Task { try await stack.close() }
        let isClosing = try await eventually { stack.core.state.withLock { $0.phase == .draining } }
        #expect(isClosing)
        gate.signal()
        try await closing.value
        try await consumer.task.value
        #expect(consumer.values.all == ["0"])
    }
}
