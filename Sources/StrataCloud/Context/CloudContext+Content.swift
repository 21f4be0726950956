public import Strata
public import StrataPipeline

extension CloudContext {
    /// Queues the upload of a node's content, since it has changed. A folder may have content as well: see ``CloudNode/hasContent``.
    ///
    /// - Parameters:
    ///   - sections: which sections have.
    ///   - isLatestEnough: whether one upload does for all that are queued before it begins, since each asks for the newest content. Where each
    ///     version matters they are all sent, one behind the other.
    ///   - size: how many bytes there are, where that is known: for ``CloudAccount/progress()``.
    /// - Returns: the operation; nil for a node that is detached, which nobody sends.
    /// - Throws: ``CloudError`` with `isTrunk`, `foreignNode`.
    @discardableResult
    public func upload(
        _ node: CloudNode,
        _ sections: ContentSections = .data,
        isLatestEnough: Bool = true,
        size: Int64? = nil,
        priority: Int = 0
    ) throws -> QueuedOperation? {
        try check(node)
        guard !node.isTrunk || !sections.contains(.data) else {
            throw CloudError(.isTrunk, "\(node.path) is a trunk, which has no content.", nodes: [node.id.number])
        }
        guard node.trunk != .detached, let parent = node.parent else { return nil }
        return queue(
            .content(of: node, in: parent, sections, isLatestEnough: isLatestEnough, size: size),
            reads: Set(([node] + node.ancestors).map { .node($0.id) }),
            writes: [.content(node.id)],
            priority: priority
        )
    }

    /// Changes who may do what with a node, and with everything below it where asked for. On remotes that keep no records it stays here.
    ///
    /// - Complexity: O(nodes below) with `isRecursive`.
    public func setShares(_ shares: ShareList, of node: CloudNode, isRecursive: Bool = false) throws {
        try check(node)
        node.shares = shares
        try uploadRecord(of: node)
        guard isRecursive else { return }
        try walk(node) { child, _ in
            child.shares = shares
            try uploadRecord(of: child)
            return .proceed
        }
    }

    /// Lets a node point at another one, or at none.
    public func setPointer(of node: CloudNode, to target: CloudNode?) throws {
        try check(node)
        node.pointer = target
        try uploadRecord(of: node)
    }

    /// Lets a node stand for an object of the application's.
    ///
    /// Where the object is not in the store behind the commit, since it was deleted meanwhile, say, or is another context's that has not
    /// committed it, the commit drops the link.
    ///
    /// - Throws: ``CloudError`` with `alreadyLinked` where another node does.
    public func link<Object: Model>(_ node: CloudNode, to object: ObjectID<Object>) throws {
        try check(node)
        let text = object.description
        try checkFree(link: text, for: node)
        node.link = text
    }

    /// Refuses what another node stands for.
    func checkFree(link: String, for node: CloudNode?) throws {
        guard let other = try context.first(CloudNode.where({ $0.link == link })), other !== node else { return }
        let owner = other.account.hasSameBytes(as: account) ? "" : " of the account '\(other.account)'"
        throw CloudError(
            .alreadyLinked,
            "\(other.path)\(owner) stands for \(link) already. An object has one node in a store.",
            nodes: [other.id.number]
        )
    }

    /// Lets a node stand for no object.
    public func unlink(_ node: CloudNode) throws {
        try check(node)
        node.link = nil
    }

    /// The node of the account that stands for an object; nil where none does.
    public func node<Object: Model>(for object: ObjectID<Object>) throws -> CloudNode? {
        let (text, account) = (object.description, account)
        return try context.first(CloudNode.where { $0.account == account && $0.link == text })
    }

    private func uploadRecord(of node: CloudNode) throws {
        guard facts.keepsRecords, node.trunk != .detached, let parent = node.parent else { return }
        queue(
            .record(of: node, in: parent),
            reads: Set(([node] + node.ancestors).map { .node($0.id) }),
            writes: [.record(node.id)]
        )
    }

    // MARK: Operations by hand

    /// Queues an operation of the application's own, in a pipeline of its own, in order with those of the tree: it comes behind what has
    /// last written what it reads, and behind all that concerns what it writes.
    ///
    /// - Parameters:
    ///   - reads: what it needs as it is.
    ///   - writes: what it changes.
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

    /// Something of the application's by its name, for ``enqueue(_:in:priority:reads:writes:)``: of this account.
    public func resource(_ name: String) -> CloudResource { .named(name, of: account) }
}
