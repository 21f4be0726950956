public import Foundation
public import Strata

extension ObjectContext {
    /// Queues an operation, as part of this context's changes. The operation starts after the commit that holds it has
    /// reached the store.
    ///
    /// ```swift
    /// let invoice = context.insert(Invoice(number: 17))
    /// context.enqueue(Upload(file: invoice.file), in: .uploads, priority: 5, tags: ["import"])
    /// try context.commit()
    /// ```
    ///
    /// - Parameters:
    ///   - payload: the value that the handler receives. If it cannot be encoded, the next save throws. Its type is not
    ///     compared with the pipeline's handlers, because another process or a later release may run the operation. A
    ///     runner with ``PayloadHandlers`` leaves types that it does not handle in the queue. A runner with one handler
    ///     fails them with `undecodablePayload`.
    ///   - pipeline: the pipeline of the operation. It need not be open. If the name is empty, the next save throws.
    ///   - lane: operations of one lane follow the pipeline's ordering among each other.
    ///   - priority: of the ready operations, those with the greatest priority start first.
    ///   - key: unique among the queued operations of a pipeline. A commit that would add a second operation with the
    ///     key throws `notUnique`. If the key is the empty text, the next save throws.
    ///     ``enqueue(_:in:lane:priority:key:onDuplicate:notBefore:)-(Payload,_,_,_,_,_,_)`` has other ways to treat
    ///     duplicates.
    ///   - notBefore: the earliest start.
    ///   - options: options that replace those of the pipeline, for this operation only. If one is out of the bounds
    ///     that apply to those of a pipeline, the next save throws. See ``QueuedOperation/setOptions(_:)`` for an
    ///     operation that another call has queued.
    ///   - tags: texts by which queries find the operation. If one is the empty text, the next save throws. For the
    ///     other forms of `enqueue`, call ``QueuedOperation/addTags(_:)`` on the operation that they return.
    /// - Returns: the operation. It may be changed like any object until the commit, and by separate commits
    ///   afterwards.
    /// - Complexity: O(tags). Each tag is one row, and the options are another one. Without them, nothing is stored.
    @discardableResult
    public func enqueue<Payload: OperationPayload>(
        _ payload: Payload,
        in pipeline: PipelineName,
        lane: String = "",
        priority: Int = 0,
        key: String? = nil,
        notBefore: Date? = nil,
        options: OperationOptions = OperationOptions(),
        tags: [String] = []
    ) -> QueuedOperation {
        if let key { release(key, in: pipeline) }
        let operation = insert(QueuedOperation.make(payload, in: pipeline, lane, priority, key))
        operation.isMadeHere = true
        if let notBefore {
            insert(OperationHold(operation: operation.id.rawValue, name: HoldName.start, until: notBefore))
            if !operation.id.isAssigned { operation.problem = QueuedOperation.withoutID }
        }
        if let item = payload._itemNumber { operation.tie(to: item, of: payload, in: self) }
        if !options.isEmpty { operation.addFirstOptions(options, in: self) }
        if !tags.isEmpty { operation.addFirstTags(tags, in: self) }
        operation.storeTrace(in: self)
        return operation
    }

    /// Queues an operation under an id from `ContextStack.newID(for:)`. Other operations may have declared a
    /// dependency on this id before.
    ///
    /// - Returns: nil if an operation of this id is queued or finished; nothing has changed then.
    /// - Throws: ``PipelineError`` with `invalidArgument` for an empty key; `StrataError` with `idOfOtherStore` for an
    ///   id, or an item, of another store; the store's errors.
    public func enqueue<Payload: OperationPayload>(
        _ payload: Payload,
        as id: ObjectID<QueuedOperation>,
        in pipeline: PipelineName,
        lane: String = "",
        priority: Int = 0,
        key: String? = nil
    ) throws -> QueuedOperation? {
        try payload.refuseForeignItem(in: self)
        if let key { try PipelineError.require(key: key) }
        guard try finishedOperation(id) == nil else { return nil }
        let operation = try insert(QueuedOperation.make(payload, in: pipeline, lane, priority, key), as: id)
        if operation != nil, let key { release(key, in: pipeline) }
        if let item = payload._itemNumber { operation?.tie(to: item, of: payload, in: self) }
        operation?.storeTrace(in: self)
        return operation
    }
}

extension QueuedOperation {
    /// The problem that is recorded for a payload that cannot be encoded.
    static let notEncoded = "cannot be encoded"

    /// The beginning of the problems that are recorded for an object to which the operation cannot be tied.
    static let unfitItem = "is about an object"

    /// The problem that is reported for an operation without the name of a pipeline.
    static let emptyPipeline = "is empty, so brokers could not find the operation. Name a pipeline"

    /// The problem that is recorded for an empty key.
    static let emptyKey = "is empty. Name what the operation is about, or leave out the key"

    /// The problem that is recorded if other rows must refer to the operation, and it has no id.
    static let withoutID =
        "could not get an id from the store, so it cannot have items, options, tags or dependencies. Roll it back, and "
        + "queue it again"

    /// Ties the operation to an object. When the object is deleted, the operation is removed as well.
    func tie(to item: Int64, of payload: some OperationPayload, in context: ObjectContext) {
        if !id.isAssigned {
            problem = Self.withoutID
        } else if (try? payload.refuseForeignItem(in: context)) == nil {
            reportPayload("\(Self.unfitItem) of another store. Queue it in a context of that store")
        } else if item == 0 {
            reportPayload("\(Self.unfitItem) that has no id. Insert the object first")
        } else {
            context.insert(OperationItem(item: item), with: self)
        }
    }

    /// Whether a problem ends when the operation gets another payload.
    static func isOfPayload(_ problem: String) -> Bool {
        problem.hasBytePrefix(notEncoded) || problem.hasBytePrefix(unfitItem)
    }

    /// Records a problem of the payload. Another problem stays, because it does not end with the payload.
    private func reportPayload(_ text: String) {
        if problem.map(Self.isOfPayload) ?? true { problem = text }
    }

    fileprivate static func make<Payload: OperationPayload>(
        _ payload: Payload,
        in pipeline: PipelineName,
        _ lane: String,
        _ priority: Int,
        _ key: String?
    ) -> QueuedOperation {
        var data = Data()
        var problem: String?
        do {
            data = try StoredJSON.encoder.encode(payload)
        } catch {
            problem = "\(notEncoded): \(error)"
        }
        if let key, key.utf8.isEmpty { problem = emptyKey }
        if pipeline.isEmpty { problem = emptyPipeline }
        return QueuedOperation(
            pipeline: pipeline,
            type: Payload.operationType,
            payload: data,
            payloadVersion: Payload.payloadVersion,
            lane: lane,
            priority: priority,
            key: key,
            problem: problem
        )
    }
}
