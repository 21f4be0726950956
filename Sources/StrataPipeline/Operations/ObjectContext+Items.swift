public import Foundation
public import Strata

extension ObjectContext {
    /// Queues an object itself, as part of this context's changes. An object without a context is inserted.
    ///
    /// When the object is deleted, by any code, the same commit skips its operations. Their dependants continue, and a
    /// running operation is cancelled unless it is done by then. If a parent context has inserted the object and not
    /// committed it, the object is committed with its operation.
    ///
    /// - Parameters:
    ///   - item: the object.
    ///   - pipeline: the pipeline of the operation. It need not be open.
    ///   - lane: operations of one lane follow the pipeline's ordering among each other.
    ///   - priority: of the ready operations, those with the greatest priority start first.
    ///   - key: unique among the queued operations of a pipeline. A commit that would add a second operation with the
    ///     key throws `notUnique`.
    ///   - notBefore: the earliest start.
    ///   - options: options that replace those of the pipeline, for this operation only. If one is out of its bounds,
    ///     the next save throws.
    ///   - tags: texts by which queries find the operation. If one is the empty text, the next save throws.
    /// - Returns: the operation. An object may be queued several times; each time adds an operation.
    @discardableResult
    public func enqueue<Object: QueueItem>(
        _ item: Object,
        in pipeline: PipelineName,
        lane: String = "",
        priority: Int = 0,
        key: String? = nil,
        notBefore: Date? = nil,
        options: OperationOptions = OperationOptions(),
        tags: [String] = []
    ) -> QueuedOperation {
        enqueue(
            QueuedItem(insert(item)),
            in: pipeline,
            lane: lane,
            priority: priority,
            key: key,
            notBefore: notBefore,
            options: options,
            tags: tags
        )
    }

    /// The queued operations of an object, as this context sees them, in the order in which they were queued.
    ///
    /// - Throws: the store's errors.
    public func operations<Object: QueueItem>(of item: Object) throws -> [QueuedOperation] {
        // `find` throws for an object of another store.
        guard try find(item.id) != nil else { return [] }
        let number = item.id.rawValue
        let ties = try fetch(OperationItem.where { $0.item == number })
        let operations = try find(ties.map { $0.id.counterpart(QueuedOperation.self) })
        return operations.sorted { left, right in
            (left.positionCommit, left.id) < (right.positionCommit, right.id)
        }
    }
}
