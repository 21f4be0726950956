import Foundation
import InMemoryTracing
import MetricsTestKit
import StoreModels
import Strata
import StrataTesting
import Testing
import Tracing

@testable import StrataPipeline

@Suite("Traces of operations, and gauges of queues", .timeLimit(.minutes(1))) struct TracingTests {
    private struct Refusal: Error {}

    private let tracer = InMemoryTracer()

    private func attempts(_ tracer: InMemoryTracer? = nil) -> [FinishedInMemorySpan] {
        (tracer ?? self.tracer).finishedSpans.filter { $0.operationName == "strata.attempt" }
    }

    /// Commits operations in a span, and returns the span.
    private func commit(_ entries: [Entry], _ harness: PipelineHarness) async throws -> InMemorySpan {
        let request = tracer.startSpan("request")
        try await ServiceContext.$current.withValue(request.context) { try await harness.commit(entries) }
        request.end()
        return request
    }

    private static func traces(_ harness: PipelineHarness) async throws -> Int {
        try await harness.stack.background { try $0.count(OperationTrace.all) }
    }

    @Test("Each attempt has a separate consumer span, which links to the trace of enqueue")
    func links() async throws {
        let harness = try await PipelineHarness.open(diagnostics: Diagnostics(tracer: tracer))
        let request = try await commit(["A"], harness)
        #expect(try await Self.traces(harness) == 1)
        harness.pipeline.resume()
        try await harness.end("A", .failure(Refusal()))
        harness.clock.advance(by: .seconds(120))
        try await harness.end("A")
        let attempts = attempts()
        try #require(attempts.count == 2)
        for (number, attempt) in attempts.enumerated() {
            #expect(attempt.kind == .consumer && attempt.parentSpanID == nil)
            #expect(attempt.traceID != request.traceID)
            #expect(attempt.links.map { $0.context.inMemorySpanContext?.traceID } == [request.traceID])
            #expect(attempt.attributes.get("messaging.destination.name") == "work")
            #expect(attempt.attributes.get("strata.attempt") == .int64(Int64(number + 1)))
        }
        #expect(attempts[0].errors.count == 1 && attempts[0].status?.code == .error)
        #expect(attempts[1].errors.isEmpty && attempts[1].attributes.get("strata.outcome") == "done")
        // The trace leaves the store with the operation.
        #expect(try await Self.traces(harness) == 0)
        try await harness.close()
    }

    @Test("The outcome that a handler returns is part of its span, and only an error makes the span fail")
    func outcomes() async throws {
        let harness = try await PipelineHarness.open(diagnostics: Diagnostics(tracer: tracer))
        try await harness.commit(["A"])
        harness.pipeline.resume()
        let pause = Duration.seconds(1)
        let outcomes: [Outcome] = [
            .retry(after: pause), .snooze(for: pause), .retry(after: pause, because: Refusal()), .fail("no such thing"),
        ]
        for outcome in outcomes {
            try await harness.end("A", .success(outcome))
            harness.clock.advance(by: .seconds(60))
        }
        let attempts = attempts()
        #expect(attempts.map { $0.attributes.get("strata.outcome") } == ["retry", "snooze", "retry", "fail"])
        #expect(attempts.map { $0.status?.code == .error } == [false, false, true, true])
        let types: [SpanAttribute?] = [nil, nil, "Refusal", "operationFailed"]
        #expect(attempts.map { $0.attributes.get("error.type") } == types)
        #expect(attempts[3].status?.message == "no such thing")
        try await harness.close()
    }

    @Test(
        "The span of an attempt that has exceeded its timeout has the error of the timeout, whatever its handler does",
        arguments: [false, true]
    )
    func timeout(_ obeys: Bool) async throws {
        let stack = try await ContextStack.open(
            .inMemory,
            models: Pipeline.models,
            stack: .rootOnly,
            diagnostics: Diagnostics(tracer: tracer)
        )
        let clock = VirtualClock()
        let (cancelled, continuation) = AsyncStream.makeStream(of: Never.self)
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(retry: .never, timeout: .seconds(60), clock: clock)
        ) { (_: Attempt<Named>) in
            begin.yield()
            // The stream ends when the task is cancelled.
            for await _ in cancelled {}
            if obeys { try Task.checkCancellation() }
            return .done
        }
        let log = EventRecorder(pipeline)
        let id = try await stack.background { context in
            let operation = context.enqueue(Named(name: "A"), in: .work)
            try context.commit()
            return operation.id
        }
        // If the deadline passed before the handler began, the attempt would have no span.
        for await _ in begun { break }
        clock.advance(by: .seconds(60))
        try await log.waitForEnd(of: id)
        continuation.finish()
        // The engine does not wait for the handler, whose end ends the span.
        while attempts().isEmpty, !Task.isCancelled { await Task.yield() }
        await pipeline.close()
        let attempt = try #require(attempts().first)
        #expect(attempt.attributes.get("error.type") == "timedOut" && attempt.status?.code == .error)
        #expect(attempt.status?.message?.contains("60.0 seconds") == true, "\(attempt.status?.message ?? "")")
        let outcome: SpanAttribute? = obeys ? nil : "done"
        #expect(attempt.attributes.get("strata.outcome") == outcome)
        try await stack.close()
    }

    @Test("The trace of enqueue is still known after a restart")
    func restart() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("s.sqlite")
        let first = try await PipelineHarness.open(.sqlite(url), diagnostics: Diagnostics(tracer: tracer))
        let request = try await commit(["A"], first)
        try await first.close()
        let other = InMemoryTracer()
        let second = try await PipelineHarness.open(.sqlite(url), diagnostics: Diagnostics(tracer: other))
        second.learn(from: first)
        second.pipeline.resume()
        try await second.end("A")
        let attempt = try #require(attempts(other).first)
        #expect(attempt.links.map { $0.context.inMemorySpanContext?.traceID } == [request.traceID])
        try await second.close()
    }

    @Test("A handler runs in the span of its attempt, and so does the commit of its changes")
    func handlers() async throws {
        let stack = try await ContextStack.open(
            .inMemory,
            models: [Letter.self, Folder.self] + Pipeline.models,
            stack: .rootOnly,
            diagnostics: Diagnostics(tracer: tracer)
        )
        let pipeline = try await Pipeline.open(stack, named: .work) { (attempt: Attempt<Named>) in
            let text = ServiceContext.current?.inMemorySpanContext?.spanID ?? "none"
            return .done { context in _ = context.insert(Letter(text: text)) }
        }
        try await stack.background { context in
            context.enqueue(Named(name: "A"), in: .work)
            try context.commit()
        }
        try await pipeline.waitUntilIdle()
        await pipeline.close()
        let texts = try await stack.background { try $0.fetch(Letter.all).map(\.text) }
        // The commit of the block ends the operation, and the span of its attempt ends a moment later.
        for _ in 0..<10_000 where attempts().isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        let attempt = try #require(attempts().first)
        #expect(texts == [attempt.spanID])
        let write = try #require(tracer.finishedSpans.first { $0.operationName == "strata.write" })
        #expect(write.parentSpanID == attempt.spanID)
        // The engine's own transactions make no spans.
        #expect(!tracer.finishedSpans.contains { $0.operationName == "strata.batch" })
        try await stack.close()
    }

    @Test("Without a tracer, and outside of a span, nothing is stored with an operation")
    func untraced() async throws {
        let untraced = try await PipelineHarness.open()
        _ = try await commit(["A"], untraced)
        #expect(try await Self.traces(untraced) == 0)
        try await untraced.close()
        let stack = try await ContextStack.open(
            .inMemory,
            models: [Letter.self, Folder.self] + Pipeline.models,
            stack: .standard,
            diagnostics: Diagnostics(tracer: tracer)
        )
        // Code on the main actor without a block has no span.
        try await Self.enqueueOnMain(stack)
        #expect(try await stack.background { try $0.count(OperationTrace.all) } == 0)
        #expect(try await stack.background { try $0.count(QueuedOperation.all) } == 1)
        try await stack.close()
    }

    @MainActor private static func enqueueOnMain(_ stack: ContextStack) async throws {
        try stack.main.enqueue(Named(name: "A"), in: .work)
        try await stack.commit(.main)
    }

    @Test("Traces of operations that were deleted, before or after their commit, do not stay")
    func deleted() async throws {
        let harness = try await PipelineHarness.open(diagnostics: Diagnostics(tracer: tracer))
        try await harness.stack.background { context in
            context.delete(context.enqueue(Named(name: "gone"), in: .work))
            try context.commit()
            context.enqueue(Named(name: "taken back"), in: .work).skip()
            let count = try context.count(OperationTrace.all)
            #expect(count == 0)
        }
        #expect(try await Self.traces(harness) == 0)
        try await harness.commit(["A", "B"])
        #expect(try await Self.traces(harness) == 2)
        let id = harness.id("A")
        try await harness.stack.background { context in
            context.delete(try #require(try context.find(id)))
            try context.commit()
        }
        try await harness.edit("B") { $0.skip() }
        #expect(try await Self.traces(harness) == 0)
        try await harness.close()
    }

    @Test("A carrier reads the text that it has stored, and refuses other texts")
    func carrier() throws {
        let span = tracer.startSpan("request")
        defer { span.end() }
        let text = try #require(TraceCarrier(span.context, of: tracer).text)
        let trace = try #require(TraceCarrier(text: text)?.trace(by: tracer))
        #expect(trace.inMemorySpanContext?.spanID == span.spanID)
        #expect(TraceCarrier(.topLevel, of: tracer).text == nil)
        #expect(TraceCarrier(text: "{") == nil)
        #expect(try #require(TraceCarrier(text: "[]")).trace(by: tracer) == nil)
    }

    @Test("Depth, age, failures and stuck lanes of a queue are measured at each heartbeat")
    func gauges() async throws {
        let metrics = TestMetrics()
        let harness = try await PipelineHarness.open(
            ordering: .fifo,
            diagnostics: Diagnostics(metrics: metrics),
            clock: VirtualClock(Date())
        )
        let dimensions = [("runner", "work")]
        let queued = try metrics.expectGauge("strata.operations.queued", dimensions)
        let failed = try metrics.expectGauge("strata.operations.failed", dimensions)
        let oldest = try metrics.expectGauge("strata.operations.oldest", dimensions)
        let stuck = try metrics.expectGauge("strata.lanes.stuck", dimensions)
        // The last of the four gauges is recorded last.
        while stuck.lastValue == nil, !Task.isCancelled { await Task.yield() }
        #expect(queued.lastValue == 0 && failed.lastValue == 0 && oldest.lastValue == 0 && stuck.lastValue == 0)
        try await harness.commit(["A", "B", "C"])
        harness.pipeline.resume()
        try await harness.end("A", .success(.fail("no such thing")))
        harness.clock.advance(by: .seconds(3600))
        while stuck.lastValue != 1, !Task.isCancelled { await Task.yield() }
        #expect(queued.lastValue == 3 && failed.lastValue == 1)
        #expect(try #require(oldest.lastValue) > 1800)
        try await harness.close()
    }

    @Test("The gauges of a closed pipeline are removed, and measured again when it is opened again")
    func closedGauges() async throws {
        let metrics = TestMetrics()
        let harness = try await PipelineHarness.open(diagnostics: Diagnostics(metrics: metrics))
        let dimensions = [("runner", "work")]
        let labels: Set = [
            "strata.operations.queued", "strata.operations.failed", "strata.operations.oldest",
            "strata.operations.running", "strata.lanes.stuck",
        ]
        #expect(labels.isSubset(of: metrics.recorders.map(\.label)))
        try await harness.commit(["A"])
        await harness.pipeline.close()
        #expect(labels.isDisjoint(with: metrics.recorders.map(\.label)))
        let pipeline = try await Pipeline.open(
            harness.stack,
            named: .work,
            options: PipelineOptions(isSuspended: true, clock: harness.clock)
        ) { (_: Attempt<Named>) in .done }
        let queued = try metrics.expectGauge("strata.operations.queued", dimensions)
        while queued.lastValue != 1, !Task.isCancelled { await Task.yield() }
        await pipeline.close()
        try await harness.close()
        #expect(labels.isDisjoint(with: metrics.recorders.map(\.label)))
    }

    @Test("Long queues are measured less often, and never twice at a time")
    func pace() {
        var pace = GaugePace()
        let start = Date(timeIntervalSinceReferenceDate: 800_000_000)
        func begin(after seconds: Double) -> Bool { pace.begin(at: start.addingTimeInterval(seconds)) }
        let first = [begin(after: 0), begin(after: 10)]
        #expect(first == [true, false])
        pace.end(after: .seconds(2))
        let second = [begin(after: 10), begin(after: 39), begin(after: 40)]
        #expect(second == [false, false, true])
        pace.end(after: .milliseconds(1))
        let third = begin(after: 50)
        #expect(third)
        pace.end(after: .seconds(2))
        // The clock was set back.
        let fourth = begin(after: -3600)
        #expect(fourth)
    }
}
