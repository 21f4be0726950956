import Strata

extension CloudContext {
    /// Moves a node, with everything below it.
    ///
    /// - Parameters:
    ///   - node: the node to move.
    ///   - path: the destination, which ends with the new name. Missing folders above it are created.
    /// - Throws: ``CloudError`` with `pathOccupied`, `cyclicMove`, `isTrunk`, `foreignNode`, `invalidName`,
    ///   `invalidPath`; the errors of the store.
    /// - Complexity: O(depth); O(nodes below) if the trunk changes.
    public func move(_ node: CloudNode, to path: TreePath) throws {
        try checkMovable(node)
        let name = try lastName(of: path)
        // The check comes before the creation of any folder.
        guard try !(path.names.count > 0 && isAbove(node, path)) else {
            throw CloudError(
                .cyclicMove,
                "\(node.path) cannot be moved to \(path), which lies below it.",
                nodes: [node.id.rawValue]
            )
        }
        try move(node, into: folder(at: path.parent), as: name)
    }

    /// Gives a node another name in the same folder.
    ///
    /// - Throws: as ``move(_:to:)``.
    public func rename(_ node: CloudNode, to name: String) throws {
        try checkMovable(node)
        guard let parent = node.parent else { return }
        try move(node, into: parent, as: name)
    }

    /// Moves a node into a folder.
    ///
    /// - Parameters:
    ///   - node: the node to move.
    ///   - folder: the destination.
    ///   - name: its name in the folder; by default its current name.
    /// - Throws: as ``move(_:to:)``.
    public func move(_ node: CloudNode, into folder: CloudNode, as name: String? = nil) throws {
        try checkMovable(node)
        let name = name ?? node.name
        try checkPlace(name, in: folder, for: node)
        guard folder !== node, !folder.ancestors.contains(where: { $0 === node }) else {
            throw CloudError(.cyclicMove, "\(node.path) cannot be moved below itself.", nodes: [node.id.rawValue])
        }
        guard let parent = node.parent, parent !== folder || !name.hasSameBytes(as: node.name) else { return }
        try makeFolder(of: folder)
        let (place, above) = (CloudResource.place(node.place, in: parent.id), node.ancestors)
        let wasDetached = node.trunk == .detached
        (node.parent, node.name, node.place) = (folder, name, info.rule.normalized(name))
        if node.trunk != folder.trunk { try setTrunk(folder.trunk, of: node) }
        if wasDetached || node.trunk == .detached {
            return try moveDetached(node, wasDetached, from: place, above)
        }
        queue(
            .move(node.id.rawValue, CloudWork.Place(of: node, in: folder)),
            reads: Set((above + node.ancestors).map { .node($0.id) }),
            writes: [place, .place(node.place, in: folder.id), .node(node.id)]
        )
    }

    /// Copies a node, with its metadata, its thumbnail and everything below it.
    ///
    /// The copies are not linked to objects of the application.
    ///
    /// - Returns: the copy.
    /// - Throws: as ``move(_:to:)``.
    /// - Complexity: O(nodes below).
    @discardableResult
    public func copy(_ node: CloudNode, to path: TreePath) throws -> CloudNode {
        try check(node)
        let name = try lastName(of: path)
        guard try !isAbove(node, path) else {
            throw CloudError(
                .cyclicMove,
                "\(node.path) cannot be copied to \(path), which lies below it.",
                nodes: [node.id.rawValue]
            )
        }
        return try copy(node, into: folder(at: path.parent), as: name, below: node)
    }

    /// - Parameter start: the node that the application copies.
    private func copy(
        _ node: CloudNode,
        into folder: CloudNode,
        as name: String,
        below start: CloudNode
    ) throws -> CloudNode {
        if node.isFolder {
            let copy = try create(name, in: folder, isFolder: true, link: nil, sections: [])
            copy.shares = node.shares
            // Most folders do not have sections to copy.
            let sections = try self.sections(of: node)
            if !sections.isEmpty { try queueCopy(of: node, to: copy, in: folder, sections) }
            for child in try node.children(below: start) {
                _ = try self.copy(child, into: copy, as: child.name, below: start)
            }
            return copy
        }
        let copy = try create(name, in: folder, isFolder: false, link: nil, sections: [])
        copy.shares = node.shares
        try queueCopy(of: node, to: copy, in: folder, sections(of: node).union(.data))
        return copy
    }

