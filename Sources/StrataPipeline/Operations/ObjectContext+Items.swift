public import Foundation
public import Strata

extension ObjectContext {
    /// Queues an object itself, as part of this context's changes. One that belongs to no context yet is inserted.
    ///
    /// Where the object is deleted, by whomever, its operations are skipped by that commit: those that depend on them go on, and one
    /// that runs is cancelled, unless it is done by then. An object that a parent has inserted and not committed is committed with its operation.
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
        enqueue(
            QueuedItem(insert(item)),
            in: pipeline,
            lane: lane,
            priority: priority,
            key: key,
            notBefore: notBefore
        )
    }

    /// The operations as whose item an object is queued, as this context sees it, in the order in which they were.
    ///
    /// - Throws: what the store reports.
    public func operations<Object: QueueItem>(of item: Object) throws -> [QueuedOperation] {
        // One of another store is refused.
        guard try find(item.id) != nil else { return [] }
        let number = item.id.number
        let ties = try fetch(OperationItem.where { $0.item == number })
        let operations = try find(ties.map { $0.id.counterpart(QueuedOperation.self) })
        return operations.sorted { left, right in
            (left.turn, left.id) < (right.turn, right.id)
        }
    }
}
