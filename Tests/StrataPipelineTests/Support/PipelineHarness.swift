import Foundation
import Logging
import Strata
import StrataTesting
import Synchronization
import Testing

@testable import StrataPipeline

/// A store with one pipeline whose handlers wait for the test to decide their results.
final class PipelineHarness: Sendable {
    private struct State {
        var names: [ObjectID<QueuedOperation>: String] = [:]
        var ids: [String: ObjectID<QueuedOperation>] = [:]
        // By the operations' ids, because the runs of a schedule have the same payload.
        var outcomes: [ObjectID<QueuedOperation>: Result<Outcome, any Error>] = [:]
        var waiting: [ObjectID<QueuedOperation>: CheckedContinuation<Outcome, any Error>] = [:]
        var seen = 0
    }

    let stack: ContextStack
    let clock: VirtualClock
    let pipeline: Pipeline
    let log: EventRecorder
    private let handlers: WaitingHandlers

    /// The part that survives reopening a pipeline.
    private final class WaitingHandlers: Sendable {
        let state = Mutex(State())

        func run(_ id: ObjectID<QueuedOperation>) async throws -> Outcome {
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    let outcome = state.withLock { state in
                        if let outcome = state.outcomes.removeValue(forKey: id) { return outcome as Result? }
                        if Task.isCancelled { return .failure(CancellationError()) }
                        state.waiting[id] = continuation
                        return nil
                    }
                    if let outcome { continuation.resume(with: outcome) }
                }
            } onCancel: {
                state.withLock { $0.waiting.removeValue(forKey: id) }?.resume(throwing: CancellationError())
            }
        }
    }

    private init(_ stack: ContextStack, _ clock: VirtualClock, _ pipeline: Pipeline, _ handlers: WaitingHandlers) {
        self.stack = stack
        self.clock = clock
        self.pipeline = pipeline
        self.handlers = handlers
        log = EventRecorder(pipeline)
    }

    static func open(
        _ location: StoreLocation = .inMemory,
        models: [any Model.Type] = [],
        ordering: PipelineOrdering = .flat,
        max: Int? = 8,
        maxPerLane: Int? = nil,
        maxGlobally: Int? = nil,
        ratePerLane: RateLimit? = nil,
        laneRates: [UTF8Text: RateLimit] = [:],
        retry: RetryPolicy = .standard,
        backoff: (@Sendable (_ attempt: Int, _ error: any Error) -> Duration?)? = nil,
        onFailure: FailurePolicy? = nil,
        timeout: Duration? = nil,
        maxCrashes: Int = 5,
        constraints: [any ConstraintSource] = [],
        gate: PipelineGate? = nil,
        retention: FinishedRetention = .standard,
        shutdownGrace: Duration = .seconds(20),
        logger: Logger = Logger(label: "strata"),
        diagnostics: Diagnostics = Diagnostics(),
        busyTimeout: TimeInterval = 5,
        clock: VirtualClock = VirtualClock()
    ) async throws -> PipelineHarness {
        let stack = try await ContextStack.open(
            location,
            models: models + Pipeline.models,
            stack: .rootOnly,
            configuration: StoreConfiguration(busyTimeout: busyTimeout),
            logger: logger,
            diagnostics: diagnostics
        )
        let handlers = WaitingHandlers()
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            gate: gate,
            options: PipelineOptions(
                ordering: ordering,
                maxConcurrent: max,
                maxConcurrentPerLane: maxPerLane,
                maxConcurrentGlobally: maxGlobally,
                rateLimitPerLane: ratePerLane,
                laneRateLimits: laneRates,
                retry: retry,
                backoff: backoff,
                onFailure: onFailure,
                timeout: timeout,
                constraints: constraints,
                retention: retention,
                maxCrashes: maxCrashes,
                isSuspended: true,
                shutdownGrace: shutdownGrace,
                clock: clock
            )
        ) { (attempt: Attempt<Named>) in try await handlers.run(attempt.id) }
        // The first pass is a heartbeat. Without this wait, its order relative to the test's actions would be random.
        await pipeline.waitUntilProcessed()
        return PipelineHarness(stack, clock, pipeline, handlers)
    }

    func close() async throws {
        try await stack.close()
    }

    // MARK: Test actions

    /// Enqueues these operations in one commit.
    ///
    /// - Parameter other: the operation whose commit they join.
    func commit(
        _ entries: [Entry],
        lane: @Sendable (String) -> String = { _ in "" },
        joining other: String? = nil
    ) async throws {
        let known = handlers.state.withLock { $0.ids }
        let lanes = Dictionary(entries.map { ($0.name, lane($0.name)) }) { $1 }
        // Operations may be named before they are queued, so their ids are allocated here.
        var ids = known
        for name in entries.flatMap({ [$0.name] + $0.prerequisites }) where ids[name] == nil {
            ids[name] = try stack.newID(for: QueuedOperation.self)
        }
        let all = ids
        handlers.state.withLock { state in
            state.ids = all
            for (name, id) in all { state.names[id] = name }
        }
        try await stack.background { context in
            for entry in entries {
                let letter = entry.hasLetter ? context.insert(Letter(text: entry.name)) : nil
                let operation = try #require(
                    try context.enqueue(
                        Named(name: entry.name, letter: letter?.id),
                        as: all[entry.name]!,
                        in: .work,
                        lane: lanes[entry.name]!,
                        priority: entry.priority
                    )
                )
                if let other { try operation.join(try #require(try context.find(all[other]!))) }
                if !entry.prerequisites.isEmpty {
                    try operation.addDependencies(entry.prerequisites.map { all[$0]! })
                }
            }
            try context.commit()
        }
        await pipeline.waitUntilProcessed()
    }

    /// Simulates a process elsewhere that claims this number of operations and ends before they do. A suspect is
    /// claimed alone.
    ///
    /// - Returns: the names of the claimed operations.
    func crashElsewhere(claiming limit: Int, _ rules: OperationRepository.Rules = OperationRepository.Rules()) throws
        -> [String?]
    {
        var names: [String?] = []
        try stack.transact(author: "test") { transaction in
            let repository = OperationRepository(transaction, now: clock.now, [.work: rules])
            let worker = try repository.register(WorkerIdentity(process: 1, start: 1, machine: "elsewhere"))
            var claims = try repository.claim(
                1,
                of: .work,
                OperationRepository.Selection(isSuspected: true),
                by: worker
            ).claims
            if claims.isEmpty { claims = try repository.claim(limit, of: .work, by: worker).claims }
            names = claims.map { name(of: $0.claim.operation) }
            try repository.reclaim(from: worker)
        }
        return names
    }

    /// Allocates ids in this order for operations that a test queues later, unless they have ids.
    func reserve(_ names: some Sequence<String>) throws {
        for name in names where handlers.state.withLock({ $0.ids[name] }) == nil {
            let id = try stack.newID(for: QueuedOperation.self)
            handlers.state.withLock { state in (state.ids[name], state.names[id]) = (id, name) }
        }
    }

    /// Copies the names and ids of operations from another harness on the same file.
    func learn(from other: PipelineHarness) {
        let (names, ids) = other.handlers.state.withLock { ($0.names, $0.ids) }
        handlers.state.withLock { state in (state.names, state.ids) = (names, ids) }
    }

    func name(of number: Int64) -> String? {
        handlers.state.withLock { $0.names[stack.id(number, of: QueuedOperation.self)] }
    }

    func id(_ name: String) -> ObjectID<QueuedOperation> { handlers.state.withLock { $0.ids[name]! } }

    /// Changes an operation in a separate commit.
    func edit(_ name: String, _ body: @escaping @Sendable (QueuedOperation) throws -> Void) async throws {
        let id = id(name)
        try await stack.background { context in
            try body(try #require(try context.find(id)))
            try context.commit()
        }
        await pipeline.waitUntilProcessed()
    }

    /// How many times an attempt of the operation has ended so far, or the operation ended without an attempt.
    func ends(of name: String) -> Int {
        let id = id(name)
        return log.events.count { $0.isEnd(of: id) }
    }

    /// Deletes the letter of an operation, and waits until the operation is skipped.
    func deleteLetter(_ name: String) async throws {
        let count = ends(of: name)
        try await stack.background { context in
            context.delete(try #require(try context.first(Letter.where { $0.text == name })))
            try context.commit()
        }
        try await log.waitForEnd(of: id(name), count: count + 1)
    }

    /// Ends a handler with a result, and waits until the result is stored.
    func end(
        _ name: String,
        id: ObjectID<QueuedOperation>? = nil,
        _ outcome: Result<Outcome, any Error> = .success(.done)
    ) async throws {
        let id = id ?? self.id(name)
        let count = log.events.count { $0.isEnd(of: id) }
        let waiting = handlers.state.withLock { state in
            let waiting = state.waiting.removeValue(forKey: id)
            if waiting == nil { state.outcomes[id] = outcome }
            return waiting
        }
        waiting?.resume(with: outcome)
        try await log.waitForEnd(of: id, count: count + 1)
    }

    /// The names of the operations that started since the last call.
    func takeStarts() -> [String] {
        let started = log.started
        return handlers.state.withLock { state in
            defer { state.seen = started.count }
            return started.dropFirst(state.seen).map { state.names[$0] ?? "\($0)" }
        }
    }

    /// The stored row of an operation; nil if the operation is no longer queued.
    func row(_ name: String) async throws -> QueuedOperation.Row? {
        let id = id(name)
        return try await stack.background { try $0.find(id)?.snapshot }
    }

    /// The result of an operation; nil if it has not finished.
    func result(_ name: String) async throws -> OperationResult? {
        let id = id(name)
        return try await stack.background { context in
            try context.first(FinishedOperation.where { $0.id.in([id.counterpart(FinishedOperation.self)]) })?.result
        }
    }

    /// Plays the steps of a table row, and compares the starts after each step with the expected ones.
    func play(_ steps: [Step], sourceLocation: SourceLocation = #_sourceLocation) async throws {
        for (index, step) in steps.enumerated() {
            switch step.event {
            case .resume: pipeline.resume()
            case .suspend: pipeline.suspend()
            case .complete(let name): try await end(name)
            case .limit(let limit): try pipeline.setMaxConcurrent(limit)
            case .pass(let duration): clock.advance(by: duration)
            case .commit(let entries): try await commit(entries)
            case .skip(let name): try await edit(name) { $0.skip() }
            }
            await pipeline.waitUntilProcessed()
            #expect(takeStarts() == step.starts, "step \(index): \(step)", sourceLocation: sourceLocation)
        }
    }
}
