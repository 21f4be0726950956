import Strata
import StrataPipeline

/// Carries out steps of a pull in one context.
final class PullApplication {
    private let cloud: CloudContext
    private let handler: any CloudHandler
    private let known: KnownTree
    private let tree: RemoteTree
    private(set) var summary = PullSummary()
    /// What the next pull is to look at again.
    private(set) var left = PullRest()

    init(_ cloud: CloudContext, _ handler: any CloudHandler, _ known: KnownTree, _ tree: RemoteTree) {
        (self.cloud, self.handler, self.known, self.tree) = (cloud, handler, known, tree)
    }

    func apply(_ step: PullPlan.Step) throws {
        let postponed = summary.postponed
        try carryOut(step)
        guard summary.postponed > postponed else { return }
        left.keys.formUnion(step.keys(known, tree))
        if let row = step.row { left.rows.insert(row) }
    }

    private func carryOut(_ step: PullPlan.Step) throws {
        switch step {
        case .add(let object): try add(object)
        case .update(let number, let object): try update(number, object)
        case .move(let number, let object): try move(number, to: object)
        case .convert(let number, let object): try convert(number, object)
        case .remove(let number): try remove(number, isProven: true)
        case .restore(let number): try remove(number, isProven: false)
        case .list(let number): try list(number)
        case .forget(let number): try forget(number)
        }
    }

    private func tell(_ change: PulledChange) throws {
        summary.count(change)
        try handler.didPull(change, in: cloud)
    }

    private func postpone() { summary.postponed += 1 }

    // MARK: What is there

    private func add(_ object: RemoteObject) throws {
        guard let (parent, folder) = try place(of: object), let segment = object.key.last,
            var name = object.key.name?.name
        else { return postpone() }
        // It may have been sent from here since the pull began.
        guard try isFree(segment, in: parent, for: object) else { return postpone() }
        if let taken = try cloud.child(name, of: folder) {
            if taken.isFolder, object.isFolder, taken.remote == nil { return try adopt(taken, parent, segment, object) }
            if try isSettled(taken) {
                // Two names of the remote that are one here.
                name = try cloud.freeName(for: name, in: folder)
            } else if try !giveWay(taken) {
                return postpone()
            }
        }
        let place = cloud.facts.rule.place(of: name)
        let node = cloud.context.insert(
            CloudNode(
                account: cloud.account,
                trunk: folder.trunk,
                parent: folder,
                name: name,
                place: place,
                isFolder: object.isFolder
            )
        )
        guard let row = try make(of: node, parent, segment, isFolder: object.isFolder) else { return }
        note(object, row)
        try tell(.new(node))
    }

    /// Whether nothing is known to lie where an object is, but for a folder beside a file and the other way round, where the remote has both.
    private func isFree(_ segment: String, in parent: RemoteNode, for object: RemoteObject) throws -> Bool {
        guard try parent.child(segment, isFolder: object.isFolder) == nil else { return false }
        guard try parent.child(segment, isFolder: !object.isFolder) != nil else { return true }
        return tree.places.contains(RemotePlace(key: object.key, isFolder: !object.isFolder))
    }

    /// Whether a node lies at the remote where it does here, and nothing is queued that would move it.
    private func isSettled(_ node: CloudNode) throws -> Bool {
        guard let row = node.remote, row.isCertain, row.parent?.id.number == node.parent?.id.number else {
            return false
        }
        return try !isMoving(node)
    }

    /// Whether a move of a node is queued or being carried out.
    private func isMoving(_ node: CloudNode) throws -> Bool {
        try cloud.operations(for: node).contains { try $0.payload(as: CloudWork.self).kind == .move }
    }

    /// Whether a move of a node is being carried out, or may have been.
    private func hasBegunMove(_ node: CloudNode) throws -> Bool {
        try cloud.operations(for: node).contains { try $0.hasBegun && $0.payload(as: CloudWork.self).kind == .move }
    }

