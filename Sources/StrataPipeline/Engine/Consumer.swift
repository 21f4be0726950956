import Foundation
import Strata
import Synchronization

/// A pipeline or a broker, as the engine represents it: its definition and its state.
///
/// Each pass copies the consumers. The parts that never change are in one object, so that a copy takes little time.
struct Consumer: Sendable {
    typealias ID = Int

    /// The handler of a consumer's operations with one type of payload.
    struct Handler: Sendable {
        /// The stored name of the payload type.
        let type: String
        let run: @Sendable (ClaimedOperation, QueueEngine) async throws -> Outcome
        /// The model of the objects, if the operations are queued items.
        let itemModel: (any Model.Type)?
    }

    /// The operations that a consumer takes.
    enum Scope: Sendable {
        /// The operations of one pipeline.
        case pipeline(PipelineName)
        /// The operations of all queues for which the predicate returns true.
        case queues(@Sendable (PipelineName) -> Bool)

        /// The ordering if the options do not name one.
        var standardOrdering: PipelineOrdering {
            switch self {
            case .pipeline: .flat
            case .queues: .fifo
            }
        }
    }

    /// The parts of a consumer that never change.
    final class Definition: Sendable {
        /// The id, unique in this process. Later consumers have greater ids.
        let id: ID
        /// The name in errors, and the key of stored data such as the rate limit.
        let name: String
        let scope: Scope
        /// The options that the consumer was opened with. The limit and the constraints may have changed since.
        let options: PipelineOptions
        /// The constraint that the whole pipeline waits for.
        let gate: PipelineGate?
        /// The handlers, each for another type of payload.
        let handlers: [Handler]
        /// The types of payloads whose operations are claimed; nil for all. Operations of other types stay queued for
        /// processes that have a handler.
        let claimedTypes: [String]?
        /// The rate limits of lanes; nil if no lane has one.
        let laneRates: LaneRates?
        /// The rules of the consumer's operations, as the options declare them.
        let rules: OperationRepository.Rules
        let events: EventHub
        /// Measures the blocks of `.done { … }` that the handlers return.
        let blockPace = BlockPace()
        /// The interceptors that are asked at the start of an attempt.
        let interceptors = HandlerInterceptors()

        /// The id of the last consumer of this process.
        private static let lastID = Atomic<ID>(0)

        fileprivate init(
            name: String,
            scope: Scope,
            options: PipelineOptions,
            gate: PipelineGate?,
            handlers: [Handler],
            claimsAllTypes: Bool,
            events: EventHub
        ) {
            id = Definition.lastID.wrappingAdd(1, ordering: .relaxed).newValue
            self.name = name
            self.scope = scope
            self.options = options
            self.gate = gate
            self.handlers = handlers
            claimedTypes = claimsAllTypes ? nil : handlers.map(\.type)
            laneRates = LaneRates(options)
            let ordering = options.ordering ?? scope.standardOrdering
            rules = OperationRepository.Rules(
                ordering: ordering,
                onFailure: options.onFailure ?? (ordering.isSerial ? .blockLane : .setAside),
                maxCrashes: options.maxCrashes,
                laneLimit: options.maxConcurrentPerLane,
                recordsTransitions: options.recordsTransitions
            )
            self.events = events
        }
    }

    let definition: Definition
    /// The greatest number of handlers that run at once, by the options or by a later call; nil for any number. An
    /// operator's limit takes precedence: see ``maxConcurrent``.
    var limit: Int?
    /// The sources of constraints, from the options and from later calls.
    var constraints: [any ConstraintSource]
    /// The options that operators have overridden in the store, if the consumer is a pipeline.
    var overridden = OverriddenOptions()
    /// Whether the consumer is closing and starts no more operations.
    var isClosing = false
    /// The number of suspensions in effect.
    var suspensions: Int
    /// The number of operations whose handlers run: the entries for this consumer in `QueueEngine.State.running`.
    var runningCount = 0
    /// Until when the rate limit allows no further start.
    var limitedUntil: Date?
    /// The position in the round through the consumer's queues.
    var cursor = RoundRobinCursor()
    /// Whether the last look found nothing ready, and nothing has happened since.
    var isDry = false
    /// Whether the gate was closed at the last check. Then only exempt operations are claimed.
    var isGateClosed: Bool
    /// As `isDry`, for the exempt operations.
    var isExemptDry = false
    /// The types of payloads that were reported as left to other processes.
    var reportedTypes: Set<UTF8Text> = []

    /// - Parameter claimsAllTypes: whether to claim operations of types without a handler too, which then fail.
    init(
        name: String,
        scope: Scope,
        options: PipelineOptions,
        gate: PipelineGate? = nil,
        handlers: [Handler],
        claimsAllTypes: Bool = true,
        events: EventHub
    ) {
        definition = Definition(
            name: name,
            scope: scope,
            options: options,
            gate: gate,
            handlers: handlers,
            claimsAllTypes: claimsAllTypes,
            events: events
        )
        limit = options.maxConcurrent
        constraints = options.constraints
        suspensions = options.isSuspended ? 1 : 0
        isGateClosed = gate.map { !$0.constraint.isSatisfied } ?? false
    }

