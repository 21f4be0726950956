import Foundation
import Strata

/// A worker's claim on an operation, until the worker reports the outcome or loses the claim.
struct Claim: Sendable, Hashable {
    let operation: Int64
    let worker: Int64
    let epoch: Int64
}

/// The values with which a handler is started.
///
/// A class, because each attempt takes this object through many arrays and closures. A copy of all the values would cost
/// more than a reference each time.
final class ClaimedOperation: Sendable {
    let claim: Claim
    let pipeline: PipelineName
    let lane: String
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
    let trace: String?

    init(
        claim: Claim,
        pipeline: PipelineName,
        lane: String,
        attempt: Int,
        type: String,
        payload: Data,
        payloadVersion: Int,
        key: String?,
        enqueuedAt: Date?,
        options: AttemptOptions?,
        trace: String? = nil
    ) {
        self.claim = claim
        self.pipeline = pipeline
        self.lane = lane
        self.attempt = attempt
        self.type = type
        self.payload = payload
        self.payloadVersion = payloadVersion
        self.key = key
        self.enqueuedAt = enqueuedAt
        self.options = options
        self.trace = trace
    }

    /// The same operation with some other values; nil keeps a value.
    func with(pipeline: PipelineName? = nil, lane: String? = nil, trace: String? = nil) -> ClaimedOperation {
        ClaimedOperation(
            claim: claim,
            pipeline: pipeline ?? self.pipeline,
            lane: lane ?? self.lane,
            attempt: attempt,
            type: type,
            payload: payload,
            payloadVersion: payloadVersion,
            key: key,
            enqueuedAt: enqueuedAt,
            options: options,
            trace: trace ?? self.trace
        )
    }
}
