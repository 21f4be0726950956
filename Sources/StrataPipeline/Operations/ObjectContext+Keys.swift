public import Foundation
public import Strata

/// What becomes of an operation whose key another one has that is queued, waits, runs or has failed.
public enum DuplicatePolicy: Sendable, CaseIterable {
    /// The other one stands for it, as it is.
    case keep
    /// The other one gets its payload and priority, starts no earlier than this one was to, and has fresh attempts, as by
    /// ``QueuedOperation/retry()``. It keeps its id, its lane, and what it waits for besides. If it runs by the time of the commit, that attempt
    /// is cancelled and it is done once more; if it was to be skipped, or taken as done, it is not.
    case replace
}

extension ObjectContext {
    /// Queues an operation under a key, or has the one that is queued under it stand for it.
    ///
    /// ```swift
    /// try context.enqueue(Report(about: "June"), in: .reports, key: "June", ifQueued: .keep)
    /// ```
    ///
    /// - Parameters:
    ///   - payload: what it is about. One that cannot be encoded is refused: here where another operation is to take it, else by the next save.
    ///   - pipeline: where it is queued, whether that is open or not.
    ///   - lane: those of one lane follow the order of the pipeline among each other.
    ///   - priority: of operations that are ready, those of the greatest come first.
    ///   - key: no two operations with the same one are queued in a pipeline. Where another context commits one at the same moment, the later of
    ///     the two commits throws `notUnique`; where the one that was found here is done with by then, or was replaced by something else, `conflict`.
    ///   - policy: what becomes of it where there is one.
    ///   - notBefore: when it may start at the earliest.
    /// - Returns: the operation that is queued under the key.
    /// - Throws: ``Strata/StrataError`` with `foreignID` for an item of another store; what encoding throws, and the store reports. Nothing is
    ///   queued or replaced then.
    @discardableResult
    public func enqueue<Payload: OperationPayload>(
        _ payload: Payload,
        in pipeline: PipelineName,
        lane: String = "",
        priority: Int = 0,
        key: String,
        ifQueued policy: DuplicatePolicy,
        notBefore: Date? = nil
    ) throws -> QueuedOperation {
        try payload.refuseForeignItem(in: self)
        if let queued = try first(.of(key, in: pipeline)), state[EndingOperation.self]?.isEnding(queued) != true {
            switch policy {
            // Where it is done with by the time of the commit, that is a conflict.
            case .keep: if queued.commit > 0 { queued.edits += 1 }
            case .replace: try queued.become(payload, priority, notBefore, self)
            }
            return queued
        }
        return enqueue(payload, in: pipeline, lane: lane, priority: priority, key: key, notBefore: notBefore)
    }

    /// Queues an object itself under a key, or has the operation that is queued under it stand for it: see
    /// ``enqueue(_:in:lane:priority:key:ifQueued:notBefore:)-(Payload,_,_,_,_,_,_)``. The object is inserted, if it was not before.
    @discardableResult
    public func enqueue<Object: QueueItem>(
        _ item: Object,
        in pipeline: PipelineName,
        lane: String = "",
        priority: Int = 0,
        key: String,
        ifQueued policy: DuplicatePolicy,
        notBefore: Date? = nil
    ) throws -> QueuedOperation {
        try enqueue(
            QueuedItem(insert(item)),
            in: pipeline,
            lane: lane,
            priority: priority,
            key: key,
            ifQueued: policy,
            notBefore: notBefore
        )
    }

    /// Lets go of a key that the operation has which is done with this context's commit.
    func release(_ key: String, in pipeline: PipelineName) {
        guard let ending = state[EndingOperation.self], ending.key.hasSameBytes(as: key), ending.pipeline == pipeline
        else { return }
        // Where it cannot be read, neither can what the commit is to write.
        guard let operation = try? find(ending.id), operation.key.hasSameBytes(as: key), ending.isEnding(operation)
        else { return }
        operation.key = nil
        ending.releasedKey = key
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
        self.priority = priority
        // Whatever it is by the time of the commit, and whatever was to become of it.
        if commit > 0 { request = .retry }
    }
}

/// The operation that is done with the commit of a context.
enum EndingOperation: ContextStateKey {
    final class Value {
        let id: ObjectID<QueuedOperation>
        let pipeline: PipelineName
        let key: String?
        /// Its key, where another operation is queued under that by the same commit.
        var releasedKey: String?

        init(_ id: ObjectID<QueuedOperation>, _ operation: ClaimedOperation) {
            (self.id, pipeline, key) = (id, operation.pipeline, operation.key)
        }

        /// Whether an operation is this one, and nobody wants it to be done once more.
        func isEnding(_ operation: QueuedOperation) -> Bool { operation.id == id && operation.request != .retry }
    }
}

extension Query where Object == QueuedOperation {
    fileprivate static func of(_ key: String, in pipeline: PipelineName) -> Self {
        QueuedOperation.where { $0.pipeline == pipeline && $0.key == key }
    }
}
