public import Foundation
public import Strata

/// What happens to a new operation if its key is taken by another operation that is pending, waiting, running or
/// failed.
public enum DuplicatePolicy: Sendable, CaseIterable {
    /// The other operation is kept unchanged and takes the new one's place.
    case keep
    /// The other operation receives the new payload and priority, starts no earlier than the new one would, and has its
    /// attempts reset, as ``QueuedOperation/retry()`` does. It no longer expires, because its expiry was that of the
    /// earlier payload: ``QueuedOperation/setOptions(_:)`` sets another one. It keeps its id, its lane, its tags, its
    /// other options, and its other holds and dependencies. If it runs at the time of the commit, its attempt is
    /// cancelled and the operation runs once more. A pending request to skip or complete it is withdrawn.
    case replace
}

extension ObjectContext {
    /// Queues an operation under a key, or reuses the operation that is already queued under this key.
    ///
    /// ```swift
    /// try context.enqueue(Report(about: "June"), in: .reports, key: "June", onDuplicate: .keep)
    /// ```
    ///
    /// - Parameters:
    ///   - payload: the value that the handler receives. If it cannot be encoded, this call throws when it replaces
    ///     another operation's payload; otherwise the next save throws.
    ///   - pipeline: the pipeline of the operation. It need not be open.
    ///   - lane: operations of one lane follow the pipeline's ordering among each other.
    ///   - priority: of the ready operations, those with the greatest priority start first.
    ///   - key: unique among the queued operations of a pipeline. If another context commits an operation with this key
    ///     at the same moment, the later of the two commits throws `notUnique`. If the operation found here is finished
    ///     or replaced by that time, the commit throws `conflict`.
    ///   - policy: what happens if the key is taken.
    ///   - notBefore: the earliest start.
    /// - Returns: the operation that is queued under the key.
    /// - Throws: ``PipelineError`` with `invalidArgument` for an empty key; `StrataError` with `idOfOtherStore` for an
    ///   item of another store; encoding errors; the store's errors. In these cases nothing is queued or replaced.
    @discardableResult
    public func enqueue<Payload: OperationPayload>(
        _ payload: Payload,
        in pipeline: PipelineName,
        lane: String = "",
        priority: Int = 0,
        key: String,
        onDuplicate policy: DuplicatePolicy,
        notBefore: Date? = nil
    ) throws -> QueuedOperation {
        try payload.refuseForeignItem(in: self)
        try PipelineError.require(key: key)
        if let queued = try queuedOperation(key: key, in: pipeline) {
            switch policy {
            // The edit makes the commit conflict if the operation is finished by then.
            case .keep: if queued.commit > 0 { queued.edits += 1 }
            case .replace: try queued.become(payload, priority, notBefore, self)
            }
            return queued
        }
        return enqueue(payload, in: pipeline, lane: lane, priority: priority, key: key, notBefore: notBefore)
    }

    /// Queues an object itself under a key, or reuses the operation that is already queued under this key: see
    /// ``enqueue(_:in:lane:priority:key:onDuplicate:notBefore:)-(Payload,_,_,_,_,_,_)``. An object without a context is
    /// inserted.
    @discardableResult
    public func enqueue<Object: QueueItem>(
        _ item: Object,
        in pipeline: PipelineName,
        lane: String = "",
        priority: Int = 0,
        key: String,
        onDuplicate policy: DuplicatePolicy,
        notBefore: Date? = nil
    ) throws -> QueuedOperation {
        try enqueue(
            QueuedItem(insert(item)),
            in: pipeline,
            lane: lane,
            priority: priority,
            key: key,
            onDuplicate: policy,
            notBefore: notBefore
        )
    }

    /// The operation that is queued under a key, unless this context's commit completes it.
    func queuedOperation(key: String, in pipeline: PipelineName) throws -> QueuedOperation? {
        guard let queued = try first(.of(key, in: pipeline)),
            state[CompletingOperation.self]?.isCompleting(queued) != true
        else { return nil }
        return queued
    }

    /// Frees the key of the operation that this context's commit completes, so that the same commit can queue another
    /// operation under the key.
    func release(_ key: String, in pipeline: PipelineName) {
        guard let completing = state[CompletingOperation.self], completing.key.hasSameBytes(as: key),
            completing.pipeline == pipeline
        else { return }
        // If the operation cannot be read, the commit cannot be written either, and reports the error.
        guard let operation = try? find(completing.id), operation.key.hasSameBytes(as: key),
            completing.isCompleting(operation)
        else { return }
        operation.key = nil
        completing.releasedKey = key
    }
}

extension QueuedOperation {
    fileprivate func become<Payload: OperationPayload>(
        _ payload: Payload,
        _ priority: Int,
        _ notBefore: Date?,
        _ context: ObjectContext
    ) throws {
        try setPayload(payload)
        try setHold(HoldName.start, until: notBefore, in: context)
        if let settings = try context.first(.of(operation: id.rawValue)) { settings.endExpiry() }
        self.priority = priority
        // The retry applies whatever the operation's status is at the time of the commit, and replaces an earlier
        // request.
        if commit > 0 { request = .retry }
    }
}

/// The operation that a context's commit completes.
enum CompletingOperation: ContextStateKey {
    final class Value {
        let id: ObjectID<QueuedOperation>
        let pipeline: PipelineName
        let key: String?
        /// The operation's key, if the same commit queues another operation under it.
        var releasedKey: String?

        init(_ id: ObjectID<QueuedOperation>, _ operation: ClaimedOperation) {
            (self.id, pipeline, key) = (id, operation.pipeline, operation.key)
        }

        /// Whether an operation is the completing one, and no retry of it is requested.
        func isCompleting(_ operation: QueuedOperation) -> Bool { operation.id == id && operation.request != .retry }
    }
}

extension Query where Object == QueuedOperation {
    fileprivate static func of(_ key: String, in pipeline: PipelineName) -> Self {
        QueuedOperation.where { $0.pipeline == pipeline && $0.key == key }
    }
}
