public import Strata

/// One run of a handler for an operation.
public struct Attempt<Payload: OperationPayload>: Sendable {
    /// The operation's id. All attempts have the same id, also after a crash, so a server can use it as an idempotency
    /// key.
    public let id: ObjectID<QueuedOperation>
    /// The value that the operation carries.
    public let payload: Payload
    /// The number of this attempt, from 1.
    public let number: Int
    /// The pipeline of the operation.
    public let pipeline: PipelineName
    /// The lane of the operation; the empty text if the operation has no lane.
    public let lane: String
    let claim: Claim
    let engine: QueueEngine
    /// The values of the queued object; nil if the payload is not a ``QueuedItem``.
    var row: (any Sendable)?

    /// Reports the progress of the attempt, from 0 to 1. The operation shows the value a moment later. If several
    /// values are reported in quick succession, the last one counts.
    ///
    /// Each value that is shown costs a commit. So report as often as a user looks, such as for each percent, and not
    /// for each packet.
    ///
    /// - Isolation: any. Does not wait for the disk.
    /// - Throws: `CancellationError` if the attempt has been cancelled; ``PipelineError`` with `leaseLost` if another
    ///   process has taken over the operation.
    public func progress(_ fraction: Double) async throws {
        try Task.checkCancellation()
        try engine.record(progress: fraction, of: claim)
    }
}
