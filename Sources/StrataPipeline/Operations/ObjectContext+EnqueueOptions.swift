public import Foundation
public import Strata

extension ObjectContext {
    /// Queues an operation with options that replace those of its pipeline, as part of this context's changes.
    ///
    /// The other parameters are those of ``enqueue(_:in:lane:priority:key:notBefore:)-(Payload,_,_,_,_,_)``. For an
    /// operation that another call has queued, use ``QueuedOperation/setOptions(_:)``.
    ///
    /// - Parameter options: the options.
    /// - Returns: the operation.
    /// - Throws: ``PipelineError`` with `invalidArgument` if an option is out of the bounds that apply to those of a
    ///   pipeline. The operation is not queued then.
    @discardableResult
    public func enqueue<Payload: OperationPayload>(
        _ payload: Payload,
        in pipeline: PipelineName,
        lane: String = "",
        priority: Int = 0,
        key: String? = nil,
        notBefore: Date? = nil,
        options: OperationOptions
    ) throws -> QueuedOperation {
        try options.check()
        let operation = enqueue(
            payload,
            in: pipeline,
            lane: lane,
            priority: priority,
            key: key,
            notBefore: notBefore
        )
        operation.add(options, in: self)
        return operation
    }

    /// Queues an object itself with options that replace those of its pipeline: see
    /// ``enqueue(_:in:lane:priority:key:notBefore:options:)-(Payload,_,_,_,_,_,_)``. An object without a context is
    /// inserted.
    @discardableResult
    public func enqueue<Object: QueueItem>(
        _ item: Object,
        in pipeline: PipelineName,
        lane: String = "",
        priority: Int = 0,
        key: String? = nil,
        notBefore: Date? = nil,
        options: OperationOptions
    ) throws -> QueuedOperation {
        try options.check()
        return try enqueue(
            QueuedItem(insert(item)),
            in: pipeline,
            lane: lane,
            priority: priority,
            key: key,
            notBefore: notBefore,
            options: options
        )
    }
}
