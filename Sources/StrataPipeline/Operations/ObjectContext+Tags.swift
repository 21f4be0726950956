public import Foundation
public import Strata

extension ObjectContext {
    /// Queues an operation with tags, by which queries find it: see
    /// ``enqueue(_:in:lane:priority:key:notBefore:)-(Payload,_,_,_,_,_)``.
    ///
    /// ```swift
    /// context.enqueue(Upload(file: "a"), in: .uploads, tags: ["import", "customer 17"])
    /// try context.commit()
    /// let failed = QueuedOperation.where { $0.status == .failed && $0.hasTag("import") }
    /// ```
    ///
    /// For the other forms of `enqueue`, call ``QueuedOperation/addTags(_:)`` on the operation that they return.
    ///
    /// - Parameters:
    ///   - payload: the value that the handler receives. If it cannot be encoded, the next save throws.
    ///   - pipeline: the pipeline of the operation. It need not be open. If the name is empty, the next save throws.
    ///   - lane: operations of one lane follow the pipeline's ordering among each other.
    ///   - priority: of the ready operations, those with the greatest priority start first.
    ///   - key: unique among the queued operations of a pipeline.
    ///   - notBefore: the earliest start.
    ///   - tags: any texts. If one is the empty text, the next save throws.
    /// - Returns: the operation.
    /// - Complexity: O(tags). Each tag is one row.
    @discardableResult
    public func enqueue<Payload: OperationPayload>(
        _ payload: Payload,
        in pipeline: PipelineName,
        lane: String = "",
        priority: Int = 0,
        key: String? = nil,
        notBefore: Date? = nil,
        tags: [String]
    ) -> QueuedOperation {
        let operation = enqueue(
            payload,
            in: pipeline,
            lane: lane,
            priority: priority,
            key: key,
            notBefore: notBefore
        )
        if tags.contains(where: { $0.utf8.isEmpty }) {
            operation.problem = QueuedOperation.emptyTag
        } else if !tags.isEmpty, !operation.id.isAssigned {
            operation.problem = QueuedOperation.withoutID
        } else {
            insert(tags, of: operation.id.rawValue)
        }
        return operation
    }

    /// Queues an object itself with tags: see ``enqueue(_:in:lane:priority:key:notBefore:)-(Object,_,_,_,_,_)``. An
    /// object without a context is inserted.
    @discardableResult
    public func enqueue<Object: QueueItem>(
        _ item: Object,
        in pipeline: PipelineName,
        lane: String = "",
        priority: Int = 0,
        key: String? = nil,
        notBefore: Date? = nil,
        tags: [String]
    ) -> QueuedOperation {
        enqueue(
            QueuedItem(insert(item)),
            in: pipeline,
            lane: lane,
            priority: priority,
            key: key,
            notBefore: notBefore,
            tags: tags
        )
    }
}

extension QueuedOperation {
    /// The problem that is recorded for a tag without a text.
    fileprivate static let emptyTag = "has a tag that is the empty text. Give each tag a text"
}
