import Foundation
import StoreModels
import Strata
import StrataTesting
import TestHomeTraits
import Testing

@testable import StrataPipeline

/// The result of test operations.
struct Receipt: Codable, Hashable, Sendable {
    var number: Int
}

/// The code of the error that a body throws; nil if it throws none, or another kind of error.
func pipelineCode<Value>(of body: () async throws -> Value) async -> PipelineError.Code? {
    do {
        _ = try await body()
        return nil
    } catch {
        return (error as? PipelineError)?.code
    }
}

@Suite("Results of operations", .timeLimit(.minutes(2))) struct OperationResultTests {
    @Test(
        "A wait that begins before the end gets the value, and so does one that begins after it",
        arguments: PipelineOrdering.allCases
    )
    func value(_ ordering: PipelineOrdering) async throws {
        let harness = try await PipelineHarness.open(ordering: ordering)
        harness.pipeline.resume()
        try await harness.commit(["A", "B"], lane: { $0 })
        let deadline = harness.clock.now.addingTimeInterval(50)
        let (pipeline, id) = (harness.pipeline, harness.id("A"))
        async let early = pipeline.result(of: id, as: Receipt.self, deadline: deadline)
        await harness.clock.waitForAlarm(after: .seconds(50))
        let outcome = try Outcome.done(result: Receipt(number: 17))
        try await harness.end("A", .success(outcome))
        let first = try await early
        #expect(first == Receipt(number: 17))
        let late = try await harness.stack.result(of: id, as: Receipt.self)
        #expect(late == Receipt(number: 17))
        let row = try await harness.stack.background { try $0.finishedOperation(id)?.resultValue(as: Receipt.self) }
        #expect(row == Receipt(number: 17))
        // An operation that ends without a value has none.
        try await harness.end("B")
        let other = harness.id("B")
        #expect(try await harness.stack.background { try $0.finishedOperation(other)?.resultValue } == nil)
        try await harness.close()
    }

    @Test("The error of a wait says how the operation has ended")
    func ends() async throws {
        let harness = try await PipelineHarness.open(retry: .never)
        harness.pipeline.resume()
        try await harness.commit(["done", "failed", "skipped", "text"])
        let text = try Outcome.done(result: "text")
        try await harness.end("done")
        try await harness.end("failed", .success(.fail("no such customer")))
        try await harness.end("skipped", .success(.skip))
        try await harness.end("text", .success(text))
        try harness.reserve(["never"])
        let pipeline = harness.pipeline
        let expected: [(String, PipelineError.Code)] = [
            ("done", .noResult), ("failed", .operationFailed), ("skipped", .operationSkipped),
            ("text", .undecodableResult), ("never", .noResult),
        ]
        for (name, code) in expected {
            let id = harness.id(name)
            let found = await pipelineCode { try await pipeline.result(of: id, as: Receipt.self) }
            #expect(found == code, "\(name)")
        }
        let failed = harness.id("failed")
        let error = await #expect(throws: PipelineError.self) { try await pipeline.result(of: failed, as: Int.self) }
        #expect(error?.message.contains("no such customer") == true)
        // A failed operation that is retried can still return a result.
        try await harness.edit("failed") { $0.retry() }
        let value = try Outcome.done(result: 4)
        try await harness.end("failed", .success(value))
        #expect(try await pipeline.result(of: failed, as: Int.self) == 4)
        // When the record is deleted, the result is too.
        try await harness.stack.background { context in
            context.delete(try #require(try context.finishedOperation(failed)))
            try context.commit()
        }
        let deleted = await pipelineCode { try await pipeline.result(of: failed, as: Int.self) }
        #expect(deleted == .noResult)
        try await harness.close()
    }

    @Test("The wait for a discarded operation throws operationDiscarded")
    func discarded() async throws {
        let harness = try await PipelineHarness.open(retry: .never, onFailure: .discard)
        harness.pipeline.resume()
        try await harness.commit(["A"])
        try await harness.end("A", .success(.fail("broken")))
        let (pipeline, id) = (harness.pipeline, harness.id("A"))
        let code = await pipelineCode { try await pipeline.result(of: id, as: Int.self) }
        #expect(code == .operationDiscarded)
        try await harness.close()
    }

    @Test("A wait ends at its deadline, with its task, and with the stack, and the operation stays queued")
    func deadline() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A"])
        let (stack, pipeline, id) = (harness.stack, harness.pipeline, harness.id("A"))
        let deadline = harness.clock.now.addingTimeInterval(30)
        let late = Task {
            await pipelineCode { try await pipeline.result(of: id, as: Int.self, deadline: deadline) }
        }
        await harness.clock.waitForAlarm(after: .seconds(30))
        harness.clock.advance(by: .seconds(30))
        let code = await late.value
        #expect(code == .deadlineExceeded)
        #expect(try await harness.row("A")?.status == .pending)
        let listeners = stack.listenerCount
        let cancelled = Task { try await stack.result(of: id, as: Int.self) }
        while stack.listenerCount == listeners, !Task.isCancelled { await Task.yield() }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        while stack.listenerCount > listeners, !Task.isCancelled { await Task.yield() }
        let closed = Task { await pipelineCode { try await stack.result(of: id, as: Int.self) } }
        while stack.listenerCount == listeners, !Task.isCancelled { await Task.yield() }
        try await harness.close()
        // Also if the wait was just looking when the stack closed, and if it begins afterwards.
        let end = await closed.value
        #expect(end == .closed)
        let after = await pipelineCode { try await stack.result(of: id, as: Int.self) }
        #expect(after == .closed)
    }

    @Test("The error of a closed stack does not say that an operation has not ended, because it may have")
    func closed() async throws {
        let harness = try await PipelineHarness.open()
        harness.pipeline.resume()
        try await harness.commit(["A"])
        let outcome = try Outcome.done(result: 1)
        try await harness.end("A", .success(outcome))
        let (stack, id) = (harness.stack, harness.id("A"))
        try await harness.close()
        let error = await #expect(throws: PipelineError.self) { try await stack.result(of: id, as: Int.self) }
        #expect(error?.code == .closed && error?.operations == [id.rawValue])
        #expect(error?.message.hasPrefix("The stack is closed, so the result cannot be read.") == true)
    }

    /// The code of the store's error that a wait throws; nil if it throws none, or another kind of error.
    private static func code(of wait: () async throws -> Int) async -> StrataError.Code? {
        do {
            _ = try await wait()
            return nil
        } catch {
            return (error as? StrataError)?.code
        }
    }

    @Test("A wait inside a block of the same stack is refused at once, also in a child task")
    func insideBlock() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A"])
        let (stack, pipeline, id) = (harness.stack, harness.pipeline, harness.id("A"))
        // The operation does not end, so a wait that is not refused would last until the time limit of the test.
        try await stack.background { context in
            _ = try context.count(QueuedOperation.all)
            let ofStack = await Self.code { try await stack.result(of: id, as: Int.self) }
            let ofRunner = await Self.code { try await pipeline.result(of: id, as: Int.self) }
            async let child = Self.code { try await stack.result(of: id, as: Int.self) }
            let ofChild = await child
            #expect([ofStack, ofRunner, ofChild] == [.insideBlock, .insideBlock, .insideBlock])
        }
        try await harness.close()
    }

    @Test("A wait in a task that has outlived its block, and in a block of another stack, gets the value")
    func outsideBlock() async throws {
        let harness = try await PipelineHarness.open()
        harness.pipeline.resume()
        try await harness.commit(["A"])
        let outcome = try Outcome.done(result: 1)
        try await harness.end("A", .success(outcome))
        let (stack, id) = (harness.stack, harness.id("A"))
        let (blockEnd, continuation) = AsyncStream.makeStream(of: Never.self)
        let later = try await stack.background { context in
            _ = try context.count(QueuedOperation.all)
            return Task {
                for await _ in blockEnd {}
                return try await stack.result(of: id, as: Int.self)
            }
        }
        continuation.finish()
        let value = try await later.value
        #expect(value == 1)
        let other = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        try await other.background { context in
            _ = try context.count(QueuedOperation.all)
            let beside = try await stack.result(of: id, as: Int.self)
            #expect(beside == 1)
        }
        try await other.close()
        try await harness.close()
    }

    @Test("A result that is too large fails the operation at its first attempt, and the largest one is kept")
    func size() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        // A text of ASCII letters has two more bytes as JSON.
        let pipeline = try await Pipeline.open(stack, named: .work) { (attempt: Attempt<Named>) in
            try .done(result: String(repeating: "x", count: Int(attempt.payload.name) ?? 0))
        }
        let log = EventRecorder(pipeline)
        let ids = try await stack.background { context in
            let sizes = [Outcome.maximumResultSize - 2, Outcome.maximumResultSize - 1]
            let operations = sizes.map { context.enqueue(Named(name: "\($0)"), in: .work) }
            try context.commit()
            return operations.map(\.id)
        }
        for id in ids { try await log.waitForEnd(of: id) }
        #expect(try await pipeline.result(of: ids[0], as: String.self).utf8.count == Outcome.maximumResultSize - 2)
        let code = await pipelineCode { try await pipeline.result(of: ids[1], as: String.self) }
        #expect(code == .operationFailed)
        let failed = ids[1]
        let message = try await stack.background { try $0.find(failed)?.failures.list.map(\.message) }
        #expect(message?.count == 1 && message?[0].contains("65537 bytes") == true)
        await pipeline.close()
        try await stack.close()
    }

    @Test("A block's value is stored with its changes, or neither is")
    func block() async throws {
        let models: [any Model.Type] = [Stamp.self]
        let stack = try await ContextStack.open(.inMemory, models: models + Pipeline.models, stack: .rootOnly)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(ordering: .fifo, retry: .never, onFailure: .setAside)
        ) { (attempt: Attempt<Named>) in
            .doneWithResult { context in
                let stamp = context.insert(Stamp(name: attempt.payload.name))
                return stamp.id
            }
        }
        let log = EventRecorder(pipeline)
        let ids = try await stack.background { context in
            // The second block inserts a duplicate of a unique name.
            let operations = ["A", "A", "B"].map { context.enqueue(Named(name: $0), in: .work) }
            try context.commit()
            return operations.map(\.id)
        }
        for id in ids { try await log.waitForEnd(of: id) }
        for (index, name) in [(0, "A"), (2, "B")] {
            let stamp = try await pipeline.result(of: ids[index], as: ObjectID<Stamp>.self)
            #expect(try await stack.background { try $0.find(stamp)?.name } == name)
        }
        let code = await pipelineCode { try await pipeline.result(of: ids[1], as: ObjectID<Stamp>.self) }
        #expect(code == .operationFailed)
        #expect(try await stack.background { try $0.count(Stamp.all) } == 2)
        await pipeline.close()
        try await stack.close()
    }

    @Test("A process without a handler gets the result of another process, also with a stack that only reads")
    func otherProcess() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("s.sqlite")
        _ = try ProcessLog(url.path + ".diary")
        let models: [any Model.Type] = [Mark.self, Counter.self]
        let stack = try await ContextStack.open(.sqlite(url), models: models + Pipeline.models, stack: .rootOnly)
        let reading = try await ContextStack.open(
            .sqlite(url),
            models: models + Pipeline.models,
            stack: .rootOnly,
            configuration: StoreConfiguration(isReadOnly: true)
        )
        let number = try await stack.background { context in
            context.insert(Counter())
            let operation = context.enqueue(Chore(number: 1), in: "chores")
            try context.commit()
            return operation.id.rawValue
        }
        let id = stack.id(number, of: QueuedOperation.self)
        let waits = [stack, reading].map { stack in
            Task { try await stack.result(of: id, as: Int64.self, deadline: Date(timeIntervalSinceNow: 60)) }
        }
        let worker = try HelperProcess("drain", url.path)
        for wait in waits {
            let result = try await wait.value
            #expect(result == number)
        }
        await worker.wait()
        try await reading.close()
        try await stack.close()
    }

    /// The payload of the helper process.
    private struct Chore: OperationPayload {
        var number: Int
    }

    @Test("A store from before results opens, and keeps its finished operations", .aboutTheFile("migrates a store"))
    func oldStore() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("s.sqlite")
        let old = try await ContextStack.open(
            .sqlite(url),
            models: [EarlierPipelines.FinishedOperation.self],
            stack: .rootOnly
        )
        let number = try await old.background { context in
            let finished = context.insert(
                EarlierPipelines.FinishedOperation(
                    pipeline: .work,
                    type: "Named",
                    payload: Data("{\"name\":\"A\"}".utf8),
                    payloadVersion: 1,
                    lane: "",
                    key: nil,
                    commit: 1,
                    enqueuedAt: nil,
                    result: .completed,
                    finishedAt: Date(timeIntervalSinceReferenceDate: 0),
                    attempts: 1,
                    failures: []
                )
            )
            try context.commit()
            return finished.id.rawValue
        }
        try await old.close()
        let stack = try await ContextStack.open(.sqlite(url), models: Pipeline.models, stack: .rootOnly)
        let id = stack.id(number, of: QueuedOperation.self)
        let payload = try await stack.background { try $0.finishedOperation(id)?.payload(as: Named.self) }
        #expect(payload == Named(name: "A"))
        let code = await pipelineCode { try await stack.result(of: id, as: Int.self) }
        #expect(code == .noResult)
        try await stack.close()
    }
}

/// Models of pipelines as an earlier version had them.
enum EarlierPipelines {
    @Model(.index("finishedAt"), table: "FinishedOperation") final class FinishedOperation {
        var pipeline: PipelineName
        var type: String
        var payload: Data
        var payloadVersion: Int
        var lane: String
        var key: String?
        var commit: Int64
        var enqueuedAt: Date?
        var result: OperationResult
        var finishedAt: Date
        var attempts: Int
        var failures: AttemptFailures
    }
}
