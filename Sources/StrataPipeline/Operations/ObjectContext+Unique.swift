public import Foundation
public import Strata

extension ObjectContext {
    /// Queues an operation under a key that stays taken for some time, also after the operation has ended.
    ///
    /// ```swift
    /// try context.enqueue(Report(about: "June"), in: .reports, key: "June", uniqueFor: .seconds(3600))
    /// ```
    ///
    /// The time begins with this call, by the clock of the stack's pipelines, or of the machine if none is open. A
    /// further call of this method with the key queues nothing until then, whether the operation is queued, runs, has
    /// failed or is completed. An operation that is skipped, discarded, expired or deleted frees the key at once,
    /// because its work was not done. After this time, the key stays taken as long as the operation is queued.
    ///
    /// The store holds this rule, so it applies to all contexts and processes. Calls of `enqueue` without a duration
    /// do not look at the time.
    ///
    /// - Parameters:
    ///   - payload: the value that the handler receives.
    ///   - pipeline: the pipeline of the operation. It need not be open.
    ///   - lane: operations of one lane follow the pipeline's ordering among each other.
    ///   - priority: of the ready operations, those with the greatest priority start first.
    ///   - key: the key, which must not be empty. Keys of different pipelines are different.
    ///   - duration: how long the key is taken; more than zero. A further call does not prolong the time. The time ends
    ///     at `Date.distantFuture` at the latest.
    ///   - policy: what happens if an operation is queued under the key. An operation that has ended is never changed.
    ///   - notBefore: the earliest start.
    /// - Returns: the operation under the key, and whether it was there before.
    /// - Throws: ``PipelineError`` with `invalidArgument` for an empty key or pipeline, or a duration of zero or less;
    ///   the errors of ``enqueue(_:in:lane:priority:key:onDuplicate:notBefore:)-(Payload,_,_,_,_,_,_)``. Nothing has
    ///   changed then. If another context has queued an operation with the key meanwhile, the commit throws
    ///   `notUnique`. If the operation found here has freed the key meanwhile, the commit throws `conflict`.
    /// - Complexity: O(operations with the key whose time is not over).
    @discardableResult
    public func enqueue<Payload: OperationPayload>(
        _ payload: Payload,
        in pipeline: PipelineName,
        lane: String = "",
        priority: Int = 0,
        key: String,
        uniqueFor duration: Duration,
        onDuplicate policy: DuplicatePolicy = .keep,
        notBefore: Date? = nil
    ) throws -> UniqueEnqueue {
        try payload.refuseForeignItem(in: self)
        try pipeline.requireText()
        try PipelineError.require(key: key)
        try PipelineError.require(duration, "The time for which an operation is unique")
        let now = pipelineTime
        let taken = try uniqueness(of: key, in: pipeline, at: now)
        let queued = try queuedOperation(key: key, in: pipeline)
        if let taken {
            guard let queued else {
                return UniqueEnqueue(id: taken.id.counterpart(QueuedOperation.self), operation: nil, isDuplicate: true)
            }
            if policy == .keep, taken.id.rawValue == queued.id.rawValue {
                // The edit makes the commit conflict if the key is free by then. The operation may end meanwhile. One
                // edit is enough: contexts that set the same value do not conflict with each other.
                if taken.commit > 0, try !hasUnsavedChange(of: taken.id) { taken.edits += 1 }
                return UniqueEnqueue(id: queued.id, operation: queued, isDuplicate: true)
            }
        }
        let operation = try enqueue(
            payload,
            in: pipeline,
            lane: lane,
            priority: priority,
            key: key,
            onDuplicate: policy,
            notBefore: notBefore
        )
        if queued == nil {
            if operation.id.isAssigned {
                let end = now.later(by: duration.seconds)
                insert(OperationUniqueness(pipeline: pipeline, key: key, since: now, until: end), with: operation)
            } else {
                operation.problem = QueuedOperation.withoutID
            }
        }
        return UniqueEnqueue(id: operation.id, operation: operation, isDuplicate: queued != nil)
    }

    /// Queues an object itself under a key that stays taken for some time: see
    /// ``enqueue(_:in:lane:priority:key:uniqueFor:onDuplicate:notBefore:)-(Payload,_,_,_,_,_,_,_)``. An object without
    /// a context is inserted, also if no operation is queued.
    @discardableResult
    public func enqueue<Object: QueueItem>(
        _ item: Object,
        in pipeline: PipelineName,
        lane: String = "",
        priority: Int = 0,
        key: String,
        uniqueFor duration: Duration,
        onDuplicate policy: DuplicatePolicy = .keep,
        notBefore: Date? = nil
    ) throws -> UniqueEnqueue {
        try enqueue(
            QueuedItem(insert(item)),
            in: pipeline,
            lane: lane,
            priority: priority,
            key: key,
            uniqueFor: duration,
            onDuplicate: policy,
            notBefore: notBefore
        )
    }

    /// The row by which a key is taken; nil if the key is free, or only a queued operation has it.
    private func uniqueness(of key: String, in pipeline: PipelineName, at now: Date) throws -> OperationUniqueness? {
        var taken: OperationUniqueness?
        for known in try fetch(OperationUniqueness.where { $0.pipeline == pipeline && $0.key == key }) {
            // This context, or a parent, has deleted the operation. If it was committed and is gone, it may have ended.
            let operation = known.id.counterpart(QueuedOperation.self)
            let isFreed = try known.commit > 0 ? hasDeleted(operation) : find(operation) == nil
            // The clock was ahead when the operation was queued, and has been set back since.
            let isOfWrongClock = known.since > now.addingTimeInterval(OperationRepository.clockTolerance)
            if isFreed || isOfWrongClock {
                delete(known)
            } else if known.until > now {
                taken = known
            }
        }
        return taken
    }
}

extension PipelineError {
    /// Rejects an empty key.
    static func require(key: String) throws {
        if key.utf8.isEmpty {
            throw PipelineError(.invalidArgument, "The key is empty. Name what the operation is about.")
        }
    }

    /// Rejects a duration of zero or less.
    ///
    /// - Parameter subject: what the duration is, as the beginning of the message.
    static func require(_ duration: Duration, _ subject: String) throws {
        if duration <= .zero {
            throw PipelineError(.invalidArgument, "\(subject) is \(duration). It must be more than zero.")
        }
    }
}
