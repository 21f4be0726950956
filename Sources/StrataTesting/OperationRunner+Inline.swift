public import Strata
public import StrataPipeline

/// An operation that ``StrataPipeline/OperationRunner/inline(isolation:_:)`` ran without success.
public struct InlineFailure: Error, Sendable, CustomStringConvertible {
    /// The operation.
    public let operation: ObjectID<QueuedOperation>
    /// The outcome of its attempt: the operation has failed permanently, will be tried again, or was lost.
    public let event: PipelineEvent

    /// The outcome in words.
    public var description: String { "\(event)" }
}

extension OperationRunner {
    /// Runs a block, and then all operations queued here, before it returns. This includes operations that handlers
    /// queue. To the caller, the operations run as if they were called in place.
    ///
    /// If the runner is suspended, it runs during this call. It then also runs operations that were queued earlier. The
    /// following operations keep waiting: operations for a later time, operations that wait for a constraint or a
    /// person, operations of another pipeline or of a type without a handler, and operations that wait for those.
    ///
    /// If two pipelines interact, nest the calls. The inner call is on the pipeline that queues operations for the
    /// other one, or on which the other one waits. Do not make concurrent calls for one pipeline.
    ///
    /// - Parameters:
    ///   - isolation: the isolation of the block.
    ///   - body: queues operations and commits.
    /// - Returns: the result of the block.
    /// - Throws: errors of the block; ``InlineFailure`` for the first operation whose attempt did not finish it,
    ///   because the attempt failed, will be repeated, was snoozed or was lost; `PipelineError` with
    ///   `invalidArgument` if all pipelines of the stack are suspended together, and with `closed` if this runner is
    ///   closed; `CancellationError`; errors of the store.
    @discardableResult
    public func inline<Value>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Value
    ) async throws -> Value {
        let log = EventRecorder(self)
        let value = try await body()
        guard stack.pipelines.suspensions == 0 else {
            throw PipelineError(
                .invalidArgument,
                "All pipelines of the stack are suspended, so operations cannot run inline. Resume the pipelines first."
            )
        }
        let suspensions = suspensions
        for _ in 0..<suspensions { resume() }
        defer { for _ in 0..<suspensions { suspend() } }
        try await waitUntilIdle()
        for event in log.events {
            if let operation = event.failedOperation { throw InlineFailure(operation: operation, event: event) }
        }
        return value
    }
}

extension PipelineEvent {
    /// The operation that this event reports as not finished.
    fileprivate var failedOperation: ObjectID<QueuedOperation>? {
        switch self {
        case .retrying(let id, _, _), .failed(let id, _), .lost(let id): id
        default: nil
        }
    }
}
