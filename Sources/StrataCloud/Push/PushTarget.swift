import Strata
import StrataPipeline

/// The known state of the node that an operation works on.
struct PushTarget: Sendable {
    /// The node's current or future key; nil if the remote does not have the parent folder.
    let key: RemoteKey?
    /// The state that the remote has, or may have.
    let remote: RemoteNode.Row?
    /// The local node; nil if it was deleted.
    let node: CloudNode.Row?
    let path: TreePath?
    /// Whether another object is known to be where the node would be created.
    let isTaken: Bool
    /// The sections to upload: those of the operation, and those of the operations that it covers.
    let sections: ContentSections
    /// The queued operations that this operation covers, because it does the same.
    let covered: [ObjectID<QueuedOperation>]

    /// Whether the remote is known to have the node.
    var isThere: Bool { remote?.isCertain ?? false }

    /// Throws if the node still has the operation's parent folder. Called if the remote does not have this folder,
    /// or has it below the node.
    func checkMovedOn(_ work: CloudWork, isBelow: Bool = false) throws {
        guard let node, node.trunk != .detached, node.parent?.rawValue == work.place?.parent else { return }
        let message =
            if isBelow {
                "At the remote, the target folder of node \(work.node) is below the node. Skip this operation, "
                    + "move that folder, and then move the node."
            } else {
                "The remote does not have the parent folder of node \(work.node). Upload the folder first, and "
                    + "retry this operation."
            }
        throw CloudError(isBelow ? .cyclicMove : .noSuchNode, message, nodes: [work.node])
    }
}

extension PushSession {
    /// Reads the known state of the operation's node.
    func target() throws -> PushTarget {
        let (work, info) = (work, info)
        return try stack.readOverStore { context in
            let cloud = CloudContext(context, info)
            let remote = try cloud.remote(work.node)
            var key = try remote?.key
            var isTaken = false
            if remote == nil, let place = work.place, let parent = try cloud.remote(place.parent) {
                key = try parent.key.appending(place.name)
                isTaken = try parent.child(RemoteKey.escape(place.name)) != nil
            }
            let node = try context.find(cloud.nodeID(work.node))
            let covered = try node.map { try cloud.operations(for: $0, coveredBy: work) } ?? []
            return PushTarget(
                key: key,
                remote: remote?.snapshot,
                node: node?.snapshot,
                path: node?.path,
                isTaken: isTaken,
                sections: covered.reduce(work.sections ?? .data) { $0.union($1.sections) },
                covered: covered.map(\.id)
            )
        }
    }

    /// The key of an operation's node, after its trunk was created if necessary. Nil if the folder for the node was
    /// deleted at the remote, and the node has another parent by then, or none.
    func key(of target: PushTarget) async throws -> RemoteKey? {
        guard let key = target.key else {
            try target.checkMovedOn(work)
            return nil
        }
        try await pusher.makeTrunk(of: key)
        return key
    }
}

extension CloudContext {
    fileprivate func operations(
        for node: CloudNode,
        coveredBy work: CloudWork
    ) throws -> [(id: ObjectID<QueuedOperation>, sections: ContentSections)] {
        guard case .content(_, _, let upload) = work else { return [] }
        // The running operation itself is not read again.
        let waiting = queued(for: node.id.rawValue).where { $0.status != .active }
        return try context.fetch(waiting).compactMap { operation in
            guard case .content(_, _, let other) = try operation.payload(as: CloudWork.self), other.coalescesUploads
            else { return nil }
            // An encrypted file is always uploaded as a whole.
            guard info.isEncrypted || other.sections.isSubset(of: upload.sections) else { return nil }
            return (operation.id, other.sections)
        }
    }
}
