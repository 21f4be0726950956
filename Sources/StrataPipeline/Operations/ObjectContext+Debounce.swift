import Foundation
public import Strata

extension ObjectContext {
    /// Queues an operation when this method has not been called with the key for a while. Each call replaces the
    /// payload of the call before, and moves the due time.
    ///
    /// ```swift
    /// try context.enqueue(
    ///     Reindex(document: id), in: .index, key: "\(id)", debounce: .seconds(5), maxWait: .seconds(60))
    /// ```
    ///
    /// The call adds a ``DebouncedOperation`` to this context's changes. Each commit merges the rows of a key, so calls
    /// of all contexts and processes count. A commit never fails because of calls of others. The call that is committed
    /// last determines the payload. The time of a call counts, and not the time of its commit.
    ///
    /// When the time is due, by the clock of the engine that queues the operation:
    ///
    /// - If no operation is queued under the key, a new one is.
    /// - If an operation under the key waits for its start, or has failed, it gets the new payload and priority, and
    ///   all of its attempts again. It no longer expires, because its expiry was that of the earlier payload. It keeps
    ///   its other options.
    /// - If an operation under the key runs, it is left alone. A new operation is queued when it has left the queue.
    ///
    /// - Parameters:
    ///   - payload: the value that the handler receives. It must not be a ``QueuedItem``; use a payload with the
    ///     object's id instead.
    ///   - pipeline: the pipeline of the operation. It need not be open.
    ///   - lane: the lane of a new operation.
    ///   - priority: the priority of the operation.
    ///   - key: the key, which must not be empty. Keys of different pipelines are different.
    ///   - delay: how long after the last call the operation is due; more than zero. It is due at `Date.distantFuture`
    ///     at the latest.
    ///   - maxWait: how long after the first call the operation is due at the latest; at least `delay`. The first call
    ///     is the first one since the operation was last queued. The last call determines the value.
    /// - Returns: the row. A later call may replace it by another one.
    /// - Throws: ``PipelineError`` with `invalidArgument` for an empty key or pipeline, durations out of their bounds,
    ///   or a payload that is an object; encoding errors. Nothing has changed then.
    @discardableResult
    public func enqueue<Payload: OperationPayload>(
        _ payload: Payload,
        in pipeline: PipelineName,
        lane: String = "",
        priority: Int = 0,
        key: String,
        debounce delay: Duration,
        maxWait: Duration
    ) throws -> DebouncedOperation {
        try pipeline.requireText()
        try PipelineError.require(key: key)
        try PipelineError.require(delay, "The time without further calls")
        guard maxWait >= delay else {
            throw PipelineError(
                .invalidArgument,
                "The longest wait of \(maxWait) is shorter than the time without further calls, \(delay). Choose a "
                    + "longer one."
            )
        }
        guard payload._itemNumber == nil else {
            throw PipelineError(
                .invalidArgument,
                "An object cannot be queued with a delay after the last call. Queue a payload that contains its id."
            )
        }
        let data = try StoredJSON.encoder.encode(payload)
        let now = pipelineTime
        return insert(
            DebouncedOperation(
                pipeline: pipeline,
                key: key,
                lane: lane,
                priority: priority,
                type: Payload.operationType,
                payload: data,
                payloadVersion: Payload.payloadVersion,
                firstAt: now,
                lastAt: now,
                dueAt: now.later(by: delay.seconds),
                maxWait: maxWait.seconds
            )
        )
    }
}
