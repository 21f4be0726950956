public import Strata
import StrataPipeline

extension CloudContext {
    /// Makes a folder, and those above it that are not there.
    ///
    /// - Parameter priority: that of the operations that make this folder and those above it, as of ``upload(_:_:isLatestEnough:size:priority:)``.
    /// A file on the way becomes a folder and keeps its content: see ``CloudNode/hasContent``.
    ///
    /// - Throws: ``CloudError`` with `placeTaken` where there is a node at the place, `invalidName`, `invalidPath`; what the store reports.
    @discardableResult
    public func createFolder(at path: TreePath, priority: Int = 0) throws -> CloudNode {
        let name = try lastName(of: path)
        let parent = try folder(at: path.parent, priority: priority)
        return try create(name, in: parent, isFolder: true, link: nil, sections: [], priority: priority)
    }

    /// Makes a file, and queues the upload of its content.
    ///
    /// To give content to a folder that is there, use ``upload(_:_:isLatestEnough:size:priority:)``.
    ///
    /// - Parameters:
    ///   - path: where. Folders above it that are not there are made, and a file on the way becomes a folder that keeps its content.
    ///   - content: the application's object that it stands for; ``CloudHandler`` is asked for the content when it is sent.
    ///   - sections: which sections there are to send.
    ///   - size: how many bytes that is, where it is known: for ``CloudAccount/progress()``.
    ///   - priority: that of its operations, and of those that make the folders above it that are not there: among operations that are ready, those of
    ///     the greatest priority are started first. Folders that are queued already keep theirs.
    /// - Throws: as ``createFolder(at:priority:)``, and `alreadyLinked`.
    @discardableResult
    public func createNode<Object: Model>(
        at path: TreePath,
        content: ObjectID<Object>,
        sections: ContentSections = .data,
        size: Int64? = nil,
        priority: Int = 0
    ) throws -> CloudNode {
        try createNode(at: path, link: content.description, sections, size, priority)
    }

    /// Makes a file that is not linked to an object of the application, and queues the upload of its content. Otherwise
    /// as ``createNode(at:content:sections:size:priority:)``.
    @discardableResult
    public func createNode(
        at path: TreePath,
        sections: ContentSections = .data,
        size: Int64? = nil,
        priority: Int = 0
    ) throws -> CloudNode {
        try createNode(at: path, link: nil, sections, size, priority)
    }

    private func createNode(
        at path: TreePath,
        link: String?,
        _ sections: ContentSections,
        _ size: Int64?,
        _ priority: Int
    ) throws -> CloudNode {
        let name = try lastName(of: path)
        let folder = try folder(at: path.parent, priority: priority)
        return try create(
            name,
            in: folder,
            isFolder: false,
            link: link,
            sections: sections,
            size: size,
            priority: priority
        )
    }

    /// Makes a node in a folder.
    @discardableResult
    func create(
        _ name: String,
        in folder: CloudNode,
        isFolder: Bool,
        link: String?,
        sections: ContentSections,
        size: Int64? = nil,
        priority: Int = 0
    ) throws -> CloudNode {
        try checkPlace(name, in: folder)
        if let link { try checkFree(link: link, for: nil) }
        try makeFolder(of: folder, priority: priority)
        let node = context.insert(
            CloudNode(
                account: account,
                trunk: folder.trunk,
                parent: folder,
                name: name,
                place: facts.rule.place(of: name),
                isFolder: isFolder,
                link: link
            )
        )
        try queueCreation(of: node, sections, size: size, priority: priority)
        return node
    }

    /// Queues what brings a new node to the remote.
    func queueCreation(
        of node: CloudNode,
        _ sections: ContentSections,
        size: Int64? = nil,
        priority: Int = 0
    ) throws {
        guard node.trunk != .detached, let parent = node.parent else { return }
        let making: Set<CloudResource> = [.node(node.id), .place(node.place, in: parent.id)]
        let above = Set(node.ancestors.map { CloudResource.node($0.id) })
        let hasRecord = node.isFolder || facts.keepsRecords
        if hasRecord {
            queue(.record(of: node, in: parent), reads: above, writes: making, priority: priority)
        }
        guard !sections.isEmpty else { return }
        queue(
            .content(of: node, in: parent, sections, size: size),
            reads: hasRecord ? above.union([.node(node.id)]) : above,
            writes: hasRecord ? [.content(node.id)] : making.union([.content(node.id)]),
            priority: priority
        )
    }

    /// Queues an operation of this account's.
    @discardableResult
    func queue(
        _ work: CloudWork,
        reads: Set<CloudResource>,
        writes: Set<CloudResource>,
        priority: Int = 0,
        before: CloudResource? = nil,
        key: String? = nil
    ) -> QueuedOperation {
        let operation = context.enqueue(
            work,
            in: facts.pipeline,
            lane: String(work.node),
            priority: priority,
            key: key
        )
        declare(operation, reads: reads, writes: writes, before: before, work)
        return operation
    }

    /// - Parameter before: what it writes before all that wait already, instead of behind them.
    func declare(
        _ operation: QueuedOperation,
        reads: Set<CloudResource>,
        writes: Set<CloudResource>,
        before: CloudResource? = nil,
        _ work: CloudWork? = nil
    ) {
        let role = work?.kind.role ?? .other
        for resource in writes.union(reads) {
            context.insert(
                CloudAccess(
                    operation: operation.id.number,
                    resource: resource.text,
                    isWrite: writes.contains(resource),
                    role: role.rawValue,
                    isBefore: resource == before
                )
            )
        }
    }

    // MARK: Places

    func lastName(of path: TreePath) throws -> String {
        try path.check()
        guard let name = path.name else {
            throw CloudError(.placeTaken, "\(path) is a trunk, which is there from the beginning.")
        }
        for name in path.names { try check(name) }
        return name
    }

    /// The folder at a path, which is made where it is not there.
    ///
    /// - Parameter priority: that of what makes it.
    func folder(at path: TreePath?, priority: Int = 0) throws -> CloudNode {
        guard let path else { return try root() }
        var node = try root(path.trunk)
        for name in path.names {
            if let child = try child(name, of: node) {
                node = child
            } else {
                node = try create(name, in: node, isFolder: true, link: nil, sections: [], priority: priority)
            }
        }
        return node
    }

    /// Makes a folder of a file that gets its first child, and queues what does the same at the remote. The file keeps its content.
    ///
    /// - Parameter priority: that of the operation, for which the child waits.
    func makeFolder(of node: CloudNode, priority: Int = 0) throws {
        guard !node.isFolder else { return }
        // Remotes without folders may have a file and a folder of one name, which are two nodes here. Both cannot be that folder.
        if let row = node.remote, let parent = node.parent,
            try row.parent?.child(row.segment, isFolder: true) != nil
        {
            try move(node, into: parent, as: freeName(for: node.name, in: parent))
        }
        node.isFolder = true
        guard node.trunk != .detached, let parent = node.parent else { return }
        queue(
            .record(of: node, in: parent),
            reads: Set(node.ancestors.map { .node($0.id) }),
            writes: [.node(node.id), .content(node.id), .place(node.place, in: parent.id)],
            priority: priority
        )
    }

    /// Whether a node may be put there; of the one that it is itself nothing is said.
    func checkPlace(_ name: String, in folder: CloudNode, for node: CloudNode? = nil) throws {
        try check(name)
        try check(folder)
        if let other = try child(name, of: folder), other !== node {
            throw CloudError(
                .placeTaken,
                "There is a node at \(folder.path.appending(name)) already. Take another name, as `freeName(for:in:)` gives it.",
                nodes: [other.id.number]
            )
        }
    }
}
