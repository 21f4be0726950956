public import Foundation
public import Strata

extension ObjectContext {
    /// Queues an object itself, as part of this context's changes. One that belongs to no context yet is inserted.
    ///
    /// Where the object is deleted, by whomever, its operations are skipped from that commit on: those that depend on them go on, and one
    /// that runs is cancelled, unless it is done by then.
    ///
    /// - Parameters:
    ///   - item: the object.
    ///   - pipeline: where it is queued, whether that is open or not.
    ///   - lane: those of one lane follow the order of the pipeline among each other.
    ///   - priority: of operations that are ready, those of the greatest come first.
    ///   - key: no two operations with the same one are queued in a pipeline; a commit that would add a second one throws `notUnique`.
    ///   - notBefore: when it may start at the earliest.
    /// - Returns: the operation. An object may be queued several times, each time as another one.
    @discardableResult
    public func enqueue<Object: QueueItem>(
        _ item: Object,
        in pipeline: PipelineName,
        lane: String = "",
        priority: Int = 0,
        key: String? = nil,
        notBefore: Date? = nil
    ) -> QueuedOperation {
        insert(item)
        let payload = QueuedItem(id: item.id)
        let operation = enqueue(
            payload,
            in: pipeline,
            lane: lane,
            priority: priority,
            key: key,
            notBefore: notBefore
        )
        // Where it is not, the next save says why.
        if operation.id.isAssigned { insert(OperationItem(item: item.id.number), with: operation) }
        return operation
    }

    /// The operations as whose item an object is queued, in the order in which they were.
    ///
    /// - Throws: what the store reports.
    public func operations<Object: QueueItem>(of item: Object) throws -> [QueuedOperation] {
        let number = item.id.number
        let links = try fetch(OperationItem.where { $0.item == number }.sorted { $0.id.ascending })
        return try find(links.map { $0.id.counterpart(QueuedOperation.self) })
    }
}
