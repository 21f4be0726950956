public import Strata

/// Operations, and one that runs when all of them are done with.
public struct OperationBatch {
    /// The operations, in the order of their payloads.
    public let operations: [QueuedOperation]
    /// The one that waits for them.
    public let completion: QueuedOperation
}

extension ObjectContext {
    /// Queues operations, and one that runs when all of them are done with, as part of this context's changes.
    ///
    /// - Parameters:
    ///   - payloads: what the operations are about; with none, the completion waits for nothing.
    ///   - pipeline: where they are queued.
    ///   - lane: in which lane.
    ///   - priority: with which priority.
    ///   - completion: what the last one is about.
    ///   - completionPipeline: where that is queued.
    ///   - whenFailed: what becomes of the completion when an operation has failed for good.
    /// - Throws: what the store reports.
    /// - Complexity: O(operations).
    @discardableResult
    public func enqueue<Payload: OperationPayload, Completion: OperationPayload>(
        _ payloads: [Payload],
        in pipeline: PipelineName,
        lane: String = "",
        priority: Int = 0,
        then completion: Completion,
        in completionPipeline: PipelineName,
        whenFailed: DependencyPolicy = .wait
    ) throws -> OperationBatch {
        let operations = payloads.map { enqueue($0, in: pipeline, lane: lane, priority: priority) }
        let last = enqueue(completion, in: completionPipeline)
        try last.addDependencies(operations, whenFailed: whenFailed)
        return OperationBatch(operations: operations, completion: last)
    }
}
