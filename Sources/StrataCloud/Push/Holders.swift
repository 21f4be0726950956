import Strata
import StrataPipeline
import Synchronization

/// Deletes nodes that only held what was sent, behind the last operation that has sent it.
///
/// Several of these may be done at once, and none of them sees in its own commit that the others are. So it is looked behind the commit of
/// each. What that misses, since the process ends before or somebody has left an operation out, goes when the account is opened.
final class Holders: Sendable {
    private let stack: ContextStack
    private let facts: AccountFacts
    private let looks = RepeatedTask()
    private let state = Mutex(State())

    private struct State {
        /// The nodes of operations that are about to be done.
        var sent: [Int64: Int64] = [:]
        /// The nodes of those that are done.
        var doubtful: Set<Int64> = []
    }

    init(_ stack: ContextStack, _ facts: AccountFacts) { (self.stack, self.facts) = (stack, facts) }

    /// Notes that something of a holder was sent, before the commit that says so.
    func note(sent operation: Int64, of node: Int64) { state.withLock { $0.sent[operation] = node } }

    func note(_ event: PipelineEvent) {
        guard case .finished(let id, _) = event else { return }
        let isDoubtful = state.withLock { state in
            guard let node = state.sent.removeValue(forKey: id.number) else { return false }
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
                stack.log(.info, "what holds messages that are sent stays until the account is opened again: \(error)")
            }
        }
    }

    private func forget(_ nodes: Set<Int64>) async throws {
        let facts = facts
        try await stack.overStore { context in
            let cloud = CloudContext(context, facts)
            let ids = nodes.map { cloud.nodeID($0) }
            if try cloud.forgetIdle(context.find(ids).compactMap(\.self).filter(\.isHolder)) { try context.commit() }
        }
    }

    /// Deletes all of the account of which nothing is queued any more, some at a time.
    ///
    /// - Complexity: O(holders) in one statement, and what is deleted.
    func sweep() async throws {
        let facts = facts
        while true {
            let count = try await stack.overStore { context in
                let holders = try context.fetch(CloudContext(context, facts).idleHolders().limit(Self.portion))
                for holder in holders { context.delete(holder) }
                if !holders.isEmpty { try context.commit() }
                return holders.count
            }
            if count < Self.portion { return }
        }
    }

    /// How many are deleted by one commit.
    private static let portion = 500

    /// Waits until all is deleted that can be.
    func settle() async { await looks.settle() }
}

extension CloudContext {
    /// Those in the store of which nothing is queued.
    fileprivate func idleHolders() throws -> Query<CloudNode> {
        let (folder, pipeline) = (try root(.detached).id, facts.pipeline)
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

    /// - Returns: whether any was deleted.
    fileprivate func forgetIdle(_ holders: [CloudNode]) throws -> Bool {
        let idle = try holders.filter { try !hasOperations($0.id.number) }
        for node in idle { context.delete(node) }
        return !idle.isEmpty
    }
}
