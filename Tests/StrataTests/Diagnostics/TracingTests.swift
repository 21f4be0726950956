import Foundation
import InMemoryTracing
import StoreModels
import Testing
import Tracing

@testable import Strata

@Suite("Spans of blocks, commits and statements", .timeLimit(.minutes(1))) struct TracingTests {
    private struct Refusal: Error {}

    private let tracer = InMemoryTracer()

    private func open(
        _ location: StoreLocation = .inMemory,
        _ setUp: StackSetUp = .rootOnly,
        slowFrom threshold: Duration? = nil
    ) async throws -> ContextStack {
        try await ContextStack.open(
            location,
            models: Bank.models,
            stack: setUp,
            diagnostics: Diagnostics(slowStatementThreshold: threshold, tracer: tracer)
        )
    }

    private func finished(_ name: SpanName) -> [FinishedInMemorySpan] {
        tracer.finishedSpans.filter { $0.operationName == name.rawValue }
    }

    @Test("A block is a child of its caller's span, and its commit is a child of the block")
    func block() async throws {
        let folder = try ScratchFolder()
        let stack = try await open(.sqlite(folder.file("bank.sqlite")))
        let request = tracer.startSpan("request")
        try await ServiceContext.$current.withValue(request.context) {
            try await stack.background { context in
                context.insert(Account(name: "one", balance: 1))
                try context.commit()
                // A commit without changes makes no span.
                try context.commit()
            }
        }
        request.end()
        let block = try #require(finished(.background).first)
        #expect(finished(.background).count == 1 && block.kind == .internal)
        #expect(block.parentSpanID == request.spanID && block.traceID == request.traceID)
        #expect(block.attributes.get("db.system.name") == "sqlite")
        let commit = try #require(finished(.commit).first)
        #expect(finished(.commit).count == 1 && commit.kind == .client)
        #expect(commit.parentSpanID == block.spanID)
        #expect(commit.attributes.get("db.operation.name") == "COMMIT")
        #expect(commit.attributes.get("db.namespace") == "bank.sqlite")
        #expect(commit.attributes.get("strata.rows") == 1)
        #expect(commit.startInstant.nanosecondsSinceEpoch <= commit.endInstant.nanosecondsSinceEpoch)
        #expect(tracer.activeSpans.isEmpty)
        try await stack.close()
    }

    @Test("Code inside a synchronous or asynchronous block runs in the span of the block, also after an await")
    func inside() async throws {
        let stack = try await open()
        let seen = try await stack.on(.root) { _ in ServiceContext.current?.inMemorySpanContext?.spanID }
        let (before, after) = try await stack.on(.root) { _ in
            let before = ServiceContext.current?.inMemorySpanContext?.spanID
            await Task.yield()
            return (before, ServiceContext.current?.inMemorySpanContext?.spanID)
        }
        let ids = finished(.perform).map(\.spanID)
        #expect(ids.count == 2 && seen == ids[0] && before == ids[1] && after == ids[1])
        #expect(ServiceContext.current?.inMemorySpanContext == nil)
        #expect(finished(.perform).allSatisfy { $0.attributes.get("strata.context") == "root" })
        try await stack.close()
    }

    @Test("The commit of the main context belongs to its caller's trace")
    func main() async throws {
        let stack = try await open(.inMemory, .standard)
        try await stack.on(.main) { _ = $0.insert(Account(name: "one", balance: 1)) }
        let request = tracer.startSpan("request")
        try await ServiceContext.$current.withValue(request.context) {
            try await stack[.main].commit()
        }
        request.end()
        let commits = finished(.commit)
        #expect(!commits.isEmpty && commits.allSatisfy { $0.traceID == request.traceID })
        try await stack.close()
    }

    @Test("A block of write is a span, and its commit is a child, before and inside the transaction")
    func writes() async throws {
        let stack = try await open()
        for number in 0..<20 { try await stack.write { _ = $0.insert(Account(name: "\(number)", balance: 0)) } }
        try await stack.commitOverStore(on: BlockQueue(label: "test"), pace: BlockPace(isShort: true), author: "test") {
            _ = $0.insert(Account(name: "inside", balance: 0))
        } alongside: { _ in
        }
        let blocks = finished(.write)
        #expect(blocks.count == 21)
        let commits = finished(.commit)
        #expect(Set(commits.compactMap(\.parentSpanID)) == Set(blocks.map(\.spanID)) && commits.count == 21)
        #expect(tracer.activeSpans.isEmpty)
        try await stack.close()
    }

    @Test("A block that throws, and a commit that fails, record the error")
    func failures() async throws {
        let stack = try await open()
        await #expect(throws: Refusal.self) {
            try await stack.background { (_: ObjectContext) throws -> Void in throw Refusal() }
        }
        let block = try #require(finished(.background).first)
        #expect(block.errors.count == 1 && block.status?.code == .error)
        try await stack.background { context in
            for _ in 0..<2 { context.insert(Account(name: "same", balance: 0)) }
            #expect(throws: StrataError.self) { try context.commit() }
            context.rollback()
        }
        let commit = try #require(finished(.commit).last)
        #expect(commit.attributes.get("error.type") == "notUnique" && commit.errors.count == 1)
        #expect(finished(.background).last?.errors.isEmpty == true)
        try await stack.close()
    }

    @Test("A write whose commit fails records the error, before and inside the transaction")
    func failedWrites() async throws {
        let stack = try await open()
        // In a store with a home, each run of a block has a span.
        stack.core.engine.writer.follower?.lockCommits()
        await #expect(throws: StrataError.self) {
            try await stack.write { context in
                for _ in 0..<2 { context.insert(Account(name: "same", balance: 0)) }
            }
        }
        await #expect(throws: StrataError.self) {
            let pace = BlockPace(isShort: true)
            try await stack.commitOverStore(on: BlockQueue(label: "test"), pace: pace, author: "test") { context in
                for _ in 0..<2 { context.insert(Account(name: "same", balance: 0)) }
            } alongside: { _ in
            }
        }
        let blocks = finished(.write)
        #expect(blocks.count == 2 && blocks.allSatisfy { $0.errors.count == 1 && $0.status?.code == .error })
        #expect(blocks.allSatisfy { $0.attributes.get("error.type") == "notUnique" })
        #expect(tracer.activeSpans.isEmpty)
        try await stack.close()
    }

    @Test("A block whose task is cancelled while it waits ends its span, with the cancellation")
    func cancelled() async throws {
        let stack = try await open()
        let (entered, leave) = (Signal(), Signal())
        let root = try stack[.root]
        async let holding: Void = root.perform { _ in
            entered.set()
            await leave.wait()
        }
        await entered.wait()
        let waiting = Task { try await root.perform { _ in } }
        await untilWaiting(1, at: root)
        waiting.cancel()
        let result = await waiting.result
        #expect(throws: CancellationError.self) { try result.get() }
        let block = try #require(finished(.perform).first)
        #expect(block.attributes.get("error.type") == "CancellationError" && block.errors.count == 1)
        leave.set()
        try await holding
        #expect(finished(.perform).count == 2 && tracer.activeSpans.isEmpty)
        try await stack.close()
    }

    @Test("A slow statement is a span in the trace of its block, with its text and without values")
    func slowStatements() async throws {
        let stack = try await open(slowFrom: .zero)
        try await stack.background { context in
            _ = try context.fetch(Account.where { $0.name == "secret" })
        }
        let block = try #require(finished(.background).first)
        let statements = finished(.slowStatement).filter { $0.traceID == block.traceID }
        let select = try #require(
            statements.first { "\($0.attributes.get("db.query.text") ?? "")".contains("Account") }
        )
        #expect(select.parentSpanID == block.spanID)
        #expect(select.attributes.get("db.operation.name") == "SELECT")
        #expect(select.attributes.get("db.response.returned_rows") == .int64(0))
        #expect(!"\(select.attributes.get("db.query.text") ?? "")".contains("secret"))
        try await stack.close()
    }

    @Test("A tracer that records nothing counts as no tracer")
    func noOp() async throws {
        let stack = try await ContextStack.open(
            .inMemory,
            models: Bank.models,
            diagnostics: Diagnostics(tracer: NoOpTracer())
        )
        #expect(stack.tracer == nil)
        try await stack.background { _ in #expect(BlockScope.current?.span == nil) }
        try await stack.close()
    }
}
