import Strata
import StrataPipeline

/// Holders: nodes that only held content for messages. They are deleted after the last message was sent.
///
/// Several messages of a holder may finish at once, and none of their commits sees the others. So the check runs after
/// the commit of each. A holder can be missed if the process ends before the check, or if the application skips an
/// operation. Such holders are deleted when the account is opened.
extension Reconciler {
    /// The operations that have sent content of holders.
    struct HolderNews {
        /// The nodes of operations that are about to finish.
        var sent: [Int64: Int64] = [:]
        /// The nodes of finished operations.
        var doubtful: Set<Int64> = []

        /// - Returns: whether a holder may be idle now.
        mutating func record(_ event: PipelineEvent) -> Bool {
            guard case .finished(let id, _) = event, let node = sent.removeValue(forKey: id.rawValue) else {
                return false
            }
            doubtful.insert(node)
            return true
        }
    }

    /// Records that content of a holder was sent, before the commit that says so.
    func record(sent operation: Int64, of node: Int64) { state.withLock { $0.holders.sent[operation] = node } }

    /// Deletes the holders of finished operations that have no other operations.
    func deleteSentHolders() async {
        let nodes = state.withLock { state in
            defer { state.holders.doubtful = [] }
            return state.holders.doubtful
        }
        if nodes.isEmpty { return }
        let info = info
        do {
            try await stack.overStore { context in
                let cloud = CloudContext(context, info)
                let ids = nodes.map { cloud.nodeID($0) }
                let holders = try context.find(ids).compactMap(\.self).filter(\.isHolder)
                if try cloud.forgetIdle(holders) { try context.commit() }
            }
        } catch {
            stack.log(.info, "content of sent messages is kept until the account is opened again: \(error)")
        }
    }

    /// Deletes all holders of the account without queued operations, a batch at a time.
    ///
    /// - Complexity: O(holders) in one statement, and O(deleted holders).
    func deleteIdleHolders() async {
        let info = info
        do {
            while true {
                let count = try await stack.overStore { context in
                    let holders = try context.fetch(CloudContext(context, info).idleHolders().limit(Self.chunkSize))
                    for holder in holders { context.delete(holder) }
                    if !holders.isEmpty { try context.commit() }
                    return holders.count
                }
                if count < Self.chunkSize { return }
            }
        } catch {
            stack.log(.info, "content of sent messages is kept until the account is opened again: \(error)")
        }
    }

    /// The number of holders that one commit deletes.
    private static let chunkSize = 500
}

extension CloudContext {
    /// The holders in the store without queued operations.
    fileprivate func idleHolders() throws -> Query<CloudNode> {
        let (folder, pipeline) = (try root(.detached).id, info.pipeline)
        return CloudNode.where {
            $0.parent == folder && $0.isHolder == true
                && .sql(
                    """
                    NOT EXISTS (SELECT 1 FROM "QueuedOperation" o \
                    WHERE o."pipeline" = \(pipeline) AND o."lane" = CAST(\($0.id) AS TEXT))
                    """
                )
        }
    }

    /// - Returns: whether any holder was deleted.
    fileprivate func forgetIdle(_ holders: [CloudNode]) throws -> Bool {
        let idle = try holders.filter { try !hasOperations($0.id.rawValue) }
        for node in idle { context.delete(node) }
        return !idle.isEmpty
    }
}
