import Strata
import StrataPipeline
import Synchronization

/// Deletes holders: nodes that only held content for messages, after the last message was sent.
///
/// Several messages of a holder may finish at once, and none of their commits sees the others. So the check runs after
/// the commit of each. A holder can be missed if the process ends before the check, or if the application skips an
/// operation. Such holders are deleted when the account is opened.
final class MessageHolderReconciler: Sendable {
    private let stack: ContextStack
    private let info: AccountInfo
    private let looks = RepeatedTask()
    private let state = Mutex(State())

    private struct State {
        /// The nodes of operations that are about to finish.
        var sent: [Int64: Int64] = [:]
        /// The nodes of finished operations.
        var doubtful: Set<Int64> = []
    }

    init(_ stack: ContextStack, _ info: AccountInfo) { (self.stack, self.info) = (stack, info) }

    /// Records that content of a holder was sent, before the commit that says so.
    func record(sent operation: Int64, of node: Int64) { state.withLock { $0.sent[operation] = node } }

    func handle(_ event: PipelineEvent) {
        guard case .finished(let id, _) = event else { return }
        let isDoubtful = state.withLock { state in
            guard let node = state.sent.removeValue(forKey: id.rawValue) else { return false }
            state.doubtful.insert(node)
            return true
        }
        guard isDoubtful else { return }
        looks.ask { [self] in
            let nodes = state.withLock { state in
                defer { state.doubtful = [] }
                return state.doubtful
            }
            do { try await forget(nodes) } catch {
                stack.log(.info, "content of sent messages is kept until the account is opened again: \(error)")
            }
        }
    }

    private func forget(_ nodes: Set<Int64>) async throws {
        let info = info
        try await stack.overStore { context in
            let cloud = CloudContext(context, info)
            let ids = nodes.map { cloud.nodeID($0) }
            if try cloud.forgetIdle(context.find(ids).compactMap(\.self).filter(\.isHolder)) { try context.commit() }
        }
    }

    /// Deletes all holders of the account without queued operations, a batch at a time.
    ///
    /// - Complexity: O(holders) in one statement, and O(deleted holders).
    func sweep() async throws {
        let info = info
        while true {
            let count = try await stack.overStore { context in
                let holders = try context.fetch(CloudContext(context, info).idleHolders().limit(Self.chunkSize))
                for holder in holders { context.delete(holder) }
                if !holders.isEmpty { try context.commit() }
                return holders.count
            }
            if count < Self.chunkSize { return }
        }
    }

    /// The number of holders that one commit deletes.
    private static let chunkSize = 500

    /// Waits until all idle holders are deleted.
    func waitUntilIdle() async { await looks.waitUntilIdle() }
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
