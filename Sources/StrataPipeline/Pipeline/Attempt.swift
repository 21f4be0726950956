public import Strata

/// One run of a handler for an operation.
public struct Attempt<Payload: OperationPayload>: Sendable {
    /// The operation's id: the same for all attempts, also after a crash. It serves as the key by which a server can recognise a
    /// repeat.
    public let id: ObjectID<QueuedOperation>
    /// What the operation is about.
    public let payload: Payload
    /// Which attempt this is, from 1.
    public let number: Int
    /// The pipeline.
    public let pipeline: PipelineName
    /// The lane; the empty text where there is none.
    public let lane: String
    let claim: Claim
    let engine: QueueEngine
    /// The values of the object that is queued; nil where that is none.
    var row: (any Sendable)?

    /// Says how far it has come, from 0 to 1. Shown by the operation a moment later; of several at once the last counts.
    ///
    /// What is shown is a commit, so this is said as often as somebody looks, such as for each percent, and not for each packet that was sent.
    ///
    /// - Isolation: any. Does not wait for the disk.
    /// - Throws: `CancellationError` where the operation is not wanted any more; ``PipelineError`` with `leaseLost` where another
    ///   process has taken it over.
    public func progress(_ fraction: Double) async throws {
        try Task.checkCancellation()
        try engine.note(progress: fraction, of: claim)
    }
}
