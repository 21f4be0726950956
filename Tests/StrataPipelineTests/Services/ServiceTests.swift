import Foundation
import InMemoryLogging
import Logging
import MetricsTestKit
import ServiceLifecycle
import ServiceLifecycleTestKit
import StoreModels
import Strata
import StrataTesting
import Testing

@testable import StrataPipeline

@Suite("Pipelines as services, and their telemetry", .timeLimit(.minutes(1))) struct ServiceTests {
    @Test("A graceful shutdown lets handlers finish within the grace period and returns the other attempts")
    func graceful() async throws {
        let harness = try await PipelineHarness.open(shutdownGrace: .seconds(20))
        try await harness.commit(["A", "B"])
        try await harness.play([.resume("A", "B")])
        try await testGracefulShutdown { trigger in
            async let service: Void = harness.pipeline.run()
            trigger.triggerGracefulShutdown()
            await harness.clock.waitForAlarm(after: .seconds(20))
            try await harness.end("A")
            harness.clock.advance(by: .seconds(21))
            try await service
        }
        #expect(try await harness.result("A") == .completed)
        let row = try #require(try await harness.row("B"))
        #expect(row.status == .pending && row.attempts == 0 && row.crashes == 0)
        try await harness.close()
    }

    @Test("After SIGTERM, an operation that ends within the grace period is done, and the others are returned")
    func terminated() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("s.sqlite")
        let first = try await Self.open(url)
        try await first.background { context in
            for number in 0..<3 { context.enqueue(Chore(number: number), in: "chores") }
            try context.commit()
        }
        try await first.close()
        let child = try HelperProcess("serve", url.path)
        let begun = [try await child.next(), try await child.next()]
        #expect(begun.sorted() == ["started 0", "started 1"])
        child.terminate()
        try Data().write(to: folder.file("s.sqlite.go"))
        let rest = await child.end()
        // The signal may arrive after the end of the first operation: then the third one has begun.
        #expect(rest.last == "closed" && rest.count <= 2)
        let stack = try await Self.open(url)
        let marks = try await stack.background { try $0.count(Mark.all) }
        let results = try await stack.background { try $0.fetch(FinishedOperation.all).map(\.result) }
        let left = try await stack.background { context in
            let queued = try context.fetch(QueuedOperation.all.sorted { $0.commit })
            return queued.map { operation in operation.snapshot }
        }
        #expect(marks == 1 && results == [OperationResult.completed] && left.count == 2)
        for row in left { #expect(row.status == .pending && row.attempts == 0 && row.crashes == 0) }
        try await stack.close()
    }

    private struct Chore: OperationPayload { var number: Int }

    private static func open(_ url: URL) async throws -> ContextStack {
        try await ContextStack.open(.sqlite(url), models: [Mark.self] + Pipeline.models, stack: .rootOnly)
    }

    @Test("A cancelled task returns all attempts at once")
    func cancelled() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A"])
        try await harness.play([.resume("A")])
        let service = Task { try await harness.pipeline.run() }
        service.cancel()
        try await service.value
        #expect(try await harness.row("A")?.status == .pending)
        try await harness.close()
    }

    @Test("A service ends with its pipeline, even if the pipeline was closed before")
    func closed() async throws {
        let harness = try await PipelineHarness.open()
        let service = Task { try await harness.pipeline.run() }
        await harness.pipeline.close()
        try await service.value
        try await harness.pipeline.run()
        try await harness.close()
    }

    @Test("Attempts are counted and timed by pipeline and outcome, and logged with their ids")
    func telemetry() async throws {
        let metrics = TestMetrics()
        let records = InMemoryLogHandler()
        var logger = Logger(label: "test") { _ in records }
        logger.logLevel = .debug
        let harness = try await PipelineHarness.open(
            logger: logger,
            diagnostics: Diagnostics(metrics: metrics, metricsDimensions: [("store", "test")])
        )
        try await harness.commit(["A", "B", "C"])
        try await harness.play([.resume("A", "B", "C")])
        let dimensions = [("store", "test"), ("runner", "work")]
        #expect(try metrics.expectGauge("strata.operations.running", dimensions).lastValue == 3)
        try await harness.end("A")
        try await harness.end("B", .success(.fail("no such thing")))
        try await harness.end("C", .success(.retry(after: .seconds(5))))
        for outcome in ["completed", "failed", "retried"] {
            #expect(try metrics.expectCounter("strata.operations", dimensions + [("outcome", outcome)]).totalValue == 1)
        }
        #expect(try metrics.expectTimer("strata.operation.duration", dimensions).values.count == 3)
        #expect(try metrics.expectTimer("strata.operation.wait", dimensions).values.count == 3)
        #expect(try metrics.expectGauge("strata.operations.running", dimensions).lastValue == 0)
        let started = records.entries.filter { $0.message == "an operation has started" }
        #expect(
            started.map { $0.metadata["strata.operation"] } == ["A", "B", "C"].map { "\(harness.id($0).rawValue)" }
        )
        #expect(started.allSatisfy { $0.metadata["strata.pipeline"] == "work" && $0.metadata["strata.attempt"] == "1" })
        let failed = try #require(records.entries.first { $0.message == "an operation has failed" })
        #expect(failed.level == .warning)
        #expect(failed.metadata["strata.reason"] == "no such thing" && failed.metadata["strata.pipeline"] == "work")
        // Another process may still finish a lost operation, and a decision by hand is not an attempt.
        try await harness.commit(["D", "E"])
        try await harness.edit("E") { $0.skip() }
        #expect(harness.takeStarts().contains("D"))
        let id = harness.id("D")
        try await harness.stack.background { context in
            context.delete(try #require(try context.find(id)))
            try context.commit()
        }
        try await harness.log.waitForEnd(of: id)
        let lost = try #require(records.entries.last { $0.message == "an attempt has ended" })
        #expect(lost.level == .info && lost.metadata["strata.outcome"] == "lost")
        #expect(records.entries.count { $0.message == "an operation has failed" } == 1)
        try await harness.close()
    }
}