    /// The folder that an object lies in, there and here; nil where that is not known by now, or was deleted here.
    private func place(of object: RemoteObject) throws -> (RemoteNode, CloudNode)? {
        guard let key = object.key.parent, let top = key.segments.first.flatMap({ Trunk(rawValue: $0) }),
            let root = cloud.facts.trunks[top], var parent = try cloud.remote(root.number)
        else { return nil }
        for segment in key.segments.dropFirst() {
            guard let child = try parent.child(segment, isFolder: true) else { return nil }
            parent = child
        }
        guard parent.isFolder, let folder = parent.node else { return nil }
        return (parent, folder)
    }

    private func make(
        of node: CloudNode,
        _ parent: RemoteNode,
        _ segment: String,
        isFolder: Bool
    ) throws -> RemoteNode? {
        let made = RemoteNode(account: cloud.account, segment: segment, isFolder: isFolder)
        guard let row = try cloud.context.insert(made, as: node.id.counterpart(RemoteNode.self)) else { return nil }
        (row.parent, row.node) = (parent, node)
        return row
    }

    /// A folder that both sides have made is one.
    private func adopt(_ node: CloudNode, _ parent: RemoteNode, _ segment: String, _ object: RemoteObject) throws {
        guard let row = try make(of: node, parent, segment, isFolder: true) else { return }
        // A queued upload must not replace metadata that other machines have written: its condition fails, which
        // reports a conflict.
        let works = try cloud.operations(for: node).map { try $0.payload(as: CloudWork.self).kind }
        guard !works.contains(.content) else { return }
        let before = row.snapshot
        note(object, row)
        let sections = changes(row, since: before)
        if !sections.isEmpty { try tell(.modified(node, sections)) }
    }

    /// Lets a node that was not sent to where it is take another name, if it is not just being sent.
    private func giveWay(_ node: CloudNode) throws -> Bool {
        guard let parent = node.parent else { return false }
        let operations = try cloud.operations(for: node)
        // What was begun may be there already: it may be this.
        guard !operations.contains(where: \.hasBegun) else { return false }
        let path = node.path
        // In a place that no other operation fills or frees: the operations of this node would run after such an
        // operation, which may wait for them.
        let name = try cloud.freeName(for: node.name, in: parent.id, besides: [], isForNow: true)
        for operation in operations {
            var work = try operation.payload(as: CloudWork.self)
            guard work.name.hasSameBytes(as: node.name), work.parent == parent.id.number else { continue }
            work.name = name
            try operation.setPayload(work)
            let place = CloudResource.place(cloud.facts.rule.place(of: name), in: parent.id)
            cloud.declare(operation, reads: [], writes: [place], work)
        }
        cloud.setName(name, of: node)
        try tell(.renamed(node, from: path))
        return true
    }

    /// Records that a listing shows the version that this machine has sent.
    private func list(_ number: Int64) throws {
        guard let row = try cloud.remote(number), let before = known.rows[number],
            row.eTag.hasSameBytes(as: before.eTag),
            row.isCertain,
            try row.key == known.key(of: number)
        else { return }
        row.isListed = true
    }

    private func note(_ object: RemoteObject, _ row: RemoteNode) {
        row.isListed = true
        row.note(sidecars: tree.sidecars(of: object))
        guard !object.isFolder else { return }
        (row.eTag, row.size, row.modifiedAt) = (object.eTag?.stored, object.size, object.modifiedAt)
        row.contentPrint = nil
    }

    private func update(_ number: Int64, _ object: RemoteObject) throws {
        // What was deleted here is deleted there as the version that was known, and no other one.
        guard let row = try unchanged(number), let node = row.node, node.trunk != .detached else { return postpone() }
        let before = row.snapshot
        note(object, row)
        try tell(.modified(node, changes(row, since: before)))
    }

