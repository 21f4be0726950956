import Foundation
import Strata
import StrataTesting
import Testing

@testable import StrataPipeline

@Suite("Empty names of keys, holds, schedules, constraints and brokers", .timeLimit(.minutes(1)))
struct EmptyNameTests {
    private struct Handler: TaskHandler {
        func handle(_ attempt: Attempt<Named>) async throws -> Outcome { .done }
    }

    private func open() async throws -> ContextStack {
        try await ContextStack.open(
            .inMemory,
            models: [Letter.self, Folder.self] + Pipeline.models,
            stack: .rootOnly
        )
    }

    /// The code of the pipeline error that a body throws; nil for none.
    private static func code(_ body: () throws -> Void) -> PipelineError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? PipelineError)?.code
        }
    }

    @Test("Each call that can throw refuses an empty key at once, and queues nothing")
    func keys() async throws {
        let stack = try await open()
        let id = try stack.newID(for: QueuedOperation.self)
        try await stack.background { context in
            let (payload, span) = (Named(name: "A"), Duration.seconds(1))
            let codes = [
                Self.code { _ = try context.enqueue(payload, as: id, in: .work, key: "") },
                Self.code { try context.enqueue(payload, in: .work, key: "", onDuplicate: .keep) },
                Self.code { try context.enqueue(payload, in: .work, key: "", onDuplicate: .replace) },
                Self.code { try context.enqueue(payload, in: .work, key: "", uniqueFor: span) },
                Self.code { try context.enqueue(payload, in: .work, key: "", debounce: span, maxWait: span) },
            ]
            #expect(codes.allSatisfy { $0 == .invalidArgument }, "\(codes)")
            try context.commit()
            #expect(try context.count(QueuedOperation.all) == 0)
        }
        try await stack.close()
    }

    @Test("The save after a call that cannot throw refuses an empty key, and names the key")
    func keysOfPlainCalls() async throws {
        let stack = try await open()
        try await stack.background { context in
            for isItem in [false, true] {
                if isItem {
                    context.enqueue(Letter(text: "A"), in: .work, key: "")
                } else {
                    context.enqueue(Named(name: "A"), in: .work, key: "")
                }
                let error = #expect(throws: StrataError.self) { try context.commit() }
                #expect(error?.code == .validation && error?.details.map(\.column) == ["key"])
                context.rollback()
            }
            try context.commit()
            #expect(try context.count(QueuedOperation.all) == 0)
        }
        try await stack.close()
    }

    @Test("An empty hold and an empty schedule are refused, and nothing changes")
    func holdsAndSchedules() async throws {
        let stack = try await open()
        try await stack.background { context in
            let operation = context.enqueue(Named(name: "A"), in: .work)
            try context.commit()
            let codes = [
                Self.code { try operation.hold("", until: .distantFuture) },
                Self.code { try context.holdOperations(QueuedOperation.all, "", until: .distantFuture) },
                Self.code { try context.schedule("", Named(name: "tick"), in: .work, .every(.seconds(60))) },
            ]
            #expect(codes.allSatisfy { $0 == .invalidArgument }, "\(codes)")
            try context.commit()
            let counts = [try context.count(OperationHold.all), try context.count(PeriodicOperation.all)]
            #expect(counts == [0, 0])
        }
        try await stack.close()
    }

    @Test("A wait for a constraint without a name fails the attempt")
    func constraint() async throws {
        let harness = try await PipelineHarness.open(retry: .never)
        try await harness.commit(["A"])
        harness.pipeline.resume()
        try await harness.end("A", .success(.wait("")))
        let row = try #require(try await harness.row("A"))
        #expect(row.status == .failed && row.failures.list.first?.message.contains("invalidArgument") == true)
        try await harness.close()
    }

    @Test("A broker needs a name that is not empty")
    func broker() async throws {
        let stack = try await open()
        let error = await #expect(throws: PipelineError.self) {
            _ = try await TaskBroker.open(stack, named: "", handles: { $0 == .work }, handler: Handler())
        }
        #expect(error?.code == .invalidArgument)
        try await stack.close()
    }

    @Test("Keys, holds and schedules that an earlier version stored under the empty name keep working")
    func earlier() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A"])
        let id = harness.id("A")
        try await harness.edit("A") { try $0.hold("mine", until: .distantFuture) }
        try await harness.stack.background { context in
            try context.schedule("tick", Named(name: "tick"), in: .work, .every(.seconds(60)))
            try context.commit()
        }
        await harness.pipeline.waitUntilProcessed()
        try harness.stack.transact(author: "test") { transaction in
            let number = StoredValue.integer(transaction.number)
            let changes: [(model: any Model.Type, table: String, column: String)] = [
                (QueuedOperation.self, "QueuedOperation", "key"), (OperationHold.self, "OperationHold", "name"),
                (PeriodicOperation.self, "PeriodicOperation", "name"),
            ]
            for (model, table, column) in changes {
                let row = try #require(try transaction.integer("SELECT id FROM \(table)", []))
                try transaction.run("UPDATE \(table) SET \(column) = '', _version = ?", [number])
                try transaction.report(updated: row, [column], of: model)
            }
        }
        harness.pipeline.resume()
        await harness.pipeline.waitUntilProcessed()
        try await harness.stack.background { context in
            let operation = try #require(try context.find(id))
            let reasons = try operation.waitReasons()
            #expect(reasons.contains(.hold("", until: .distantFuture)))
            // Other edits of the operation pass the check of its key.
            operation.priority = 3
            try operation.addTags(["old"])
            try operation.release("")
            try context.pauseSchedule("", by: "ada")
            try context.resumeSchedule("", by: "ada")
            try context.commit()
        }
        try await harness.end("A")
        await harness.pipeline.waitUntilProcessed()
        harness.clock.advance(by: .seconds(60))
        await harness.pipeline.waitUntilProcessed()
        try await harness.stack.background { context in
            let finished = try context.fetch(FinishedOperation.all)
            #expect(finished.map(\.key) == [""])
            let queued = try context.fetch(QueuedOperation.all)
            #expect(queued.map(\.schedule) == [""])
            let isRemoved = try context.unschedule("")
            #expect(isRemoved)
            try context.commit()
            #expect(try context.count(PeriodicOperation.all) == 0)
        }
        try await harness.close()
    }
}
