import Strata
import StrataPipeline

/// Applies the steps of a pull in one context.
final class PullApplication {
    private let cloud: CloudContext
    private let handler: any CloudHandler
    private let known: LastSyncedTree
    private let tree: RemoteTree
    private(set) var summary = PullSummary()

    init(_ cloud: CloudContext, handler: any CloudHandler, known: LastSyncedTree, tree: RemoteTree) {
        (self.cloud, self.handler, self.known, self.tree) = (cloud, handler, known, tree)
    }

    func apply(_ step: PullPlan.Step) throws {
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

    private func deferStep() { summary.deferred += 1 }

    // MARK: Present objects

    private func add(_ object: RemoteObject) throws {
        guard let (parent, folder) = try parentFolders(of: object), let segment = object.key.last,
            var name = object.key.name?.name
        else { return deferStep() }
        // An upload may have sent the object since the pull began.
        guard try isFree(segment, in: parent, for: object) else { return deferStep() }
        if let taken = try cloud.child(name, of: folder) {
            if taken.isFolder, object.isFolder, taken.remote == nil { return try adopt(taken, parent, segment, object) }
            if try isInPlace(taken) {
                // Two names at the remote collide under the local name rule.
                name = try cloud.freeName(for: name, in: folder)
            } else if try !giveWay(taken) {
                return deferStep()
            }
        }
        let place = cloud.info.rule.normalized(name)
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
        record(object, row)
        try tell(.new(node))
    }

    /// Whether no known object occupies the place. A folder beside a file, or a file beside a folder, is allowed if the
    /// remote has both.
    private func isFree(_ segment: String, in parent: RemoteNode, for object: RemoteObject) throws -> Bool {
        guard try parent.child(segment, isFolder: object.isFolder) == nil else { return false }
        guard try parent.child(segment, isFolder: !object.isFolder) != nil else { return true }
        return tree.places.contains(RemoteLocation(key: object.key, isFolder: !object.isFolder))
    }

    /// Whether a node has the same parent at the remote as here, and no move is queued for it.
    private func isInPlace(_ node: CloudNode) throws -> Bool {
        guard let row = node.remote, row.isCertain, row.parent?.id.rawValue == node.parent?.id.rawValue else {
            return false
        }
        return try !isMoving(node)
    }

    /// Whether a move of a node is queued or running.
    private func isMoving(_ node: CloudNode) throws -> Bool {
        try cloud.operations(for: node).contains { try $0.payload(as: CloudWork.self).kind == .move }
    }

    /// Whether a move of a node is running, or may have run.
    private func hasBegunMove(_ node: CloudNode) throws -> Bool {
        try cloud.operations(for: node).contains { operation in
            try operation.payload(as: CloudWork.self).kind == .move && operation.hasBegun
        }
    }

    /// The parent folder of an object, at the remote and here; nil if it is not known yet, or was deleted here.
    private func parentFolders(of object: RemoteObject) throws -> (RemoteNode, CloudNode)? {
        guard let key = object.key.parent, let top = key.segments.first.flatMap({ Trunk(rawValue: $0) }),
            let root = cloud.info.trunks[top], var parent = try cloud.remote(root.rawValue)
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

    /// If both sides have created the same folder, they become one node.
    private func adopt(_ node: CloudNode, _ parent: RemoteNode, _ segment: String, _ object: RemoteObject) throws {
        guard let row = try make(of: node, parent, segment, isFolder: true) else { return }
        try recordWithoutUpload(of: node, object, row)
    }

    /// Records the versions of a folder, unless an upload of its node is queued.
    ///
    /// A queued upload must not replace metadata that other machines have written. Because the version stays as it was
    /// when the upload was queued, the upload's condition fails and the upload reports a conflict.
    private func recordWithoutUpload(of node: CloudNode, _ object: RemoteObject, _ row: RemoteNode) throws {
        let works = try cloud.operations(for: node).map { try $0.payload(as: CloudWork.self).kind }
        guard !works.contains(.content) else { return }
        let before = row.snapshot
        record(object, row)
        let sections = changes(row, since: before)
        if !sections.isEmpty { try tell(.modified(node, sections)) }
    }

    /// Gives a node that was not sent to its place another name, unless an attempt to send it has begun.
    private func giveWay(_ node: CloudNode) throws -> Bool {
        guard let parent = node.parent else { return false }
        let operations = try cloud.operations(for: node)
        // If an attempt has begun, its object may already be at the remote. The pull may have found this very object.
        guard try !operations.contains(where: { try $0.hasBegun }) else { return false }
        let path = node.path
        // The new name must be in a place that no other operation fills or frees. Otherwise the operations of this node
        // would run after such an operation, which may wait for them.
        let name = try cloud.freeName(for: node.name, in: parent.id, besides: [], isForNow: true)
        for operation in operations {
            var work = try operation.payload(as: CloudWork.self)
            guard let old = work.place, old.name.hasSameBytes(as: node.name), old.parent == parent.id.rawValue else {
                continue
            }
            work.place?.name = name
            try operation.setPayload(work)
            let place = CloudResource.place(cloud.info.rule.normalized(name), in: parent.id)
            cloud.declare(operation, reads: [], writes: [place], work)
        }
        cloud.setName(name, of: node)
        try tell(.displaced(node, from: path))
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

    private func record(_ object: RemoteObject, _ row: RemoteNode) {
        row.isListed = true
        row.record(sidecars: tree.sidecars(of: object))
        guard !object.isFolder else { return }
        (row.eTag, row.size, row.modifiedAt) = (object.eTag?.stored, object.size, object.modifiedAt)
        row.contentPrint = nil
    }

    private func update(_ number: Int64, _ object: RemoteObject) throws {
        // A node that was deleted here is deleted at the remote only in the known version. So the known version must
        // not change.
        guard let row = try unchanged(number), let node = row.node, node.trunk != .detached else { return deferStep() }
        let before = row.snapshot
        record(object, row)
        try tell(.modified(node, changes(row, since: before)))
    }

    /// The sections that have another version than before.
    private func changes(_ row: RemoteNode, since before: RemoteNode.Row) -> ContentSections {
        var sections: ContentSections = []
        if !before.eTag.hasSameBytes(as: row.eTag) {
            sections.formUnion(cloud.info.isEncrypted ? .all : [.header, .data])
        }
        if !before.metadataETag.hasSameBytes(as: row.metadataETag) { sections.insert(.metadata) }
        if !before.thumbnailETag.hasSameBytes(as: row.thumbnailETag) { sections.insert(.thumbnail) }
        return sections
    }

    /// The known remote state of a node. Nil if it has changed since the pull began, or if a queued operation would
    /// change the content.
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

    /// Whether a folder above the row is being moved, or may already have been moved.
    private func isBeingMoved(_ row: RemoteNode) throws -> Bool {
        try row.lineage.dropFirst().contains { folder in
            guard let node = folder.node, !node.isTrunk else { return false }
            return try hasBegunMove(node)
        }
    }

    private func move(_ number: Int64, to object: RemoteObject) throws {
        // The row has reached this key together with its folder.
        if let row = try cloud.remote(number), row.isCertain, row.eTag.hasSameBytes(as: known.rows[number]?.eTag),
            try row.key == object.key
        {
            return row.isListed = true
        }
        // A queued upload looks up the place of its node when it runs, so it follows the move. A running upload does
        // not.
        guard let row = try unmoved(number), try !isActive(row.node),
            let (parent, folder) = try parentFolders(of: object),
            let segment = object.key.last,
            let name = object.key.name?.name, try isFree(segment, in: parent, for: object)
        else { return deferStep() }
        guard let node = row.node, node.trunk != .detached else {
            (row.parent, row.segment) = (parent, segment)
            return
        }
        let moves = try cloud.operations(for: node).filter { try $0.payload(as: CloudWork.self).kind == .move }
        guard try !moves.contains(where: { try $0.hasBegun }) else { return deferStep() }
        if let taken = try cloud.child(name, of: folder), taken !== node {
            guard try !isInPlace(taken), try giveWay(taken) else { return deferStep() }
        }
        // This machine may have moved the destination folder into the node.
        guard node !== folder, !folder.ancestors.contains(where: { $0 === node }) else { return deferStep() }
        // The other machine's move came first, so this machine's queued moves are dropped.
        for move in moves { move.skip() }
        let path = node.path
        (row.parent, row.segment) = (parent, segment)
        record(object, row)
        if node.trunk != folder.trunk { try cloud.setTrunk(folder.trunk, of: node) }
        (node.parent, node.name, node.place) = (folder, name, cloud.info.rule.normalized(name))
        // The path is compared byte by byte: for a file system, another Unicode spelling of the same letters is another
        // name.
        if !node.path.description.hasSameBytes(as: path.description) { try tell(.moved(node, from: path)) }
    }

    /// Converts a file to a folder, because another machine has put an object below it. The node stays the same and
    /// keeps its link.
    private func convert(_ number: Int64, _ object: RemoteObject) throws {
        guard let row = try unmoved(number), let node = row.node, node.trunk != .detached, let parent = row.parent,
            try !isActive(node), try parent.child(row.segment, isFolder: true) == nil
        else { return deferStep() }
        (row.isFolder, row.isListed, node.isFolder) = (true, true, true)
        try recordWithoutUpload(of: node, object, row)
    }

    /// Deletes the row of a file whose delete was given up, so that the next pull finds the file as new.
    private func forget(_ number: Int64) throws {
        guard let row = try cloud.remote(number), row.node == nil, !row.isFolder, row.isCertain else { return }
        // A delete of the row or of a folder above it is queued or running.
        if try row.lineage.contains(where: { try cloud.hasOperations($0.id.rawValue) }) { return }
        cloud.context.delete(row)
        deferStep()
    }

    // MARK: Missing objects

    /// - Parameter isProven: whether the remote has shown the object since this machine sent it. If not, its absence
    ///   does not prove a delete, and the local node is kept.
    private func remove(_ number: Int64, isProven: Bool) throws {
        guard let row = try cloud.remote(number), let before = known.rows[number], row.isCertain,
            row.eTag.hasSameBytes(as: before.eTag), try row.key == known.key(of: number), try !isBeingMoved(row)
        else { return deferStep() }
        // Earlier steps have handled the known objects below the row. The remaining rows are of uploads that had not
        // finished, and without the folder these cannot have arrived.
        for child in try row.children.fetch() {
            guard !child.isCertain, try !isActive(child.node) else { return deferStep() }
            cloud.context.delete(child)
        }
        // A detached node was about to be deleted at the remote anyway.
        guard let node = row.node, node.trunk != .detached else { return cloud.context.delete(row) }
        let operations = try cloud.operations(for: node)
        guard try !isActive(node), try !hasBegunMove(node) else { return deferStep() }
        let works = try operations.map { try $0.payload(as: CloudWork.self).kind }
        // Changes that were not uploaded take precedence over a delete by another machine.
        if try !isProven || !node.children.isEmpty || works.contains(where: { $0 != .delete }) {
            // A running operation below the node needs the folder. After it has found the folder missing, it waits for
            // the operation that creates the folder again.
            guard try !isAnyActive(below: node) else { return deferStep() }
            try release(operations, of: node)
            let sections = row.snapshot.sections(isEncrypted: cloud.info.isEncrypted)
            cloud.context.delete(row)
            if node.isFolder || !works.contains(.content) { try cloud.requeueUpload(node, sections) }
            return try tell(.restored(node))
        }
        let (id, path, link) = (node.id, node.path, node.link)
        cloud.context.delete(row)
        cloud.context.delete(node)
        try tell(.deleted(id, path: path, link: link))
    }

    /// Resumes uploads that wait for the resolution of a conflict. The other version is deleted, so the conflict is
    /// over.
    private func release(_ operations: [QueuedOperation], of node: CloudNode) throws {
        try cloud.forgetConflict(of: node.id.rawValue)
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
    /// Whether an attempt of the operation may have changed the remote.
    fileprivate var hasBegun: Bool {
        get throws {
            // An attempt that has lost its connection is not counted in `attempts`, but may have taken effect. A process
            // that was killed while several operations ran is not counted in `crashes`, but leaves a suspicion.
            if status == .active || attempts > 0 || crashes > 0 || suspicion != nil || !failures.list.isEmpty {
                return true
            }
            // Nothing in the known state shows that a move was sent, and none of these values shows an attempt that was
            // cancelled when the account was closed. So a move has begun with its first start. The exception is a move
            // that waits for a pull: the remote has refused it.
            guard startedAt != nil, constraint != CloudAccount.pullToEnd.rawValue else { return false }
            return try payload(as: CloudWork.self).kind == .move
        }
    }
}

extension RemoteNode {
    /// The known row in this folder with a segment.
    func child(_ segment: String) throws -> RemoteNode? {
        try children.where { $0.segment == segment }.first
    }

    /// The known row in this folder with a segment and a kind.
    func child(_ segment: String, isFolder: Bool) throws -> RemoteNode? {
        try children.where { $0.segment == segment && $0.isFolder == isFolder }.first
    }
}
