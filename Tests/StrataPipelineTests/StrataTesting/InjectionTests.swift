import Foundation
import Strata
import StrataTesting
import Synchronization
import Testing

@testable import StrataPipeline

@Suite("Faults injected without the handler's knowledge", .timeLimit(.minutes(1))) struct InjectionTests {
    struct Stop: Error {}

    /// Ends every attempt as by a crash once a gate is open.
    private struct CrashLater: HandlerInterceptor {
        let gate: AsyncStream<Void>
        let isSpent = false

        func replacement(
            for operation: Int64
        ) -> HandlerReplacement? {
            { _ in
                for await _ in gate {}
                throw AttemptCrash()
            }
        }
    }

    /// A pipeline whose handler counts its calls, and queues a mark with each end.
    private final class Counted: Sendable {
        let stack: ContextStack
        let clock: VirtualClock
        let pipeline: Pipeline
        private let counted: Calls

        private final class Calls: Sendable { let names = Mutex<[String]>([]) }

        var calls: [String] { counted.names.withLock { $0 } }

        init(timeout: Duration? = nil, maxCrashes: Int = 5) async throws {
            stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
            (clock, counted) = (VirtualClock(), Calls())
            pipeline = try await Pipeline.open(
                stack,
                named: .work,
                options: PipelineOptions(timeout: timeout, maxCrashes: maxCrashes, clock: clock)
            ) { [counted] (attempt: Attempt<Named>) in
                counted.names.withLock { $0.append(attempt.payload.name) }
                return .done { $0.enqueue(Named(name: "mark"), in: "marks") }
            }
        }

        func queue(_ names: String...) async throws -> [ObjectID<QueuedOperation>] {
            try await stack.background { context in
                let ids = names.map { context.enqueue(Named(name: $0), in: .work).id }
                try context.commit()
                return ids
            }
        }

        func marks() async throws -> Int {
            try await stack.background { try $0.enqueued(Named.self, in: "marks").count }
        }

        func operation(_ id: ObjectID<QueuedOperation>) async throws -> (
            status: OperationStatus, attempts: Int, crashes: Int
        )? {
            try await stack.background { try $0.find(id).map { ($0.status, $0.attempts, $0.crashes) } }
        }
    }

    @Test("An injected error fails the attempt without calling the handler, the given number of times")
    func error() async throws {
        let harness = try await Counted()
        let fault = harness.pipeline.inject(.error(Stop()), times: 2)
        for number in 1...2 {
            guard case .retrying(_, _, let message) = try await harness.pipeline.perform(Named(name: "a"), in: .work)
            else {
                Issue.record("attempt \(number) was to be tried again")
                return
            }
            #expect(message == "Stop()" && fault.remaining == 2 - number && harness.calls.isEmpty)
        }
        guard case .finished = try await harness.pipeline.perform(Named(name: "b"), in: .work) else {
            Issue.record("there was no fault left")
            return
        }
        #expect(harness.calls == ["b"])
        try await harness.stack.close()
    }

    @Test("A crash before the handler uses no attempt, and the operation starts again at once")
    func crashBefore() async throws {
        let harness = try await Counted()
        let log = EventRecorder(harness.pipeline)
        harness.pipeline.inject(.crashBeforeHandler)
        let id = try await harness.queue("a")[0]
        try await log.waitForEnd(of: id, count: 2)
        guard case .lost(id)? = log.events.first(where: { $0.isEnd(of: id) }) else {
            Issue.record("\(log.events)")
            return
        }
        #expect(log.started == [id, id] && log.finished == [id] && harness.calls == ["a"])
        let numbers = log.events.compactMap { if case .started(_, let attempt) = $0 { attempt } else { nil } }
        #expect(numbers == [1, 1])
        #expect(try await harness.marks() == 1)
        try await harness.stack.close()
    }

    @Test("A crash after the handler loses its result and its changes")
    func crashAfter() async throws {
        let harness = try await Counted()
        let log = EventRecorder(harness.pipeline)
        let (first, second) = (
            harness.pipeline.inject(.crashAfterHandler), harness.pipeline.inject(.crashBeforeHandler)
        )
        let id = try await harness.queue("a")[0]
        try await log.waitForEnd(of: id, count: 3)
        #expect(harness.calls == ["a", "a"] && log.started.count == 3 && log.finished == [id])
        #expect(first.remaining == 0 && second.remaining == 0)
        #expect(try await harness.marks() == 1)
        try await harness.stack.close()
    }

    @Test("An operation that crashes too many times fails, as if its processes had ended")
    func maxCrashes() async throws {
        let harness = try await Counted(maxCrashes: 3)
        let log = EventRecorder(harness.pipeline)
        let fault = harness.pipeline.inject(.crashAfterHandler, times: 10)
        let id = try await harness.queue("a")[0]
        try await log.wait { $0.contains { if case .failed(id, _) = $0 { true } else { false } } }
        #expect(harness.calls == ["a", "a", "a"] && fault.remaining == 7)
        let operation = try #require(try await harness.operation(id))
        #expect(operation == (.failed, 0, 3))
        fault.cancel()
        try await harness.stack.background { context in
            try context.find(id)!.retry()
            try context.commit()
        }
        try await log.wait { $0.contains { if case .finished(id, .completed) = $0 { true } else { false } } }
        #expect(harness.calls.count == 4)
        #expect(try await harness.marks() == 1)
        try await harness.stack.close()
    }

    @Test("A skip requested while an operation runs takes effect after a crash")
    func requestAndCrash() async throws {
        let harness = try await Counted(timeout: .seconds(5))
        let log = EventRecorder(harness.pipeline)
        let gate = AsyncStream.makeStream(of: Void.self)
        harness.pipeline.intercept(CrashLater(gate: gate.stream))
        let id = try await harness.queue("a")[0]
        try await log.wait { $0.contains { if case .started = $0 { true } else { false } } }
        try await harness.stack.background { context in
            try context.find(id)!.skip()
            try context.commit()
        }
        gate.continuation.finish()
        try await log.wait { $0.contains { if case .finished(id, .skipped) = $0 { true } else { false } } }
        #expect(harness.calls.isEmpty && log.events.contains { if case .lost(id) = $0 { true } else { false } })
        try await harness.stack.close()
    }

    @Test("A timeout ends a handler that hangs")
    func hang() async throws {
        let harness = try await Counted(timeout: .seconds(5))
        let log = EventRecorder(harness.pipeline)
        harness.pipeline.inject(.hang)
        let id = try await harness.queue("a")[0]
        await harness.clock.waitForAlarm(after: .seconds(5))
        harness.clock.advance(by: .seconds(5))
        try await log.waitForEnd(of: id)
        #expect(log.events.contains { if case .stuck(id, .seconds(5)) = $0 { true } else { false } })
        guard case .retrying(id, _, let message)? = log.events.last(where: { $0.isEnd(of: id) }) else {
            Issue.record("\(log.events)")
            return
        }
        #expect(message.contains("timedOut") && harness.calls.isEmpty)
        try await harness.stack.close()
    }

    @Test("An attempt that times out before a thread is free has used up its fault")
    func hangAtOnce() async throws {
        let harness = try await Counted(timeout: .seconds(60))
        let log = EventRecorder(harness.pipeline)
        for round in 0..<100 {
            let fault = harness.pipeline.inject(.hang)
            let id = try await harness.queue("a")[0]
            await harness.pipeline.waitUntilProcessed()
            #expect(fault.remaining == 0)
            harness.clock.advance(by: .seconds(60))
            try await log.waitForEnd(of: id)
            harness.clock.advance(by: .seconds(60))
            try await log.waitForEnd(of: id, count: 2)
            #expect(harness.calls.count == round + 1 && log.finished.last == id)
        }
        try await harness.stack.close()
    }

    @Test("A fault for one operation affects no other operation")
    func oneOperation() async throws {
        let harness = try await Counted()
        let log = EventRecorder(harness.pipeline)
        harness.pipeline.suspend()
        let ids = try await harness.queue("a", "b", "c")
        let fault = harness.pipeline.inject(.error(Stop()), times: 5, into: ids[1])
        harness.pipeline.resume()
        for id in ids { try await log.waitForEnd(of: id) }
        #expect(Set(harness.calls) == ["a", "c"] && Set(log.finished) == [ids[0], ids[2]] && fault.remaining == 4)
        #expect(log.events.contains { if case .retrying(ids[1], _, _) = $0 { true } else { false } })
        try await harness.stack.close()
    }
}