    /// Queues the copy of a node's content at the remote.
    ///
    /// - Parameter sections: the sections that are uploaded from this machine if the remote does not have the source
    ///   when the operation runs.
    func queueCopy(of node: CloudNode, to copy: CloudNode, in folder: CloudNode, _ sections: ContentSections) throws {
        // A detached copy is uploaded when it gets a place at the remote.
        guard copy.trunk != .detached else { return }
        let above = Set((node.ancestors + copy.ancestors).map { CloudResource.node($0.id) })
        let unsent = try operations(for: node).map { try $0.payload(as: CloudWork.self) }
            .filter { [.content, .copy].contains($0.kind) }
        let work = CloudWork.copy(
            copy.id.rawValue,
            CloudWork.Place(of: copy, in: folder),
            CloudWork.Copy(
                source: node.id.rawValue,
                sections: sections,
                // The source may be a copy that is not uploaded yet.
                sourceLink: node.link ?? unsent.lazy.compactMap(\.sourceLink).first,
                isSourceUnsent: unsent.isEmpty ? nil : true
            )
        )
        let making: Set<CloudResource> = [.node(copy.id), .place(copy.place, in: folder.id)]
        queue(
            work,
            reads: above.union([.node(node.id), .content(node.id)]).union(copy.isFolder ? [.node(copy.id)] : []),
            writes: copy.isFolder ? [.content(copy.id)] : making.union([.content(copy.id)])
        )
    }

    /// The sections that the remote has of a node, or will have after its queued operations.
    private func sections(of node: CloudNode) throws -> ContentSections {
        let known = node.remote?.snapshot.sections(isEncrypted: info.isEncrypted) ?? []
        return try operations(for: node).reduce(into: known) { sections, operation in
            sections.formUnion(try operation.payload(as: CloudWork.self).sections ?? [])
        }
    }

    /// Whether a node lies on the way to a path, or at its end.
    private func isAbove(_ node: CloudNode, _ path: TreePath) throws -> Bool {
        var next = try root(path.trunk)
        if next === node { return !path.names.isEmpty }
        for name in path.names.dropLast() {
            guard let child = try child(name, of: next) else { return false }
            if child === node { return true }
            next = child
        }
        return false
    }

    private func checkMovable(_ node: CloudNode) throws {
        try check(node)
        guard !node.isTrunk else {
            throw CloudError(.isTrunk, "\(node.path) is a trunk, which cannot be moved.", nodes: [node.id.rawValue])
        }
    }

    func setTrunk(_ trunk: Trunk, of node: CloudNode) throws {
        node.trunk = trunk
        try walk(node) { child, _ in
            child.trunk = trunk
            return .proceed
        }
    }

    /// Queues the operations of a move out of or into the detached trunk, whose nodes do not exist at the remote.
    private func moveDetached(
        _ node: CloudNode,
        _ wasDetached: Bool,
        from place: CloudResource,
        _ above: [CloudNode]
    ) throws {
        guard wasDetached else { return try queueDelete(of: node, place: place, above) }
        guard node.trunk != .detached else { return }
        try queueReturn(of: node)
        try walk(node) { child, _ in
            try queueReturn(of: child)
            return .proceed
        }
    }

    /// Queues the operations that bring a formerly detached node to the remote.
    ///
    /// If the remote still has the node, or will have it when the operations run, the node is moved first, from the
    /// place where its delete has left it.
    private func queueReturn(of node: CloudNode) throws {
        let remote = node.remote
        if let remote, let parent = node.parent,
            remote.parent?.node !== parent || !remote.segment.hasSameBytes(as: RemoteKey.escape(node.name))
        {
            queue(
                .move(node.id.rawValue, CloudWork.Place(of: node, in: parent)),
                reads: Set(node.ancestors.map { .node($0.id) }),
                writes: [.place(node.place, in: parent.id), .node(node.id)]
            )
        }
        let sections = remote?.snapshot.sections(isEncrypted: info.isEncrypted)
        try queueCreation(of: node, sections ?? (node.isFolder ? [] : .data))
    }
}
