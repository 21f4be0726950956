import Strata

/// One node of an account's tree with a part of its children, for people who look into a store.
package struct FolderListing: Sendable {
    /// A folder above the node, or a trunk.
    package struct Place: Sendable {
        /// The number of the node's id.
        package let id: Int64
        /// The name; for a trunk, the trunk's name.
        package let name: String
    }

    /// The node itself.
    package let node: TreeListing.Entry
    /// The folders above the node, the trunk first.
    package let ancestors: [Place]
    /// The trunks of the account.
    package let trunks: [Place]
    /// The children in the order of their normalized names.
    package let children: [TreeListing.Entry]
    /// The normalized name of the last child, from which the next part continues; nil if the part is the last one.
    package let next: String?
}

extension CloudContext {
    /// Lists a node and some of its children.
    ///
    /// - Parameters:
    ///   - number: the number of the node's id; nil for the trunk `home`.
    ///   - place: the normalized name after which the children begin; nil for the first ones.
    ///   - limit: the greatest number of children.
    /// - Throws: ``CloudError`` with `noSuchNode` if the account does not have the node, and with `noSuchFolder` if the
    ///   folders above it do not lead to a trunk; errors of the store.
    /// - Complexity: one query for the children, one for each folder in them, and four for all nodes together.
    package func folderListing(of number: Int64?, after place: String?, limit: Int) throws -> FolderListing {
        let node = try number.map { try listedNode($0) } ?? root()
        let above = try listedAncestors(of: node)
        let trunk = above.last ?? node
        let path = TreePath(([node] + above).dropLast().map(\.name).reversed(), in: trunk.trunk)
        let folder = node.id
        var query = CloudNode.where { $0.parent == folder }
        if let place { query = query.where { $0.place > place } }
        let found = try context.fetch(query.sorted { $0.place }.limit(limit + 1))
        let shown = found.prefix(limit)
        let children = shown.map { (node: $0, path: path.appending($0.name), depth: 1) }
        let entries = try entries(for: [(node: node, path: path, depth: 0)] + children, depth: 1)
        guard let first = entries.first else { throw missing(node.id.rawValue) }
        return FolderListing(
            node: first,
            ancestors: above.reversed().map { FolderListing.Place(id: $0.id.rawValue, name: $0.name) },
            trunks: Trunk.allCases.compactMap { trunk in
                info.trunks[trunk].map { FolderListing.Place(id: $0.rawValue, name: trunk.rawValue) }
            },
            children: Array(entries.dropFirst()),
            next: found.count > limit ? shown.last?.place : nil
        )
    }

    private func listedNode(_ number: Int64) throws -> CloudNode {
        guard let node = try context.find(nodeID(number)), node.account.hasSameBytes(as: account) else {
            throw missing(number)
        }
        return node
    }

    /// The nodes above a node: the nearest first, the trunk last.
    private func listedAncestors(of node: CloudNode) throws -> [CloudNode] {
        let ancestors = node.ancestors
        guard (ancestors.last ?? node).isTrunk else {
            throw CloudError(
                .noSuchFolder,
                "The folders above the node \(node.id.rawValue) do not lead to a trunk. The store may be damaged: run "
                    + "`strata check`.",
                nodes: [node.id.rawValue]
            )
        }
        return ancestors
    }

    private func missing(_ number: Int64) -> CloudError {
        CloudError(.noSuchNode, "The account '\(account)' does not have the node \(number).", nodes: [number])
    }

    /// The path of a node; nil if it was deleted, or if its place in the tree is unknown.
    func listedPath(of number: Int64) throws -> TreePath? {
        guard let node = try context.find(nodeID(number)), let above = try? listedAncestors(of: node) else {
            return nil
        }
        let trunk = above.last ?? node
        return TreePath(([node] + above).dropLast().map(\.name).reversed(), in: trunk.trunk)
    }
}
