import Foundation
import Strata

/// An operation that a worker has taken, until it says what came of it or loses it.
struct Claim: Sendable, Hashable {
    let operation: Int64
    let worker: Int64
    let epoch: Int64
}

/// What a handler is started with.
struct ClaimedOperation: Sendable {
    let claim: Claim
    var pipeline: PipelineName
    var lane: String
    let attempt: Int
    let type: String
    let payload: Data
    let payloadVersion: Int
    let key: String?
    /// When it was queued, by the clock of whoever has saved it.
    let enqueuedAt: Date?
}
