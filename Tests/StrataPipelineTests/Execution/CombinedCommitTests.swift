import Dispatch
import Foundation
import StoreModels
import Strata
import StrataTesting
import Testing

@testable import StrataPipeline

/// A model whose insert waits for the test's permission.
@Model final class Patient {
    static let gate = DispatchSemaphore(value: 0)
    var name: String

    func willInsert(in context: ObjectContext) throws { Self.gate.wait() }
}

@Suite("Changes, ends and claims in one commit", .timeLimit(.minutes(1)))
struct CombinedCommitTests {
    private struct Run: OperationPayload {
        var number: Int
    }

    private static func stack() async throws -> ContextStack {
        try await ContextStack.open(.inMemory, models: Pipeline.models + [Stamp.self], stack: .rootOnly)
    }

    private static func enqueue(_ count: Int, _ stack: ContextStack) async throws {
        try await stack.background { context in
            for number in 0..<count { context.enqueue(Run(number: number), in: .work) }
            try context.commit()
        }
    }

    @Test("Sequential operations take one transaction each, which the history counts as two commits")
    func commits() async throws {
        let stack = try await Self.stack()
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(ordering: .fifo, isSuspended: true)
        ) { (attempt: Attempt<Run>) in
            .done { $0.insert(Stamp(name: "\(attempt.payload.number)")) }
        }
        try await Self.enqueue(100, stack)
        let before = try stack.commitCount()
        pipeline.resume()
        try await pipeline.waitUntilIdle()
        // A separate pass for each operation would make three. On a busy machine, some operations have one.
        let commits = try stack.commitCount() - before
        #expect((200..<260).contains(commits), "\(commits) commits")
        let counts = try await stack.background { context in
            [try context.count(Stamp.all), try context.count(FinishedOperation.where { $0.result == .completed })]
        }
        #expect(counts == [100, 100])
        try await stack.close()
    }

    @Test("A refused commit discards only the changes of its handler")
    func refused() async throws {
        let stack = try await Self.stack()
        try await stack.background { context in
            context.insert(Stamp(name: "there"))
            try context.commit()
        }
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(retry: .never, isSuspended: true)
        ) { (attempt: Attempt<Run>) in
            let number = attempt.payload.number
            if number % 3 == 2 { return .done }
            // Every second one of these has the name of an existing stamp.
            return .done { $0.insert(Stamp(name: number % 3 == 0 ? "\(number)" : "there")) }
        }
        let log = EventRecorder(pipeline)
        try await Self.enqueue(300, stack)
        pipeline.resume()
        try await pipeline.waitUntilIdle()
        let (stamps, done, failed) = try await stack.background { context in
            (
                try context.column(Stamp.all, \.name),
                try context.count(FinishedOperation.where { $0.result == .completed }),
                try context.count(QueuedOperation.where { $0.status == .failed })
            )
        }
        let names = ["there"] + (0..<100).map { "\($0 * 3)" }
        #expect(Set(stamps) == Set(names) && stamps.count == 101)
        #expect(done == 200 && failed == 100)
        // Each end is reported once.
        try await log.wait { $0.count == 600 }
        let ends = log.events.compactMap { event -> ObjectID<QueuedOperation>? in
            switch event {
            case .finished(let id, _), .failed(let id, _): id
            default: nil
            }
        }
        #expect(Set(ends).count == 300 && ends.count == 300)
        try await stack.close()
    }

    @Test("Slow model hooks before a commit delay no other operations")
    func slowHook() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models + [Patient.self], stack: .rootOnly)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(isSuspended: true)
        ) { (attempt: Attempt<Run>) in
            attempt.payload.number == 0 ? .done { $0.insert(Patient(name: "a")) } : .done
        }
        try await Self.enqueue(20, stack)
        pipeline.resume()
        // The first operation waits for the ends of all others.
        for await event in pipeline.events {
            if case .finished = event { break }
        }
        while try await stack.background({ try $0.count(QueuedOperation.all) }) > 1 {
            try await Task.sleep(for: .milliseconds(1))
        }
        Patient.gate.signal()
        try await pipeline.waitUntilIdle()
        #expect(try await stack.background { try $0.count(Patient.all) } == 1)
        try await stack.close()
    }

    @Test("Pipelines open, drain and close without losing results while ends with changes follow each other")
    func traffic() async throws {
        let stack = try await Self.stack()
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(maxConcurrent: 4)
        ) { (attempt: Attempt<Run>) in
            .done { $0.insert(Stamp(name: "\(attempt.payload.number)")) }
        }
        @Sendable func openOther() async throws -> Pipeline {
            try await Pipeline.open(stack, named: "other") { (attempt: Attempt<Run>) in
                .done { $0.insert(Stamp(name: "other \(attempt.payload.number)")) }
            }
        }
        try await Self.enqueue(300, stack)
        for round in 0..<20 {
            let other = try await openOther()
            try await stack.background { context in
                context.enqueue(Run(number: round), in: "other")
                try context.commit()
            }
            if round % 2 == 0 { try await other.waitUntilIdle() } else { await other.waitUntilProcessed() }
            await other.close(grace: .seconds(60))
        }
        try await pipeline.waitUntilIdle()
        try await openOther().waitUntilIdle()
        let (stamps, ends) = try await stack.background { context in
            (try context.count(Stamp.all), try context.fetch(FinishedOperation.all).map(\.result))
        }
        #expect(stamps == 320)
        #expect(ends == [OperationResult](repeating: .completed, count: 320))
        try await stack.close()
    }

    @Test("A failed pass does not fail the handler, and the handler's changes are committed without the pass")
    func brokenTurn() async throws {
        let stack = try await Self.stack()
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let (goes, go) = AsyncStream.makeStream(of: Never.self)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(maxConcurrent: 1, clock: VirtualClock())
        ) { (attempt: Attempt<Run>) in
            start.finish()
            for await _ in goes {}
            return .done { $0.insert(Stamp(name: "\(attempt.payload.number)")) }
        }
        try await Self.enqueue(2, stack)
        for await _ in started {}
        // Nothing can be claimed.
        try stack.transact(author: "hand") { transaction in
            try transaction.run(
                """
                CREATE TEMP TRIGGER "no_claims" BEFORE UPDATE OF "status" ON main."QueuedOperation" WHEN NEW."status" = 3 \
                BEGIN SELECT RAISE(ABORT, 'no claims'); END
                """
            )
        }
        let events = pipeline.events
        go.finish()
        for await event in events { if case .storeFailed = event { break } }
        let (stamps, results) = try await stack.background { context in
            (try context.column(Stamp.all, \.name), try context.fetch(FinishedOperation.all).map(\.result))
        }
        #expect(stamps == ["0"])
        #expect(results == [.completed])
        try stack.transact(author: "hand") { try $0.run("DROP TRIGGER temp.\"no_claims\"") }
        pipeline.handle.engine.schedulePass()
        try await pipeline.waitUntilIdle()
        #expect(try await stack.background { try $0.count(Stamp.all) } == 2)
        try await stack.close()
    }
}