    /// The sections of which a row has another version than before.
    private func changes(_ row: RemoteNode, since before: RemoteNode.Row) -> ContentSections {
        var sections: ContentSections = []
        if !before.eTag.hasSameBytes(as: row.eTag) {
            sections.formUnion(cloud.facts.isSealed ? .all : [.header, .data])
        }
        if !before.metadataETag.hasSameBytes(as: row.metadataETag) { sections.insert(.metadata) }
        if !before.thumbnailETag.hasSameBytes(as: row.thumbnailETag) { sections.insert(.thumbnail) }
        return sections
    }

    /// The known remote state of a node; nil if it has changed since the pull began, or if an operation is queued that
    /// would change the content.
    private func unchanged(_ number: Int64) throws -> RemoteNode? {
        guard let row = try unmoved(number) else { return nil }
        let operations = try row.node.map { try cloud.operations(for: $0) } ?? []
        return try operations.contains { try $0.payload(as: CloudWork.self).kind == .content } ? nil : row
    }

    /// The known remote state of a node; nil if it has changed since the pull began.
    private func unmoved(_ number: Int64) throws -> RemoteNode? {
        guard let row = try cloud.remote(number), let before = known.rows[number] else { return nil }
        guard row.eTag.hasSameBytes(as: before.eTag), row.isCertain,
            row.metadataETag.hasSameBytes(as: before.metadataETag),
            try row.key == known.key(of: number), try !isBeingMoved(row)
        else { return nil }
        return row
    }

    /// Whether something above it is being moved, or may have been already.
    private func isBeingMoved(_ row: RemoteNode) throws -> Bool {
        var next = row.parent
        while let folder = next {
            if let node = folder.node, !node.isTrunk, try hasBegunMove(node) { return true }
            next = folder.parent
        }
        return false
    }

    private func move(_ number: Int64, to object: RemoteObject) throws {
        // It has come there with the folder that it lies in.
        if let row = try cloud.remote(number), row.isCertain, row.eTag.hasSameBytes(as: known.rows[number]?.eTag),
            try row.key == object.key
        {
            return row.isListed = true
        }
        // A queued upload looks up where its node lies when it runs, and so follows the move. One that is running does not.
        guard let row = try unmoved(number), try !isActive(row.node), let (parent, folder) = try place(of: object),
            let segment = object.key.last,
            let name = object.key.name?.name, try isFree(segment, in: parent, for: object)
        else { return postpone() }
        guard let node = row.node, node.trunk != .detached else {
            (row.parent, row.segment) = (parent, segment)
            return
        }
        let moves = try cloud.operations(for: node).filter { try $0.payload(as: CloudWork.self).kind == .move }
        guard !moves.contains(where: \.hasBegun) else { return postpone() }
        if let taken = try cloud.child(name, of: folder), taken !== node {
            guard try !isSettled(taken), try giveWay(taken) else { return postpone() }
        }
        // Here it may have been moved into what it is moved into there.
        guard node !== folder, !folder.ancestors.contains(where: { $0 === node }) else { return postpone() }
        // Who has moved it there was first; where it was to go from here is given up.
        for move in moves { move.skip() }
        let path = node.path
        (row.parent, row.segment) = (parent, segment)
        note(object, row)
        if node.trunk != folder.trunk { try cloud.setTrunk(folder.trunk, of: node) }
        (node.parent, node.name, node.place) = (folder, name, cloud.facts.rule.place(of: name))
        // Another spelling of the same letters is another name for a file system.
        if !node.path.description.hasSameBytes(as: path.description) { try tell(.moved(node, from: path)) }
    }

    /// Makes a folder of a file, since another machine has put something below it. The node stays what it is, with its link.
    private func convert(_ number: Int64, _ object: RemoteObject) throws {
        guard let row = try unmoved(number), let node = row.node, node.trunk != .detached, let parent = row.parent,
            try !isActive(node), try parent.child(row.segment, isFolder: true) == nil
        else { return postpone() }
        let before = row.snapshot
        (row.isFolder, row.isListed, node.isFolder) = (true, true, true)
        // A queued upload is compared with the version that was known when it was queued.
        let works = try cloud.operations(for: node).map { try $0.payload(as: CloudWork.self).kind }
        guard !works.contains(.content) else { return }
        note(object, row)
        let sections = changes(row, since: before)
        if !sections.isEmpty { try tell(.modified(node, sections)) }
    }

