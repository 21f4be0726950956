import Strata
import StrataPipeline

extension CloudContext {
    /// Queues the operations that upload a node again, because another client has deleted it at the remote.
    ///
    /// These operations run before all operations that wait for the node to exist.
    ///
    /// - Parameter sections: the sections to upload. Those of a folder are uploaded after the folder exists.
    func requeueUpload(_ node: CloudNode, _ sections: ContentSections) throws {
        guard let parent = node.parent, node.trunk != .detached else { return }
        let place = CloudWork.Place(of: node, in: parent)
        let upload = CloudWork.content(node.id.rawValue, place, CloudWork.Upload(sections: sections))
        queue(
            node.isFolder ? .createFolder(node.id.rawValue, place) : upload,
            reads: Set(node.ancestors.map { .node($0.id) }),
            writes: [.node(node.id), .place(node.place, in: parent.id)],
            before: .node(node.id)
        )
        guard node.isFolder, !sections.isEmpty else { return }
        queue(
            upload,
            reads: Set(([node] + node.ancestors).map { .node($0.id) }),
            writes: [.content(node.id)]
        )
    }

    /// Does the same for a node and everything below it, because the remote does not have them any more.
    func requeueUpload(allOf number: Int64, _ sections: ContentSections) throws {
        let remote = try remote(number)
        let known = remote?.snapshot.sections(isEncrypted: info.isEncrypted)
        var below: [Int64: ContentSections] = [:]
        for row in try remote?.subtree().reversed() ?? [] {
            below[row.id.rawValue] = row.snapshot.sections(isEncrypted: info.isEncrypted)
            context.delete(row)
        }
        guard let node = try context.find(nodeID(number)) else { return }
        try requeueUpload(node, sections.union(known ?? (node.isFolder ? [] : .data)))
        try walk(node) { child, _ in
            try requeueUpload(child, below[child.id.rawValue] ?? (child.isFolder ? [] : .data))
            return .proceed
        }
    }
}
