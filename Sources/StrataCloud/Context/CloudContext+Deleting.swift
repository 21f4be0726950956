import Strata
import StrataPipeline

extension CloudContext {
    /// Deletes a node and everything below it.
    ///
    /// The delete is one of the context's changes here, and an operation deletes the node at the remote.
    ///
    /// The marks, the conflict, and the tags of the node's id are deleted too, and so are those of all nodes below it.
    ///
    /// Queued uploads of these nodes are skipped, and running uploads are cancelled. Files that other clients have put
    /// into the folder at the remote, and that are not known here yet, stay there. The folder then stays as well.
    ///
    /// - Throws: ``CloudError`` with `isTrunk`, `foreignNode`; the errors of the store.
    /// - Complexity: O(nodes below).
    public func delete(_ node: CloudNode) throws {
        try check(node)
        guard !node.isTrunk, let parent = node.parent else {
            throw CloudError(.isTrunk, "\(node.path) is a trunk, which cannot be deleted.", nodes: [node.id.rawValue])
        }
        if node.trunk != .detached {
            try queueDelete(of: node, place: .place(node.place, in: parent.id), node.ancestors)
        }
        var below: [CloudNode] = []
        try walk(node) { child, _ in
            below.append(child)
            return .proceed
        }
        let numbers = Set(([node] + below).map(\.id.rawValue))
        for conflict in try conflicts() where numbers.contains(conflict.nodeNumber) { context.delete(conflict) }
        for node in [node] + below { try removeAllTags(of: "\(node.id)") }
        for child in below.reversed() { context.delete(child) }
        context.delete(node)
    }

    /// Queues the delete of a node that still exists, and skips the uploads of the nodes below it.
    func queueDelete(of node: CloudNode, place: CloudResource, _ above: [CloudNode]) throws {
        var nodes = [node]
        try walk(node) { child, _ in
            nodes.append(child)
            return .proceed
        }
        // Uncommitted operations have not started, so they are skipped here. Committed ones may have finished before
        // this commit, so the commit itself skips them.
        var isUnknown = true
        for node in nodes {
            if node.remote != nil { isUnknown = false }
            for operation in try operations(for: node) {
                guard operation.commit <= 0, try isNeedless(operation, node) else {
                    isUnknown = false
                    continue
                }
                operation.skip()
            }
        }
        if isUnknown { return }
        queue(
            .delete(node.id.rawValue),
            reads: Set(above.map { .node($0.id) }),
            writes: [.node(node.id), .content(node.id), place]
        )
    }

    /// Whether an operation only uploads a node that is being deleted.
    ///
    /// A folder is still created if a queued operation moves a node into the folder or out of it.
    private func isNeedless(_ operation: QueuedOperation, _ node: CloudNode) throws -> Bool {
        let (resource, move) = (CloudResource.node(node.id).text, ResourceAccess.Role.move.rawValue)
        switch try operation.payload(as: CloudWork.self) {
        case .content, .copy: return true
        case .move, .delete, .message: return false
        case .createFolder:
            return try !context.exists(ResourceAccess.where { $0.resource == resource && $0.role == move })
        }
    }
}
