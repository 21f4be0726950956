import Foundation
import Strata

/// A pipeline or a broker, as the engine represents it.
struct Consumer: Sendable {
    typealias ID = Int

    /// The handler of a consumer's operations.
    struct Handler: Sendable {
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

    /// The id, assigned by the engine.
    var id: ID = 0
    /// The name in errors, and the key of stored data such as the rate limit.
    let name: String
    let scope: Scope
    /// The options that the consumer was opened with. The limit and the constraints may have changed since.
    var options: PipelineOptions
    /// The constraint that the whole pipeline waits for.
    let gate: PipelineGate?
    let handler: Handler
    let events: EventHub
    /// Whether the consumer is closing and starts no more operations.
    var isClosing = false
    /// The number of suspensions in effect.
    var suspensions: Int
    /// The operations whose handlers run.
    var running: Set<Int64> = []
    /// Until when the rate limit allows no further start.
    var limitedUntil: Date?
    /// The position in the round through the consumer's queues.
    var cursor = RoundRobinCursor()
    /// Whether the last look found nothing ready, and nothing has happened since.
    var isDry = false
    /// Whether the gate was closed at the last check. Then only exempt operations are claimed.
    var isGateClosed = false
    /// As `isDry`, for the exempt operations.
    var isExemptDry = false
    /// The interceptors that are asked at the start of an attempt.
    let interceptors = HandlerInterceptors()

    init(
        name: String,
        scope: Scope,
        options: PipelineOptions,
        gate: PipelineGate? = nil,
        handler: Handler,
        events: EventHub
    ) {
        self.name = name
        self.scope = scope
        self.options = options
        self.gate = gate
        self.handler = handler
        self.events = events
        suspensions = options.isSuspended ? 1 : 0
    }

    /// Creates a handler that decodes its operations' payloads. An operation whose item no longer exists is skipped.
    static func handler<Payload>(_ body: @escaping @Sendable (Attempt<Payload>) async throws -> Outcome) -> Handler {
        // The cast is made once, because a dynamic cast to a protocol takes longer than many handlers.
        guard let item = Payload.self as? any ItemPayload.Type else {
            return Handler(run: { operation, engine in try await body(.reading(operation, engine)) }, itemModel: nil)
        }
        return Handler(
            run: { operation, engine in
                var attempt = try Attempt<Payload>.reading(operation, engine)
                attempt.row = try await (attempt.payload as? any ItemPayload)?.row(in: engine.stack)
                return try await attempt.row == nil ? .skip : body(attempt)
            },
            itemModel: item.model
        )
    }

    /// The display name of a pipeline.
    static func name(of pipeline: PipelineName) -> String { "pipeline '\(pipeline)'" }

    var freeSlots: Int { freeSlots(afterEnds: 0) }

    /// The number of operations that may be started after `ended` of the running ones have ended.
    func freeSlots(afterEnds ended: Int) -> Int {
        guard suspensions == 0, !isClosing else { return 0 }
        // Without a limit: the number of operations that one transaction starts at most.
        return options.maxConcurrent.map { max($0 - max(running.count - ended, 0), 0) } ?? 256
    }

    /// Whether the consumer should look for operations.
    ///
    /// - Parameter hasUnseenWork: whether operations may have become ready since the last look.
    func isClaimable(hasUnseenWork: Bool = false) -> Bool {
        guard freeSlots > 0 else { return false }
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

    /// The order in which operations of one lane start.
    var ordering: PipelineOrdering { options.ordering ?? scope.standardOrdering }

    var rules: OperationRepository.Rules {
        OperationRepository.Rules(
            ordering: ordering,
            onFailure: options.onFailure ?? (ordering.isSerial ? .blockLane : .setAside),
            maxCrashes: options.maxCrashes,
            laneLimit: options.maxConcurrentPerLane,
            recordsTransitions: options.recordsTransitions
        )
    }
}
