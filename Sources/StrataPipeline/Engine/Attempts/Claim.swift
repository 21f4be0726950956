import Foundation
import Strata

/// A worker's claim on an operation, until the worker reports the outcome or loses the claim.
struct Claim: Sendable, Hashable {
    let operation: Int64
    let worker: Int64
    let epoch: Int64
}

/// The values with which a handler is started.
struct ClaimedOperation: Sendable {
    let claim: Claim
    var pipeline: PipelineName
    var lane: String
    let attempt: Int
    let type: String
    let payload: Data
    let payloadVersion: Int
    let key: String?
    /// When the operation was queued, by the clock of the process that saved it.
    let enqueuedAt: Date?
    /// The operation's own options, which replace those of the pipeline; nil for none.
    let options: AttemptOptions?
    /// The stored trace of the operation's `enqueue`, if attempts have spans.
    var trace: String?
}
