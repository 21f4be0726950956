public import Strata
public import StrataPipeline

extension CloudContext {
    /// Queues the upload of a node's content, because the content has changed.
    ///
    /// A folder may have content as well: see ``CloudNode/hasContent``.
    ///
    /// - Parameters:
    ///   - node: the node.
    ///   - sections: the sections that have changed.
    ///   - coalescesUploads: whether one upload serves all uploads that are queued before it begins, because each of
    ///     them sends the newest content. Pass false if each version matters: then all versions are sent, one after the
    ///     other.
    ///   - size: the number of bytes, if it is known. ``CloudAccount/progress()`` uses it.
    ///   - priority: of the ready operations, those with the greatest priority start first.
    /// - Returns: the operation. It is nil for a detached node, which is never uploaded.
    /// - Throws: ``CloudError`` with `isTrunk`, `foreignNode`.
    @discardableResult
    public func upload(
        _ node: CloudNode,
        _ sections: ContentSections = .data,
        coalescesUploads: Bool = true,
        size: Int64? = nil,
        priority: Int = 0
    ) throws -> QueuedOperation? {
        try check(node)
        guard !node.isTrunk || !sections.contains(.data) else {
            throw CloudError(.isTrunk, "\(node.path) is a trunk, which has no content.", nodes: [node.id.rawValue])
        }
        guard node.trunk != .detached, let parent = node.parent else { return nil }
        return queue(
            .content(
                node.id.rawValue,
                CloudWork.Place(of: node, in: parent),
                CloudWork.Upload(sections: sections, coalescesUploads: coalescesUploads, size: size)
            ),
            reads: Set(([node] + node.ancestors).map { .node($0.id) }),
            writes: [.content(node.id)],
            priority: priority
        )
    }

    /// Sets the access rights of a node, and of all nodes below it if `isRecursive` is true.
    ///
    /// The access rights stay on this machine, because remotes do not store them.
    ///
    /// - Complexity: O(nodes below) with `isRecursive`.
    public func setShares(_ shares: ShareList, of node: CloudNode, isRecursive: Bool = false) throws {
        try check(node)
        node.shares = shares
        guard isRecursive else { return }
        try walk(node) { child, _ in
            child.shares = shares
            return .proceed
        }
    }

    /// Makes a node point at another node, or at none. The pointer stays on this machine.
    public func setPointer(of node: CloudNode, to target: CloudNode?) throws {
        try check(node)
        node.pointer = target
    }

    /// Links a node to an object of the application. The node then represents this object.
    ///
    /// The commit drops the link if the object is not in the store at that time. For example, the object may have been
    /// deleted meanwhile, or may belong to another context that has not committed it.
    ///
    /// - Throws: ``CloudError`` with `alreadyLinked` if another node is linked to the object.
    public func link<Object: Model>(_ node: CloudNode, to object: ObjectID<Object>) throws {
        try check(node)
        let text = object.description
        try checkFree(link: text, for: node)
        node.link = text
    }

    /// Throws `alreadyLinked` if another node is linked to this object.
    func checkFree(link: String, for node: CloudNode?) throws {
        guard let other = try context.first(CloudNode.where({ $0.link == link })), other !== node else { return }
        let owner = other.account.hasSameBytes(as: account) ? "" : " of the account '\(other.account)'"
        throw CloudError(
            .alreadyLinked,
            "\(other.path)\(owner) is already linked to \(link). An object has one node in a store.",
            nodes: [other.id.rawValue]
        )
    }

    /// Removes the link between a node and its object.
    public func unlink(_ node: CloudNode) throws {
        try check(node)
        node.link = nil
    }

    /// The node of this account that is linked to an object; nil if the account does not have one.
    public func node<Object: Model>(for object: ObjectID<Object>) throws -> CloudNode? {
        let (text, account) = (object.description, account)
        return try context.first(CloudNode.where { $0.account == account && $0.link == text })
    }

    // MARK: Operations by hand

    /// Queues an operation of the application, in one of the application's pipelines, in order with the operations of
    /// the tree.
    ///
    /// The operation runs after the last queued writers of the resources that it reads. It runs after all queued
    /// operations that read or write the resources that it writes.
    ///
    /// - Parameters:
    ///   - payload: the value that the handler of the pipeline receives.
    ///   - pipeline: the application's pipeline.
    ///   - priority: of the ready operations, those with the greatest priority start first.
    ///   - reads: the resources that the operation needs unchanged.
    ///   - writes: the resources that the operation changes.
    @discardableResult
    public func enqueue<Payload: OperationPayload>(
        _ payload: Payload,
        in pipeline: PipelineName,
        priority: Int = 0,
        reads: Set<CloudResource> = [],
        writes: Set<CloudResource> = []
    ) -> QueuedOperation {
        let operation = context.enqueue(payload, in: pipeline, priority: priority)
        declare(operation, reads: reads, writes: writes)
        return operation
    }

    /// A resource of the application, by name, for ``enqueue(_:in:priority:reads:writes:)``.
    ///
    /// The resource belongs to this account.
    public func resource(_ name: String) -> CloudResource { .named(name, of: account) }
}
