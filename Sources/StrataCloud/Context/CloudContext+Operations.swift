import Strata
public import StrataPipeline

extension CloudContext {
    /// The operations that are queued for a node, as this context shows them.
    ///
    /// - Complexity: O(operations of the node).
    public func operations(for node: CloudNode) throws -> [QueuedOperation] {
        try context.fetch(queued(for: node.id.number))
    }

    /// The operations of this account that have failed for good, in the order in which they were queued, as this context shows them. They
    /// are kept, with their errors, until they are tried again or left out; what depends on them waits.
    ///
    /// - Complexity: O(operations that have failed, and k log k of these for their order).
    public func failedOperations() throws -> [QueuedOperation] { try context.fetch(failed).sorted { $0.id < $1.id } }

    var failed: Query<QueuedOperation> {
        let pipeline = facts.pipeline
        return QueuedOperation.where { $0.pipeline == pipeline && $0.status == .failed }
    }

    /// The node that an operation is queued for: that which is made, sent, moved or deleted at the remote, or sent to others.
    ///
    /// - Returns: nil where the operation is of another account or pipeline, and where the node is deleted by now.
    /// - Throws: ``StrataError`` where the store or the operation's payload cannot be read.
    /// - Complexity: O(1).
    public func node(for operation: QueuedOperation) throws -> CloudNode? {
        guard operation.pipeline == facts.pipeline else { return nil }
        let number = try operation.payload(as: CloudWork.self).node
        return try context.find(nodeID(number))
    }

    /// Whether any are queued for a node, which may be deleted by now.
    func hasOperations(_ number: Int64) throws -> Bool { try context.exists(queued(for: number)) }

    func queued(for number: Int64) -> Query<QueuedOperation> {
        let (pipeline, lane) = (facts.pipeline, String(number))
        return QueuedOperation.where { $0.pipeline == pipeline && $0.lane == lane }
    }
}
