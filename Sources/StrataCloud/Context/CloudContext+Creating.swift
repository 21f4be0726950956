public import Strata
import StrataPipeline

extension CloudContext {
    /// Creates a folder, and the missing folders above it.
    ///
    /// A file along the path becomes a folder and keeps its content: see ``CloudNode/hasContent``.
    ///
    /// - Parameters:
    ///   - path: the path of the folder.
    ///   - priority: the priority of the operations that create this folder and those above it. See
    ///     ``upload(_:_:coalescesUploads:size:priority:)``.
    /// - Throws: ``CloudError`` with `pathOccupied` if a node exists at the path, `invalidName`, `invalidPath`; the
    ///   errors of the store.
    @discardableResult
    public func createFolder(at path: TreePath, priority: Int = 0) throws -> CloudNode {
        let name = try lastName(of: path)
        let parent = try folder(at: path.parent, priority: priority)
        return try create(name, in: parent, isFolder: true, link: nil, sections: [], priority: priority)
    }

    /// Creates a file, and queues the upload of its content.
    ///
    /// To give content to an existing folder, use ``upload(_:_:coalescesUploads:size:priority:)``.
    ///
    /// - Parameters:
    ///   - path: the path of the file. Missing folders above it are created. A file along the path becomes a folder
    ///     that keeps its content.
    ///   - content: the application's object that the node represents. ``CloudHandler`` provides the content when the
    ///     upload runs.
    ///   - sections: the sections to upload.
    ///   - size: the number of bytes of these sections, if it is known. ``CloudAccount/progress()`` uses it.
    ///   - priority: the priority of the node's operations, and of those that create the missing folders above it.
    ///     Among operations that are ready, those with the highest priority start first. Operations of folders that are
    ///     already queued keep their priority.
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

    /// Creates a file that is not linked to an object of the application, and queues the upload of its content.
    ///
    /// Otherwise it works as ``createNode(at:content:sections:size:priority:)``.
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

    /// Creates a node in a folder.
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
                place: info.rule.normalized(name),
                isFolder: isFolder,
                link: link
            )
        )
        try queueCreation(of: node, sections, size: size, priority: priority)
        return node
    }

    /// Queues the operations that create a new node at the remote.
    func queueCreation(
        of node: CloudNode,
        _ sections: ContentSections,
        size: Int64? = nil,
        priority: Int = 0
    ) throws {
        guard node.trunk != .detached, let parent = node.parent else { return }
        let place = CloudWork.Place(of: node, in: parent)
        let making: Set<CloudResource> = [.node(node.id), .place(node.place, in: parent.id)]
        let above = Set(node.ancestors.map { CloudResource.node($0.id) })
        if node.isFolder {
            queue(.createFolder(node.id.rawValue, place), reads: above, writes: making, priority: priority)
        }
        guard !sections.isEmpty else { return }
        queue(
            .content(node.id.rawValue, place, CloudWork.Upload(sections: sections, size: size)),
            reads: node.isFolder ? above.union([.node(node.id)]) : above,
            writes: node.isFolder ? [.content(node.id)] : making.union([.content(node.id)]),
            priority: priority
        )
    }

    /// Queues an operation of this account.
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
            in: info.pipeline,
            lane: String(work.node),
            priority: priority,
            key: key
        )
        declare(operation, reads: reads, writes: writes, before: before, work)
        return operation
    }

    /// Records the resources that an operation reads and writes. The order of operations follows from these records.
    ///
    /// - Parameter before: the written resource for which the operation runs before all operations that already wait,
    ///   instead of after them.
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
                ResourceAccess(
                    operation: operation.id.rawValue,
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
            throw CloudError(.pathOccupied, "\(path) is a trunk, which always exists.")
        }
        for name in path.names { try check(name) }
        return name
    }

    /// The folder at a path. Missing folders are created.
    ///
    /// - Parameter priority: the priority of the operations that create them.
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

    /// Turns a file that gets its first child into a folder, and queues the operation for the remote.
    ///
    /// The file keeps its content.
    ///
    /// - Parameter priority: the priority of the operation, for which the child waits.
    func makeFolder(of node: CloudNode, priority: Int = 0) throws {
        guard !node.isFolder else { return }
        // A remote without folders may have a file and a folder with the same name, which are two nodes here. Only one
        // of them can become that folder, so the file moves to a free name.
        if let row = node.remote, let parent = node.parent,
            try row.parent?.child(row.segment, isFolder: true) != nil
        {
            try move(node, into: parent, as: freeName(for: node.name, in: parent))
        }
        node.isFolder = true
        guard node.trunk != .detached, let parent = node.parent else { return }
        queue(
            .createFolder(node.id.rawValue, CloudWork.Place(of: node, in: parent)),
            reads: Set(node.ancestors.map { .node($0.id) }),
            writes: [.node(node.id), .content(node.id), .place(node.place, in: parent.id)],
            priority: priority
        )
    }

    /// Throws if another node than `node` occupies the place, or if the name or the folder is invalid.
    func checkPlace(_ name: String, in folder: CloudNode, for node: CloudNode? = nil) throws {
        try check(name)
        try check(folder)
        if let other = try child(name, of: folder), other !== node {
            throw CloudError(
                .pathOccupied,
                "A node already exists at \(folder.path.appending(name)). Choose another name; `freeName(for:in:)` "
                    + "finds one.",
                nodes: [other.id.rawValue]
            )
        }
    }
}
