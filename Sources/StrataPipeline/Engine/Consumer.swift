import Foundation
import Strata

/// A pipeline as the engine knows it.
struct Consumer: Sendable {
    let name: PipelineName
    let options: PipelineOptions
    let handler: @Sendable (ClaimedOperation, QueueEngine) async throws -> Outcome
    let events: EventHub
    var maxConcurrent: Int?
    /// How often it was suspended and not resumed.
    var suspensions = 0
    /// The operations whose handlers run.
    var running: Set<Int64> = []
    /// Whether nothing was ready when it was last looked, and nothing has happened since.
    var isDry = false

    var freeSlots: Int { freeSlots(afterEnds: 0) }

    /// How many operations may be started once so many of those that run have ended.
    func freeSlots(afterEnds ended: Int) -> Int {
        guard suspensions == 0 else { return 0 }
        // Without a limit as many as one transaction takes.
        return maxConcurrent.map { max($0 - (running.count - ended), 0) } ?? 256
    }

    var rules: OperationBook.Rules {
        OperationBook.Rules(
            ordering: options.ordering,
            isBlockedByFailed: options.whenFailed == .block,
            crashLimit: options.crashLimit
        )
    }
}

/// How a pipeline runs its operations.
struct PipelineOptions: Sendable {
    var ordering: PipelineOrdering
    var retry: RetryPolicy
    var whenFailed: FailurePolicy
    var crashLimit: Int
    var timeout: Duration?
    var retention: FinishedRetention
    var constraints: [any ConstraintObserver]

    /// Whether a constraint is known to be satisfied.
    func isSatisfied(_ constraint: Constraint) -> Bool {
        constraints.first { $0.constraint == constraint }?.isSatisfied ?? false
    }
}
