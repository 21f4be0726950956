import Dispatch
import Foundation
import StoreModels
import Strata
import StrataPipeline
import StrataTesting
import Synchronization
import Testing

@Suite("A second operation with the same key", .timeLimit(.minutes(1))) struct OperationKeyTests {
    private static func queued(_ stack: ContextStack) async throws -> [String] {
        try await stack.background { context in
            try context.fetch(QueuedOperation.all).map { operation in
                let name = try operation.payload(as: Named.self).name
                return "\(name) \(operation.lane) \(operation.priority) \(operation.status)"
            }
        }
    }

    @Test("A second operation with the same key is dropped or replaces the queued one, depending on the policy")
    func policies() async throws {
        let harness = try await PipelineHarness.open()
        let ids = try await harness.stack.background { context in
            let first = try context.enqueue(
                Named(name: "A"),
                in: .work,
                lane: "l",
                priority: 2,
                key: "k",
                onDuplicate: .keep
            )
            // In another pipeline the same key is a different key.
            try context.enqueue(Named(name: "other"), in: "elsewhere", key: "k", onDuplicate: .keep)
            try context.commit()
            let kept = try context.enqueue(Named(name: "B"), in: .work, priority: 7, key: "k", onDuplicate: .keep)
            try context.commit()
            return [first.id, kept.id]
        }
        #expect(ids[0] == ids[1])
        #expect(try await Self.queued(harness.stack) == ["A l 2 pending", "other  0 pending"])
        let start = Date.distantFuture
        for date in [start, start.addingTimeInterval(-60), nil] {
            try await harness.stack.background { context in
                let replaced = try context.enqueue(
                    Named(name: "C"),
                    in: .work,
                    lane: "m",
                    priority: 7,
                    key: "k",
                    onDuplicate: .replace,
                    notBefore: date
                )
                #expect(replaced.id == ids[0])
                try context.commit()
            }
            let queued = try await Self.queued(harness.stack)
            #expect(queued == ["C l 7 pending", "other  0 pending"])
            let holds = try await harness.stack.background { try $0.fetch(OperationHold.all).map(\.until) }
            #expect(holds == [date].compactMap(\.self))
        }
        // An operation that the same commit skips or completes stays if it is replaced.
        for isSkipped in [true, false] {
            try await harness.stack.background { context in
                let queued = try context.find(ids[0])
                if isSkipped { queued?.skip() } else { queued?.complete() }
                try context.enqueue(Named(name: "D"), in: .work, key: "k", onDuplicate: .replace)
                try context.commit()
            }
            #expect(try await Self.queued(harness.stack) == ["D l 0 pending", "other  0 pending"])
        }
        try await harness.close()
    }

    @Test("A running operation that is replaced is cancelled and runs again with the new payload")
    func running() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let seen = Mutex<[String]>([])
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(retry: .never)
        ) { (attempt: Attempt<Named>) in
            seen.withLock { $0.append(attempt.payload.name) }
            if attempt.payload.name == "A" { try await Task.sleep(for: .seconds(3600)) }
            return .done
        }
        for name in ["A", "B"] {
            try await stack.background { context in
                try context.enqueue(Named(name: name), in: .work, key: "k", onDuplicate: .replace)
                try context.commit()
            }
            while seen.withLock({ $0.last }) != name { try await Task.sleep(for: .milliseconds(1)) }
        }
        try await pipeline.waitUntilIdle()
        #expect(seen.withLock { $0 } == ["A", "B"])
        #expect(try await Self.queued(stack) == [])
        #expect(try await stack.background { try $0.fetch(FinishedOperation.all).map(\.result) } == [.completed])
        await pipeline.close()
        try await stack.close()
    }

    @Test("An operation that starts or finishes between the look-up of its key and the commit is noticed")
    func between() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let seen = Mutex<[String]>([])
        let begun = DispatchSemaphore(value: 0)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(retry: .never, isSuspended: true)
        ) { (attempt: Attempt<Named>) in
            seen.withLock { $0.append(attempt.payload.name) }
            begun.signal()
            if attempt.payload.name == "A" { try await Task.sleep(for: .seconds(3600)) }
            return .done
        }
        try await stack.background { context in
            context.enqueue(Named(name: "A"), in: .work, key: "k")
            try context.commit()
            try context.enqueue(Named(name: "B"), in: .work, key: "k", onDuplicate: .replace)
            pipeline.resume()
            begun.wait()
            try context.commit()
        }
        try await pipeline.waitUntilIdle()
        #expect(seen.withLock { $0 } == ["A", "B"])
        #expect(try await Self.queued(stack) == [])
        // With `.keep`, either the operation is queued in the end or the commit reports a conflict.
        pipeline.suspend()
        try await stack.background { context in
            context.enqueue(Named(name: "C"), in: .work, key: "k")
            try context.commit()
        }
        do {
            try await stack.background { context in
                try context.enqueue(Named(name: "D"), in: .work, key: "k", onDuplicate: .keep)
                pipeline.resume()
                try waitForTask { try await pipeline.waitUntilIdle() }
                try context.commit()
            }
            Issue.record("nothing is queued, and nobody was told")
        } catch let error as StrataError {
            #expect(error.code == .conflict)
        }
        #expect(seen.withLock { $0 } == ["A", "B", "C"])
        await pipeline.close()
        try await stack.close()
    }

    @Test(
        "An operation that is replaced while it ends runs once more with the new payload",
        arguments: [nil, .keep, .replace] as [DuplicatePolicy?]
    )
    func replacedAtTheEnd(policy: DuplicatePolicy?) async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let seen = Mutex<[String]>([])
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(retry: .never)
        ) { (attempt: Attempt<Named>) in
            seen.withLock { $0.append(attempt.payload.name) }
            guard attempt.payload.name == "A" else { return .done }
            try await stack.background { context in
                try context.enqueue(Named(name: "B"), in: .work, key: "k", onDuplicate: .replace)
                try context.commit()
            }
            return .done { context in
                if let policy {
                    try context.enqueue(Named(name: "C"), in: .work, key: "k", onDuplicate: policy)
                } else {
                    context.enqueue(Named(name: "C"), in: .work, key: "k")
                }
            }
        }
        try await stack.background { context in
            context.enqueue(Named(name: "A"), in: .work, key: "k")
            try context.commit()
        }
        try await pipeline.waitUntilIdle()
        // With `.replace`, the block itself causes the second run, with its own payload.
        #expect(seen.withLock { $0 } == ["A", policy == .replace ? "C" : "B"])
        #expect(try await stack.background { try $0.count(QueuedOperation.all) } == 0)
        #expect(try await stack.background { try $0.fetch(FinishedOperation.all).map(\.key) } == ["k"])
        await pipeline.close()
        try await stack.close()
    }

    @Test("A payload that cannot be encoded can be replaced by one that can")
    func unencodable() async throws {
        struct Bad: OperationPayload { var number: Double }
        let harness = try await PipelineHarness.open()
        try await harness.stack.background { context in
            context.enqueue(Bad(number: .nan), in: .work, key: "k")
            try context.enqueue(Bad(number: 1), in: .work, key: "k", onDuplicate: .replace)
            #expect(throws: EncodingError.self) {
                try context.enqueue(Bad(number: .nan), in: .work, key: "k", onDuplicate: .replace)
            }
            try context.commit()
        }
        #expect(try await harness.stack.background { try $0.enqueued(Bad.self).map(\.number) } == [1])
        try await harness.close()
    }

    @Test("An enqueue with an id that is taken does not release the key")
    func takenID() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let id = try stack.newID(for: QueuedOperation.self)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(retry: .never)
        ) { (_: Attempt<Named>) in
            .done { context in
                let next = try context.enqueue(Named(name: "B"), as: id, in: .work, key: "k")
                #expect(next == nil)
            }
        }
        try await stack.background { context in
            _ = try context.enqueue(Named(name: "A"), as: id, in: .work, key: "k")
            try context.commit()
        }
        try await pipeline.waitUntilIdle()
        #expect(try await stack.background { try $0.fetch(FinishedOperation.all).map(\.key) } == ["k"])
        await pipeline.close()
        try await stack.close()
    }

    @Test("A failed operation runs again with the payload that replaces it")
    func failed() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let seen = Mutex<[String]>([])
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(retry: .never, clock: VirtualClock())
        ) { (attempt: Attempt<Named>) in
            seen.withLock { $0.append(attempt.payload.name) }
            return attempt.payload.name == "A" ? .fail("no") : .done
        }
        for name in ["A", "B"] {
            try await stack.background { context in
                try context.enqueue(Named(name: name), in: .work, key: "k", onDuplicate: .replace)
                try context.commit()
            }
            try await pipeline.waitUntilIdle()
        }
        #expect(seen.withLock { $0 } == ["A", "B"])
        #expect(try await Self.queued(stack) == [])
        await pipeline.close()
        try await stack.close()
    }

    @Test(
        "The block that ends an operation can enqueue another operation with the same key",
        arguments: [nil, .keep, .replace] as [DuplicatePolicy?]
    )
    func next(policy: DuplicatePolicy?) async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(retry: .never, isSuspended: true)
        ) { (attempt: Attempt<Named>) in
            .done { context in
                guard let number = Int(attempt.payload.name), number < 20 else { return }
                let next = Named(name: "\(number + 1)")
                if let policy {
                    try context.enqueue(next, in: .work, key: "k", onDuplicate: policy)
                } else {
                    context.enqueue(next, in: .work, key: "k")
                }
                // The key is free in another pipeline as well.
                context.enqueue(next, in: "elsewhere", key: "k \(number)")
            }
        }
        try await stack.background { context in
            context.enqueue(Named(name: "1"), in: .work, key: "k")
            try context.commit()
        }
        pipeline.resume()
        try await pipeline.waitUntilIdle()
        try await stack.background { context in
            let finished = try context.fetch(FinishedOperation.all)
            #expect(finished.count == 20 && finished.allSatisfy { $0.key == "k" && $0.attempts == 1 })
            #expect(try context.count(QueuedOperation.where { $0.pipeline == .work }) == 0)
        }
        await pipeline.close()
        try await stack.close()
    }

    @Test("When many blocks enqueue the same key concurrently, one operation is queued")
    func race() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(retry: .never, isSuspended: true)
        ) { (_: Attempt<Named>) in
            .done { context in try context.enqueue(Named(name: "late"), in: "elsewhere", key: "k", onDuplicate: .keep) }
        }
        try await stack.background { context in
            for number in 0..<50 { context.enqueue(Named(name: "\(number)"), in: .work) }
            try context.commit()
        }
        pipeline.resume()
        try await pipeline.waitUntilIdle()
        #expect(try await Self.queued(stack) == ["late  0 pending"])
        let attempts = try await stack.background { try $0.sum(FinishedOperation.all, \.attempts) }
        #expect(attempts == 50)
        await pipeline.close()
        try await stack.close()
    }

    @Test("The error names the duplicate key and its pipeline")
    func named() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.stack.background { context in
            context.enqueue(Named(name: "A"), in: .work, key: "June")
            try context.commit()
            context.enqueue(Named(name: "B"), in: .work, key: "June")
            let error = try #require(throws: StrataError.self) { try context.commit() }
            #expect(error.code == .notUnique)
            #expect(error.description.contains("has the same pipeline ('work') and key ('June') as QueuedOperation"))
        }
        try await harness.close()
    }
}
