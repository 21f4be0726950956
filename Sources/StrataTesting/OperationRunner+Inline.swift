public import Strata
public import StrataPipeline

/// An operation that was to be done in place, by ``StrataPipeline/OperationRunner/inline(isolation:_:)``, and was not done.
public struct InlineFailure: Error, Sendable, CustomStringConvertible {
    /// The operation.
    public let operation: ObjectID<QueuedOperation>
    /// What has come of its attempt: it has failed for good, is to be tried again, or was lost.
    public let event: PipelineEvent

    /// What has come of the attempt, in words.
    public var description: String { "\(event)" }
}

extension OperationRunner {
    /// Does something, and has all operations done that are queued here by then before it goes on, those too that handlers queue: as if they were
    /// called in place.
    ///
    /// If it was suspended, it runs for as long, and does what was queued before as well. What is queued for a later moment, waits for a constraint or for a
    /// person is left waiting, and so is what is another pipeline's, or waits for that. Where two pipelines play together, one call stands within another: the inner one
    /// on the pipeline that makes work for the other, or has what that waits for. Calls beside each other are not for one pipeline.
    ///
    /// - Parameters:
    ///   - isolation: where the block runs.
    ///   - body: what queues, and commits.
    /// - Returns: what the block returns.
    /// - Throws: what the block throws; ``InlineFailure`` of the first operation that was not done by its attempt, since that has failed, is to be tried
    ///   again, was postponed or lost; ``StrataPipeline/PipelineError`` with `invalidArgument` where the pipelines of the stack are suspended together, and with
    ///   `closed` where this is closed; `CancellationError`; what the store reports.
    @discardableResult
    public func inline<Value>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Value
    ) async throws -> Value {
        let log = EventLog(self)
        let value = try await body()
        guard stack.pipelines.suspensions == 0 else {
            throw PipelineError(
                .invalidArgument,
                "The pipelines of the stack are suspended together, so that nothing can be done in place: resume them before."
            )
        }
        let suspensions = suspensions
        for _ in 0..<suspensions { resume() }
        defer { for _ in 0..<suspensions { suspend() } }
        try await drained()
        for event in log.events {
            if let operation = event.failedOperation { throw InlineFailure(operation: operation, event: event) }
        }
        return value
    }
}

extension PipelineEvent {
    /// The operation of which this says that it was not done as it was to be.
    fileprivate var failedOperation: ObjectID<QueuedOperation>? {
        switch self {
        case .retrying(let id, _, _), .failed(let id, _), .lost(let id): id
        default: nil
        }
    }
}