    /// Lets the next pull find a file whose delete was given up.
    private func forget(_ number: Int64) throws {
        guard let row = try cloud.remote(number), row.node == nil, !row.isFolder, row.isCertain else { return }
        var next: RemoteNode? = row
        while let this = next {
            // It is being deleted, or something is that it lies in.
            if try cloud.hasOperations(this.id.number) { return }
            next = this.parent
        }
        cloud.context.delete(row)
        postpone()
    }

    // MARK: What is gone

    /// - Parameter isProven: whether the remote has shown it since it was sent from here. What it has not shown is worth more than that it is not there.
    private func remove(_ number: Int64, isProven: Bool) throws {
        guard let row = try cloud.remote(number), let before = known.rows[number], row.isCertain,
            row.eTag.hasSameBytes(as: before.eTag), try row.key == known.key(of: number), try !isBeingMoved(row)
        else { return postpone() }
        // What lies below it was looked at before, but for what was about to be sent, and cannot have arrived.
        for child in try row.children.fetch() {
            guard !child.isCertain, try !isActive(child.node) else { return postpone() }
            cloud.context.delete(child)
        }
        // What is detached here was to be gone there.
        guard let node = row.node, node.trunk != .detached else { return cloud.context.delete(row) }
        let operations = try cloud.operations(for: node)
        guard try !isActive(node), try !hasBegunMove(node) else { return postpone() }
        let works = try operations.map { try $0.payload(as: CloudWork.self).kind }
        // What was not sent is worth more than that somebody has deleted what was there before.
        if try !isProven || !node.children.isEmpty || works.contains(where: { $0 != .delete }) {
            // An operation below it needs the folder. Once it has found the folder missing, it waits for the operation that makes it again.
            guard try !isAnyActive(below: node) else { return postpone() }
            try release(operations, of: node)
            let sections = row.snapshot.sections(isSealed: cloud.facts.isSealed)
            cloud.context.delete(row)
            if node.isFolder || !works.contains(.content) { try cloud.sendAnew(node, sections) }
            return try tell(.kept(node))
        }
        let (id, path, link) = (node.id, node.path, node.link)
        cloud.context.delete(row)
        cloud.context.delete(node)
        try tell(.deleted(id, path: path, link: link))
    }

    /// Resumes uploads that wait for a decision about a conflict: the other version is gone.
    private func release(_ operations: [QueuedOperation], of node: CloudNode) throws {
        try cloud.forgetConflict(of: node.id.number)
        for operation in operations where operation.constraint == CloudAccount.conflict.rawValue { operation.retry() }
    }

    private func isAnyActive(below node: CloudNode) throws -> Bool {
        var isAnyActive = false
        try cloud.walk(node) { child, _ in
            isAnyActive = try isActive(child)
            return isAnyActive ? .stop : .proceed
        }
        return isAnyActive
    }

    private func isActive(_ node: CloudNode?) throws -> Bool {
        guard let node else { return false }
        return try cloud.operations(for: node).contains { $0.status == .active }
    }
}

extension QueuedOperation {
    /// Whether its handler was started ever.
    fileprivate var hasBegun: Bool {
        // An attempt that has lost its connection does not count, and may have been carried out.
        status == .active || attempts > 0 || crashes > 0 || !failures.list.isEmpty
    }
}

extension RemoteNode {
    /// What is known to lie in this folder under a segment.
    func child(_ segment: String) throws -> RemoteNode? {
        try children.where { $0.segment == segment }.first
    }

    /// The same of one kind.
    func child(_ segment: String, isFolder: Bool) throws -> RemoteNode? {
        try children.where { $0.segment == segment && $0.isFolder == isFolder }.first
    }
}
