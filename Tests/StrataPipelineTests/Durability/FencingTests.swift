import Foundation
import StoreModels
import Strata
import StrataTesting
import Testing

@testable import StrataPipeline

@Suite(
    "Fencing: a worker that has lost an operation cannot change its result",
    .timeLimit(.minutes(1))
)
struct FencingTests {
    /// A handler that ignores its cancellation and returns with a note when `finish()` is called.
    private final class Straggler: Sendable {
        /// Reports the release of its last reference.
        private final class Ticket: Sendable {
            let gone: AsyncStream<Never>.Continuation

            init(_ gone: AsyncStream<Never>.Continuation) { self.gone = gone }

            deinit { gone.finish() }
        }

        private let begun = AsyncStream.makeStream(of: Never.self)
        private let goes = AsyncStream.makeStream(of: Never.self)
        private let gone = AsyncStream.makeStream(of: Never.self)

        func run() async -> Outcome {
            begun.continuation.finish()
            let goes = goes.stream
            await Task { for await _ in goes {} }.value
            // The engine releases the block once the result is decided, whether or not the block runs.
            let ticket = Ticket(gone.continuation)
            return .done { context in
                withExtendedLifetime(ticket) { _ = context.insert(Note(text: "late")) }
            }
        }

        func waitForStart() async { for await _ in begun.stream {} }

        /// Lets the handler return, and waits until its result is decided.
        func finish() async {
            goes.continuation.finish()
            for await _ in gone.stream {}
        }
    }

    private static func open(_ location: StoreLocation) async throws -> ContextStack {
        try await ContextStack.open(location, models: Pipeline.models + [Note.self], stack: .rootOnly)
    }

    private static func enqueue(_ stack: ContextStack) async throws -> ObjectID<QueuedOperation> {
        try await stack.background { context in
            let operation = context.enqueue(Named(name: "A"), in: .work)
            try context.commit()
            return operation.id
        }
    }

    private static func notes(_ stack: ContextStack) async throws -> [String] {
        try await stack.background { try $0.column(Note.all, \.text) }
    }

    private static func names(_ log: EventRecorder) -> [String] {
        log.events.map { event in
            switch event {
            case .started: "started"
            case .stuck: "stuck"
            case .retrying: "retrying"
            case .finished: "finished"
            case .lost: "lost"
            default: "\(event)"
            }
        }
    }

    @Test(
        "A result that arrives after another worker took the operation over leaves no trace",
        arguments: [true, false]
    )
    func takenOver(isDoneBefore: Bool) async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let stack = try await Self.open(location)
        let straggler = Straggler()
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(clock: VirtualClock())
        ) { (_: Attempt<Named>) in
            await straggler.run()
        }
        let log = EventRecorder(pipeline)
        let id = try await Self.enqueue(stack)
        await straggler.waitForStart()
        // Simulates an ended process: the worker sends no more heartbeats.
        pipeline.handle.engine.abandon()
        let otherStack = try await Self.open(location)
        let (goes, go) = AsyncStream.makeStream(of: Never.self)
        let other = try await Pipeline.open(
            otherStack,
            named: .work,
            options: PipelineOptions(isSuspended: true, clock: VirtualClock())
        ) { (_: Attempt<Named>) in
            for await _ in goes {}
            return .done { $0.insert(Note(text: "in time")) }
        }
        let otherLog = EventRecorder(other)
        other.resume()
        if isDoneBefore {
            go.finish()
            try await otherLog.waitForEnd(of: id)
        } else {
            try await otherLog.wait { !$0.isEmpty }
        }
        await straggler.finish()
        try await log.waitForEnd(of: id)
        #expect(try await Self.notes(otherStack) == (isDoneBefore ? ["in time"] : []))
        #expect(try await otherStack.background { try $0.find(id)?.status } == (isDoneBefore ? nil : .active))
        go.finish()
        try await otherLog.waitForEnd(of: id)
        await pipeline.waitUntilProcessed()
        #expect(try await Self.notes(otherStack) == ["in time"])
        let finished = try await otherStack.background { try $0.rows(FinishedOperation.all) }
        #expect(finished.map(\.id.rawValue) == [id.rawValue])
        #expect(finished.map(\.result) == [.completed] && finished.map(\.attempts) == [1])
        #expect(Self.names(log) == ["started", "lost"])
        #expect(Self.names(otherLog) == ["started", "finished"])
        try await otherStack.close()
        try await stack.close()
    }

    /// The moment at which a handler returns after its deadline.
    enum Moment: CaseIterable {
        case beforeNextAttempt, besideNextAttempt, behindNextAttempt
    }

    @Test("A result that arrives after the deadline leaves no trace", arguments: Moment.allCases)
    func timedOut(_ moment: Moment) async throws {
        let stack = try await Self.open(.inMemory)
        let clock = VirtualClock()
        let straggler = Straggler()
        let (goes, go) = AsyncStream.makeStream(of: Never.self)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(retry: RetryPolicy(base: .zero), timeout: .seconds(7), clock: clock)
        ) { (attempt: Attempt<Named>) in
            if attempt.number == 1 { return await straggler.run() }
            for await _ in goes {}
            return .done { $0.insert(Note(text: "in time")) }
        }
        let log = EventRecorder(pipeline)
        let id = try await Self.enqueue(stack)
        await straggler.waitForStart()
        clock.advance(by: .seconds(7))
        try await log.waitForEnd(of: id)
        if moment == .beforeNextAttempt {
            await straggler.finish()
            #expect(try await Self.notes(stack) == [])
            #expect(try await stack.background { try $0.find(id)?.status } == .held)
        }
        clock.advance(by: .seconds(1))
        try await log.wait { $0.count == 4 }
        if moment == .besideNextAttempt {
            await straggler.finish()
            #expect(try await Self.notes(stack) == [])
            #expect(try await stack.background { try $0.find(id)?.status } == .active)
        }
        go.finish()
        try await log.waitForEnd(of: id, count: 2)
        if moment == .behindNextAttempt { await straggler.finish() }
        await pipeline.waitUntilProcessed()
        #expect(try await Self.notes(stack) == ["in time"])
        let finished = try await stack.background { try $0.rows(FinishedOperation.all) }
        #expect(finished.map(\.result) == [.completed] && finished.map(\.attempts) == [2])
        #expect(Self.names(log) == ["started", "stuck", "retrying", "started", "finished"])
        try await stack.close()
    }
}
