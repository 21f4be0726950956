import Foundation
import StoreModels
import Strata
import StrataTesting
import Testing

@testable import StrataPipeline

@Suite("Enqueueing: accepted and refused operations", .timeLimit(.minutes(1))) struct EnqueueTests {
    @Test("The result of an operation is found by the operation's id")
    func finished() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A", "B"])
        try await harness.edit("A") { $0.skip() }
        let (a, b) = (harness.id("A"), harness.id("B"))
        let results = try await harness.stack.background { context in
            try [a, b].map { try context.finishedOperation($0)?.result }
        }
        #expect(results == [.skipped, nil])
        try await harness.close()
    }

    @Test(
        "A hold cannot take a pipeline's reserved name, but a hold of that name can be released",
        arguments: ["start", "retry"]
    )
    func reserved(_ name: String) async throws {
        let harness = try await PipelineHarness.open()
        try await harness.stack.background { context in
            let operation = context.enqueue(Named(name: "A"), in: .work, notBefore: .distantFuture)
            let error = #expect(throws: PipelineError.self) { try operation.hold(name, until: .distantPast) }
            #expect(error?.code == .invalidArgument)
            try operation.hold("mine", until: .distantFuture)
            let released = [try operation.release("nime"), try operation.release(name)]
            #expect(released == [false, name == "start"])
            // The pipeline is suspended.
            #expect(try operation.waitReasons().count == (name == "start" ? 2 : 3))
        }
        try await harness.close()
    }

    @Test("If two contexts set the same hold concurrently, the later commit moves the hold")
    func sameHold() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A"])
        let id = harness.id("A")
        let dates = [Date(timeIntervalSinceReferenceDate: 1e12), Date(timeIntervalSinceReferenceDate: 2e12)]
        try await harness.stack.background { context in
            try #require(try context.find(id)).hold("mine", until: dates[1])
            try harness.stack.meanwhile { other in
                try #require(try other.find(id)).hold("mine", until: dates[0])
            }
            try context.commit()
        }
        let holds = try await harness.stack.background { context in try context.rows(OperationHold.all).map(\.until) }
        #expect(holds == [dates[1]])
        try await harness.close()
    }

    @Test("An unreadable payload fails its operation and keeps the bytes; an older version is migrated")
    func payloads() async throws {
        struct Old: OperationPayload {
            static let operationType = "Sized"
            var size: Int
        }
        struct New: OperationPayload {
            static let operationType = "Sized"
            static let payloadVersion = 2
            var bytes: Int

            static func migrate(_ data: Data, from version: Int) throws -> New {
                New(bytes: try JSONDecoder().decode(Old.self, from: data).size * 1024)
            }
        }
        struct Newest: OperationPayload {
            static let operationType = "Sized"
            static let payloadVersion = 3
            var bytes: Int
        }
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let (sizes, size) = AsyncStream.makeStream(of: Int.self)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(isSuspended: true, clock: VirtualClock())
        ) { (attempt: Attempt<New>) in
            size.yield(attempt.payload.bytes)
            return .done
        }
        let log = EventRecorder(pipeline)
        let newest = try await stack.background { context in
            let newest = context.enqueue(Newest(bytes: 7), in: .work, priority: 1)
            context.enqueue(Old(size: 3), in: .work)
            try context.commit()
            return newest.id
        }
        pipeline.resume()
        #expect(await sizes.first { _ in true } == 3072)
        try await log.waitForEnd(of: newest)
        let row = try #require(try await stack.background { try $0.find(newest)?.snapshot })
        #expect(row.status == .failed && row.attempts == 1)
        #expect(row.payload == Data(#"{"bytes":7}"#.utf8))
        try await stack.close()
    }

    @Test("A context that holds an operation can fetch the finished operation, which has the same id")
    func finishedBesideQueued() async throws {
        struct Other: OperationPayload { var number: Int }
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        try await stack.background { context in
            let operation = context.enqueue(Other(number: 1), in: .work)
            try context.commit()
            operation.skip()
            try context.commit()
            #expect(try context.fetch(QueuedOperation.all).isEmpty)
            let finished = try context.fetch(FinishedOperation.all)
            #expect(finished.map(\.id.rawValue) == [operation.id.rawValue])
            #expect(operation.isDeleted && finished.first?.result == .skipped)
        }
        try await stack.close()
    }

    @Test("An operation of another payload type fails permanently, keeps its bytes and blocks no other operation")
    func otherType() async throws {
        struct Other: OperationPayload { var number: Int }
        let harness = try await PipelineHarness.open(max: 1)
        let id = try await harness.stack.background { context in
            let operation = context.enqueue(Other(number: 7), in: .work, priority: 1)
            try context.commit()
            return operation.id
        }
        try await harness.commit(["A"])
        harness.pipeline.resume()
        try await harness.log.waitForEnd(of: id)
        #expect(harness.takeStarts().suffix(1) == ["A"])
        try await harness.stack.background { context in
            let operation = try #require(try context.find(id))
            #expect(operation.status == .failed && operation.attempts == 1)
            #expect(try operation.payload(as: Other.self).number == 7)
        }
        try await harness.close()
    }

    @Test("An id is enqueued once; a second enqueue changes nothing or is refused")
    func twice() async throws {
        let harness = try await PipelineHarness.open()
        let id = try harness.stack.newID(for: QueuedOperation.self)
        for isFirst in [true, false] {
            try await harness.stack.background { context in
                let operation = try context.enqueue(Named(name: isFirst ? "A" : "B"), as: id, in: .work)
                #expect((operation != nil) == isFirst)
                try context.commit()
            }
        }
        // If two contexts use the id concurrently, the later commit is refused.
        let other = try harness.stack.newID(for: QueuedOperation.self)
        let later = try harness.stack.create(.private, named: "later")
        try await later.perform { _ = try $0.enqueue(Named(name: "D"), as: other, in: .work) }
        try await harness.stack.background { context in
            _ = try context.enqueue(Named(name: "C"), as: other, in: .work)
            try context.commit()
        }
        let error = try await #require(throws: StrataError.self) { try await later.commit() }
        #expect(error.code == .notUnique)
        #expect(try await harness.stack.background { try $0.find(id)?.payload(as: Named.self).name } == "A")
        try await harness.close()
    }

    @Test(
        "A late edit does not bring back a finished operation, even with the merge policy .mine",
        arguments: [true, false]
    )
    func lateEdit(_ saves: Bool) async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A"])
        let id = harness.id("A")
        let parent = try harness.stack.create(.private, named: "parent")
        let late = try await harness.stack.on(parent) { _ in try harness.stack.create(.private, named: "late") }
        try await late.perform { context in
            context.mergePolicy = .mine
            try #require(try context.find(id)).priority = 9
        }
        try await harness.play([.resume("A"), .done("A")])
        let error = try await #require(throws: StrataError.self) {
            if saves { try await late.save() } else { try await late.commit() }
        }
        #expect(error.code == .conflict)
        #expect(try await harness.row("A") == nil)
        try await harness.close()
    }

    @Test(
        "A delete does not conflict with status changes that the engine made in the meantime",
        arguments: [true, false]
    )
    func lateDelete(_ saves: Bool) async throws {
        let harness = try await PipelineHarness.open(max: 1)
        try await harness.commit(["A", "B←A"])
        let id = harness.id("B")
        let parent = try harness.stack.create(.private, named: "parent")
        let late = try await harness.stack.on(parent) { _ in try harness.stack.create(.private, named: "late") }
        try await late.perform { $0.delete(try #require(try $0.find(id))) }
        try await harness.play([.resume("A")])
        if saves {
            try await late.save()
            try await parent.commit()
        } else {
            try await late.commit()
        }
        #expect(try await harness.row("B") == nil)
        try await harness.play([.done("A")])
        try await harness.close()
    }

    @Test("Retrying an operation before its first commit runs it once")
    func retriedBefore() async throws {
        let stack = try await ContextStack.open(.inMemory, models: [Note.self] + Pipeline.models, stack: .rootOnly)
        let pipeline = try await Pipeline.open(stack, named: .work, options: PipelineOptions(clock: VirtualClock())) {
            (attempt: Attempt<Named>) in
            .done { context in context.insert(Note(text: attempt.payload.name)) }
        }
        let log = EventRecorder(pipeline)
        try await stack.background { context in
            context.enqueue(Named(name: "A"), in: .work)
            for operation in try context.fetch(QueuedOperation.all) { operation.retry() }
            try context.commit()
        }
        try await pipeline.waitUntilIdle()
        #expect(log.started.count == 1 && log.finished == log.started)
        #expect(try await stack.background { try $0.count(Note.all) } == 1)
        try await stack.close()
    }

    @Test("A key is unique among a pipeline's queued operations")
    func keys() async throws {
        let harness = try await PipelineHarness.open()
        for isFirst in [true, false] {
            do {
                try await harness.stack.background { context in
                    context.enqueue(Named(name: "A"), in: .work, key: "k")
                    context.enqueue(Named(name: "A"), in: "elsewhere", key: isFirst ? "k" : "other")
                    try context.commit()
                }
                #expect(isFirst)
            } catch let error as StrataError {
                #expect(!isFirst && error.code == .notUnique)
            }
        }
        let id = try #require(
            try await harness.stack.background { try $0.first(QueuedOperation.where { $0.pipeline == .work })?.id }
        )
        try await harness.stack.background { context in
            try context.find(id)?.skip()
            try context.commit()
            context.enqueue(Named(name: "A"), in: .work, key: "k")
            try context.commit()
        }
        try await harness.close()
    }

    @Test("The commit refuses a payload that cannot be encoded")
    func unencodable() async throws {
        struct Bad: OperationPayload { var number: Double }
        let harness = try await PipelineHarness.open()
        try await harness.stack.background { context in
            context.enqueue(Bad(number: .nan), in: .work)
            let error = try #require(throws: StrataError.self) { try context.commit() }
            #expect(error.code == .validation && error.details.first?.column == "payload")
        }
        try await harness.close()
    }

    @Test("A stack without the models, a second pipeline of the same name and a limit of zero are refused")
    func refusals() async throws {
        let bare = try await ContextStack.open(.inMemory, models: [Note.self], stack: .rootOnly)
        await #expect(throws: PipelineError.self) {
            try await Pipeline.open(bare, named: .work) { (_: Attempt<Named>) in .done }
        }
        try await bare.close()
        let harness = try await PipelineHarness.open()
        let error = try await #require(throws: PipelineError.self) {
            try await Pipeline.open(harness.stack, named: .work) { (_: Attempt<Named>) in .done }
        }
        #expect(error.code == .alreadyOpen)
        #expect(throws: PipelineError.self) { try harness.pipeline.setMaxConcurrent(0) }
        try await harness.close()
    }

    @Test("Opening a pipeline refuses options under which no operation could run")
    func bounds() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        func code(retry: RetryPolicy = .standard, timeout: Duration? = nil, maxCrashes: Int = 5) async -> PipelineError
            .Code?
        {
            let error = await #expect(throws: PipelineError.self) {
                try await Pipeline.open(
                    stack,
                    named: .work,
                    options: PipelineOptions(retry: retry, timeout: timeout, maxCrashes: maxCrashes)
                ) { (_: Attempt<Named>) in .done }
            }
            return error?.code
        }
        var codes = [await code(timeout: .zero), await code(timeout: .seconds(-1))]
        for policy in [RetryPolicy(maxAttempts: 0), RetryPolicy(base: .seconds(-1)), RetryPolicy(cap: .seconds(-1))] {
            codes.append(await code(retry: policy))
        }
        for limit in [0, -1] { codes.append(await code(maxCrashes: limit)) }
        #expect(codes == Array(repeating: .invalidArgument, count: 7))
        try await stack.close()
    }
}
