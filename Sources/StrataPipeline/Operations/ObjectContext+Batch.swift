public import Strata

/// A group of operations, and a completion operation that runs when all of them are finished.
public struct OperationBatch {
    /// The operations, in the order of their payloads.
    public let operations: [QueuedOperation]
    /// The operation that waits for them.
    public let completion: QueuedOperation
}

extension ObjectContext {
    /// Queues operations and a completion operation, as part of this context's changes. The completion runs when all of
    /// the operations are finished.
    ///
    /// - Parameters:
    ///   - payloads: the payloads of the operations. If there are none, the completion does not wait.
    ///   - pipeline: the pipeline of the operations.
    ///   - lane: the lane of the operations.
    ///   - priority: the priority of the operations.
    ///   - completion: the payload of the completion.
    ///   - completionPipeline: the pipeline of the completion.
    ///   - onFailure: what happens to the completion when an operation has failed permanently.
    /// - Throws: the store's errors.
    /// - Complexity: O(operations).
    @discardableResult
    public func enqueue<Payload: OperationPayload, Completion: OperationPayload>(
        _ payloads: [Payload],
        in pipeline: PipelineName,
        lane: String = "",
        priority: Int = 0,
        then completion: Completion,
        in completionPipeline: PipelineName,
        onFailure: DependencyPolicy = .wait
    ) throws -> OperationBatch {
        let operations = payloads.map { enqueue($0, in: pipeline, lane: lane, priority: priority) }
        let last = enqueue(completion, in: completionPipeline)
        try last.addDependencies(operations, onFailure: onFailure)
        return OperationBatch(operations: operations, completion: last)
    }
}