    /// Creates a handler that decodes its operations' payloads. An operation whose item no longer exists is skipped.
    static func handler<Payload: OperationPayload>(
        _ body: @escaping @Sendable (Attempt<Payload>) async throws -> Outcome
    ) -> Handler {
        let type = Payload.operationType
        // The cast is made once, because a dynamic cast to a protocol takes longer than many handlers.
        guard let item = Payload.self as? any ItemPayload.Type else {
            return Handler(
                type: type,
                run: { operation, engine in try await body(Attempt(operation, engine)) },
                itemModel: nil
            )
        }
        return Handler(
            type: type,
            run: { operation, engine in
                var attempt = try Attempt<Payload>(operation, engine)
                attempt.row = try await (attempt.payload as? any ItemPayload)?.row(in: engine.stack)
                return try await attempt.row == nil ? .skip : body(attempt)
            },
            itemModel: item.model
        )
    }

    /// The display name of a pipeline.
    static func name(of pipeline: PipelineName) -> String { "pipeline '\(pipeline)'" }

    /// The number of operations that may be started after `ended` of the running ones have ended.
    func freeSlots(afterEnds ended: Int = 0) -> Int {
        guard suspensions == 0, !isClosing, !overridden.isPaused else { return 0 }
        // Without a limit: the number of operations that one transaction starts at most.
        return maxConcurrent.map { max($0 - max(runningCount - ended, 0), 0) } ?? 256
    }

    /// Whether the consumer should look for operations.
    ///
    /// - Parameter hasUnseenWork: whether operations may have become ready since the last look.
    func isClaimable(hasUnseenWork: Bool = false) -> Bool {
        guard freeSlots() > 0 else { return false }
        if isGateClosed { return gate?.exemptKeys != nil && (hasUnseenWork || !isExemptDry) }
        return hasUnseenWork || !isDry
    }

    /// Whether this consumer takes operations under a name.
    func takes(_ name: PipelineName) -> Bool {
        switch scope {
        case .pipeline(let own): own == name
        case .queues(let isOwn): isOwn(name)
        }
    }

    /// The limit of handlers in effect: that of an operator, or else that of this process.
    var maxConcurrent: Int? { if let override = overridden.maxConcurrent { override } else { limit } }

    /// The rate limit in effect: that of an operator, or else that of the options.
    var rateLimit: RateLimit? { if let limit = overridden.rateLimit { limit } else { options.rateLimit } }

    /// Records what a pass has found.
    ///
    /// - Parameter mayHaveFreed: whether the pass may have made operations ready.
    mutating func record(_ result: PassResult, mayHaveFreed: Bool) {
        let findings = result.findings[id] ?? PassResult.Findings()
        isDry = findings.isDry || isDry && !mayHaveFreed
        isExemptDry = findings.isExemptDry || isExemptDry && !mayHaveFreed
        limitedUntil = findings.limitedUntil
        if let cursor = findings.cursor { self.cursor = cursor }
        overridden = result.overriddenOptions(for: definition)
    }
}

extension Consumer {
    var id: ID { definition.id }
    var name: String { definition.name }
    var scope: Scope { definition.scope }
    var options: PipelineOptions { definition.options }
    var gate: PipelineGate? { definition.gate }
    var claimedTypes: [String]? { definition.claimedTypes }
    var laneRates: LaneRates? { definition.laneRates }
    var rules: OperationRepository.Rules { definition.rules }
    var events: EventHub { definition.events }
}

// MARK: Handlers

extension Consumer.Definition {
    /// Rejects a consumer without handlers, and a second handler of one type.
    func checkHandlers() throws {
        guard !handlers.isEmpty else {
            throw PipelineError(
                .invalidArgument,
                "There is no handler for the operations of \(name). Add one for each type of payload."
            )
        }
        for (index, handler) in handlers.enumerated() {
            guard !handlers[..<index].contains(where: { $0.type.hasSameBytes(as: handler.type) }) else {
                throw PipelineError(
                    .invalidArgument,
                    "Two handlers of \(name) take payloads of type \(handler.type). Remove one, or give one of the "
                        + "types another `operationType`."
                )
            }
        }
    }

    /// Runs the handler that takes the payload of an operation.
    ///
    /// - Throws: ``UnreadableOperation`` if no handler takes the payload, or if the payload cannot be read; errors of
    ///   the handler.
    func run(_ operation: ClaimedOperation, _ engine: QueueEngine) async throws -> Outcome {
        // Most consumers have one handler, and few have many. So a search is as fast as a dictionary.
        guard let handler = handlers.first(where: { $0.type.hasSameBytes(as: operation.type) }) else {
            throw UnreadableOperation(error: unhandledType(of: operation))
        }
        return try await handler.run(operation, engine)
    }

    private func unhandledType(of operation: ClaimedOperation) -> PipelineError {
        let types = handlers.map(\.type).joined(separator: ", ")
        return PipelineError(
            .undecodablePayload,
            "The operation has a payload of type \(operation.type), and pipeline \(operation.pipeline) handles "
                + "\(types). Open the pipeline with a handler for this type, and then call retry().",
            operations: [operation.claim.operation]
        )
    }
}
