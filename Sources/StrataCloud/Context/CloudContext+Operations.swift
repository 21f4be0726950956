import Strata
public import StrataPipeline

extension CloudContext {
    /// The queued operations of a node, as this context shows them.
    ///
    /// - Complexity: O(operations of the node).
    public func operations(for node: CloudNode) throws -> [QueuedOperation] {
        try context.fetch(queued(for: node.id.rawValue))
    }

    /// The operations of this account that have failed permanently, in the order in which they were queued, as this
    /// context shows them.
    ///
    /// Failed operations are kept, with their errors, until they are retried or skipped. Their dependents wait.
    ///
    /// - Complexity: O(operations that have failed), and O(k log k) for sorting k of them.
    public func failedOperations() throws -> [QueuedOperation] { try context.fetch(failed).sorted { $0.id < $1.id } }

    var failed: Query<QueuedOperation> {
        let pipeline = info.pipeline
        return QueuedOperation.where { $0.pipeline == pipeline && $0.status == .failed }
    }

    /// The node that an operation belongs to: the operation creates, uploads, moves or deletes it at the remote, or
    /// sends it to other accounts.
    ///
    /// - Returns: nil if the operation belongs to another account or pipeline, or if the node is deleted.
    /// - Throws: `StrataError` if the store or the operation's payload cannot be read.
    /// - Complexity: O(1).
    public func node(for operation: QueuedOperation) throws -> CloudNode? {
        guard operation.pipeline == info.pipeline else { return nil }
        let number = try operation.payload(as: CloudWork.self).node
        return try context.find(nodeID(number))
    }

    /// Whether operations are queued for a node. The node may be deleted already.
    func hasOperations(_ number: Int64) throws -> Bool { try context.exists(queued(for: number)) }

    func queued(for number: Int64) -> Query<QueuedOperation> {
        let (pipeline, lane) = (info.pipeline, String(number))
        return QueuedOperation.where { $0.pipeline == pipeline && $0.lane == lane }
    }
}
