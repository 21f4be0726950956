import Strata
import StrataPipeline

extension CloudContext {
    /// Queues the operations that upload a node again, because another client has deleted it at the remote.
    ///
    /// These operations run before all operations that wait for the node to exist.
    ///
    /// - Parameter sections: the sections to upload. Those of a folder are uploaded after the folder exists.
    func sendAnew(_ node: CloudNode, _ sections: ContentSections) throws {
        guard let parent = node.parent, node.trunk != .detached else { return }
        queue(
            node.isFolder ? .record(of: node, in: parent) : .content(of: node, in: parent, sections),
            reads: Set(node.ancestors.map { .node($0.id) }),
            writes: [.node(node.id), .place(node.place, in: parent.id)],
            before: .node(node.id)
        )
        guard node.isFolder, !sections.isEmpty else { return }
        queue(
            .content(of: node, in: parent, sections),
            reads: Set(([node] + node.ancestors).map { .node($0.id) }),
            writes: [.content(node.id)]
        )
    }

    /// Does the same for a node and everything below it, because the remote does not have them any more.
    func sendAnew(allOf number: Int64, _ sections: ContentSections) throws {
        let remote = try remote(number)
        let known = remote?.snapshot.sections(isSealed: facts.isSealed)
        var below: [Int64: ContentSections] = [:]
        for row in try remote?.subtree().reversed() ?? [] {
            below[row.id.number] = row.snapshot.sections(isSealed: facts.isSealed)
            context.delete(row)
        }
        guard let node = try context.find(nodeID(number)) else { return }
        try sendAnew(node, sections.union(known ?? (node.isFolder ? [] : .data)))
        try walk(node) { child, _ in
            try sendAnew(child, below[child.id.number] ?? (child.isFolder ? [] : .data))
            return .proceed
        }
    }
}
