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
    }

    /// The id, assigned by the engine.
    var id: ID = 0
    /// The name in errors, and the key of stored data such as the rate limit.
    let name: String
    let scope: Scope
    var options: PipelineOptions
    let handler: Handler
    let events: EventHub
    var maxConcurrent: Int?
    /// Whether the consumer is closing and starts no more operations.
    var isClosing = false
    /// The number of suspensions in effect.
    var suspensions = 0
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
        return maxConcurrent.map { max($0 - max(running.count - ended, 0), 0) } ?? 256
    }

    /// Whether the consumer should look for operations.
    ///
    /// - Parameter hasUnseenWork: whether operations may have become ready since the last look.
    func isClaimable(hasUnseenWork: Bool = false) -> Bool {
        guard freeSlots > 0 else { return false }
        if isGateClosed { return options.gate?.exemptKeys != nil && (hasUnseenWork || !isExemptDry) }
        return hasUnseenWork || !isDry
    }

    /// Whether this consumer takes operations under a name.
    func takes(_ name: PipelineName) -> Bool {
        switch scope {
        case .pipeline(let own): own == name
        case .queues(let isOwn): isOwn(name)
        }
    }

    var rules: OperationRepository.Rules {
        OperationRepository.Rules(
            ordering: options.ordering,
            onFailure: options.onFailure,
            maxCrashes: options.maxCrashes,
            laneLimit: options.laneLimit,
            recordsTransitions: options.recordsTransitions
        )
    }
}

/// The options with which a pipeline runs its operations.
struct PipelineOptions: Sendable {
    var ordering: PipelineOrdering
    var laneLimit: Int?
    var retry: RetryPolicy
    var onFailure: FailurePolicy
    var maxCrashes: Int
    var timeout: Duration?
    var retention: FinishedRetention
    var constraints: [any ConstraintSource]
    var gate: PipelineGate?
    var rateLimit: RateLimit?
    var shutdownGrace: Duration
    var recordsTransitions: Bool

    /// Rejects values with which no operation could run, and values that contradict the ordering.
    func check() throws {
        try Self.require(
            timeout.map { $0 > .zero } ?? true,
            "A timeout must be longer than zero, not \(timeout ?? .zero)."
        )
        try Self.require(retry.maxAttempts.map { $0 > 0 } ?? true, "The maximum number of attempts must be 1 or more.")
        try Self.require(
            retry.base >= .zero && retry.cap >= .zero,
            "The pauses before retries must not be negative."
        )
        try Self.require(maxCrashes > 0, "The limit of crashes must be 1 or more, not \(maxCrashes).")
        try Self.require(
            retention.maximumAge >= .zero && retention.maximumCount >= 0,
            "A retention of \(retention.maximumAge) and \(retention.maximumCount) operations is negative. To keep none, set both to zero."
        )
        try Self.require(
            shutdownGrace >= .zero,
            "A shutdown grace of \(shutdownGrace) is negative. To wait for no handler, set it to `.zero`."
        )
        try checkLaneLimit()
    }

    private static func require(_ condition: Bool, _ message: String) throws {
        if !condition { throw PipelineError(.invalidArgument, message) }
    }

    private func checkLaneLimit() throws {
        guard let laneLimit else { return }
        try Self.checkLimit(laneLimit)
        guard ordering == .flat else {
            throw PipelineError(
                .invalidArgument,
                "A lane limit is only for the ordering 'flat': 'fifo' and 'lifo' run one operation of a lane at once, "
                    + "and 'commits' all operations of a commit."
            )
        }
    }

    static func checkLimit(_ limit: Int) throws {
        guard limit > 0 else {
            throw PipelineError(
                .invalidArgument,
                "The limit of operations that run at once must be 1 or more, not \(limit). To run none, suspend the "
                    + "pipeline."
            )
        }
    }

    /// Whether a source reports that a constraint is satisfied.
    func isSatisfied(_ constraint: Constraint) -> Bool {
        constraints.first { $0.constraint == constraint }?.isSatisfied ?? false
    }
}
