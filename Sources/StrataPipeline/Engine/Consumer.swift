import Foundation
import Strata

/// A pipeline or a broker as the engine knows it.
struct Consumer: Sendable {
    typealias ID = Int

    /// What does its operations.
    struct Handler: Sendable {
        let run: @Sendable (ClaimedOperation, QueueEngine) async throws -> Outcome
        /// The model of the objects that its operations are about, if they are items.
        let itemModel: (any Model.Type)?
    }

    /// Which operations it takes.
    enum Scope: Sendable {
        /// Those of one pipeline.
        case pipeline(PipelineName)
        /// Those of all queues that these words are true of.
        case queues(@Sendable (PipelineName) -> Bool)
    }

    /// Given by the engine.
    var id: ID = 0
    /// What it is called in errors, and what the store knows it by.
    let name: String
    let scope: Scope
    var options: PipelineOptions
    let handler: Handler
    let events: EventHub
    var maxConcurrent: Int?
    /// Whether it starts nothing any more.
    var isClosing = false
    /// How often it was suspended and not resumed.
    var suspensions = 0
    /// The operations whose handlers run.
    var running: Set<Int64> = []
    /// Until when its rate limit keeps it from starting more.
    var limitedUntil: Date?
    /// How far it has come in looking through its queues.
    var sweep = Sweep()
    /// Whether nothing was ready when it was last looked, and nothing has happened since.
    var isDry = false
    /// Whether its gate was closed when that was last asked: then only operations that are exempt are claimed.
    var isGateClosed = false
    /// The same as `isDry`, of the operations that are exempt.
    var isExemptDry = false
    /// Who is asked at the start of an attempt.
    let interceptors = HandlerInterceptors()

    /// Has a handler do operations of its payload. One whose item is there no more is left out.
    static func handler<Payload>(_ body: @escaping @Sendable (Attempt<Payload>) async throws -> Outcome) -> Handler {
        // Asked once: to find out what a type conforms to takes longer than many a handler.
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

    /// What a pipeline is called.
    static func name(of pipeline: PipelineName) -> String { "pipeline '\(pipeline)'" }

    var freeSlots: Int { freeSlots(afterEnds: 0) }

    /// How many operations may be started once so many of those that run have ended.
    func freeSlots(afterEnds ended: Int) -> Int {
        guard suspensions == 0, !isClosing else { return 0 }
        // Without a limit as many as one transaction takes.
        return maxConcurrent.map { max($0 - max(running.count - ended, 0), 0) } ?? 256
    }

    /// Whether to look for operations.
    ///
    /// - Parameter isNews: whether any may have become ready since it was last looked.
    func isClaimable(isNews: Bool = false) -> Bool {
        guard freeSlots > 0 else { return false }
        if isGateClosed { return options.gate?.exemptKeys != nil && (isNews || !isExemptDry) }
        return isNews || !isDry
    }

    /// Whether operations under a name are its.
    func takes(_ name: PipelineName) -> Bool {
        switch scope {
        case .pipeline(let own): own == name
        case .queues(let isOwn): isOwn(name)
        }
    }

    var rules: OperationBook.Rules {
        OperationBook.Rules(
            ordering: options.ordering,
            whenFailed: options.whenFailed,
            crashLimit: options.crashLimit,
            laneLimit: options.laneLimit,
            isJournalled: options.isJournalled
        )
    }
}

/// How a pipeline runs its operations.
struct PipelineOptions: Sendable {
    var ordering: PipelineOrdering
    var laneLimit: Int?
    var retry: RetryPolicy
    var whenFailed: FailurePolicy
    var crashLimit: Int
    var timeout: Duration?
    var retention: FinishedRetention
    var constraints: [any ConstraintObserver]
    var gate: PipelineGate?
    var rateLimit: RateLimit?
    var shutdownGrace: Duration
    var isJournalled: Bool

    /// Refuses what nothing could be done by, or what contradicts the ordering.
    func check() throws {
        try Self.require(
            timeout.map { $0 > .zero } ?? true,
            "A timeout is more than no time: by \(timeout ?? .zero) nothing is done in time."
        )
        try Self.require(retry.maxAttempts.map { $0 > 0 } ?? true, "There is at least one attempt.")
        try Self.require(
            retry.base >= .zero && retry.cap >= .zero,
            "A pause before the next attempt is no less than no time."
        )
        try Self.require(crashLimit > 0, "A crash limit of \(crashLimit) would be reached before any crash.")
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
                "How many operations of one lane run at once is said for the ordering 'flat': in 'fifo' and 'lifo' it is one, in 'commits' all "
                    + "of a commit."
            )
        }
    }

    static func checkLimit(_ limit: Int) throws {
        guard limit > 0 else {
            throw PipelineError(
                .invalidArgument,
                "At least one operation runs at once, not \(limit). To run none, suspend."
            )
        }
    }

    /// Whether a constraint is known to be satisfied.
    func isSatisfied(_ constraint: Constraint) -> Bool {
        constraints.first { $0.constraint == constraint }?.isSatisfied ?? false
    }
}
