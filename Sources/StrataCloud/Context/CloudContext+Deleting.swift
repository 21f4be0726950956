import Strata
import StrataPipeline

extension CloudContext {
    /// Deletes a node, with everything below it: here with the context's changes, at the remote by an operation.
    ///
    /// Its marks, its conflict, and the tags under its id go with it, and so do those of everything below it.
    ///
    /// Uploads below it that are queued are left out, and those that run are cancelled. What others have put into the folder at the
    /// remote, and was not heard of here yet, stays, and with it the folder.
    ///
    /// - Throws: ``CloudError`` with `isTrunk`, `foreignNode`; what the store reports.
    /// - Complexity: O(nodes below).
    public func delete(_ node: CloudNode) throws {
        try check(node)
        guard !node.isTrunk, let parent = node.parent else {
            throw CloudError(.isTrunk, "\(node.path) is a trunk, which stays where it is.", nodes: [node.id.number])
        }
        if node.trunk != .detached {
            try queueDelete(of: node, place: .place(node.place, in: parent.id), node.ancestors)
        }
        var below: [CloudNode] = []
        try walk(node) { child, _ in
            below.append(child)
            return .proceed
        }
        let numbers = Set(([node] + below).map(\.id.number))
        for conflict in try conflicts() where numbers.contains(conflict.nodeNumber) { context.delete(conflict) }
        for node in [node] + below { try removeAllTags(of: "\(node.id)") }
        for child in below.reversed() { context.delete(child) }
        context.delete(node)
    }

    /// Queues the delete of a node that is still there, and leaves out what would send anything below it.
    func queueDelete(of node: CloudNode, place: CloudResource, _ above: [CloudNode]) throws {
        var nodes = [node]
        try walk(node) { child, _ in
            nodes.append(child)
            return .proceed
        }
        // What no commit has queued, nobody has sent; what is committed is left out by the commit, since it may be done by then.
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
            CloudWork(kind: .delete, node: node.id.number),
            reads: Set(above.map { .node($0.id) }),
            writes: [.node(node.id), .content(node.id), place]
        )
    }

    /// Whether an operation only sends what is to be deleted. Folders are needed where something is moved into them or out of them.
    private func isNeedless(_ operation: QueuedOperation, _ node: CloudNode) throws -> Bool {
        let (resource, move) = (CloudResource.node(node.id).text, CloudAccess.Role.move.rawValue)
        switch try operation.payload(as: CloudWork.self).kind {
        case .content, .copy: return true
        case .move, .delete, .message: return false
        case .record: return try !context.exists(CloudAccess.where { $0.resource == resource && $0.role == move })
        }
    }
}
