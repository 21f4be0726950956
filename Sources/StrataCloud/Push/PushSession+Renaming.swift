import Strata
import StrataPipeline

/// Other names for nodes, if the remote rejects a name or another machine has taken the place.
extension PushSession {
    /// The outcome of an operation whose name the remote rejects, if the rejection is not final. A node that is about
    /// to be moved, or was deleted here, gets a temporary name until then.
    ///
    /// - Returns: nil if a person must choose another name.
    func renameAwayFromRefusal() async throws -> Outcome? {
        let (info, id, work) = (info, attempt.id, attempt.payload)
        guard let place = work.place else { return nil }
        let (key, isGone, isMovedOn) = try await stack.overStore { context in
            let cloud = CloudContext(context, info)
            let moves = try cloud.queued(for: work.node, .move).filter { $0.id > id }
            let isGone = try Self.isGone(context.find(cloud.nodeID(work.node)))
            return try (cloud.remote(place.parent)?.key, isGone, !moves.isEmpty)
        }
        guard isGone || isMovedOn else { return nil }
        let temporaryName = Self.temporaryName(for: work.node)
        if place.name.hasBytePrefix(temporaryName) {
            // The remote rejects even the temporary name. The node is not created, or stays at its place until it is
            // deleted there.
            guard isGone else { return nil }
            return work.kind == .move
                ? .done { CloudContext($0, info).deleteLater(work.node) } : try await DeletePush(session: self).run()
        }
        // Without a parent folder the node is not sent.
        guard let key else { return .retry(after: .zero) }
        return try await renameAwayFromConflict(key.appending(temporaryName), as: temporaryName)
    }

    /// Whether a node was deleted here, or will not be at any remote.
    private static func isGone(_ node: CloudNode?) -> Bool { node.map { $0.trunk == .detached } ?? true }

    /// The temporary name of a node until it is moved or deleted.
    static func temporaryName(for node: Int64) -> String { "strata-\(node)" }

    /// Renames a node, because another machine has put an object at the place where the node would be created. The new
    /// name is a free one. A node that was deleted here in the meantime need not be created, except folders, which
    /// other nodes may pass through. A move is still carried out for a deleted node, because its place must become free
    /// for other nodes. The node is deleted after the operations that read it.
    ///
    /// - Parameters:
    ///   - name: the new name, with a number appended if the name is taken; by default the intended name.
    ///   - other: the folder to put the node into instead of the intended one.
    func renameAwayFromConflict(
        _ key: RemoteKey,
        as name: String? = nil,
        in other: Int64? = nil
    ) async throws -> Outcome {
        let (info, id, work) = (info, attempt.id, attempt.payload)
        // The folder may contain objects of other machines that are not known yet.
        let taken = try await names(in: key.parent ?? .root)
        try await stack.overStore { context in
            let cloud = CloudContext(context, info)
            guard let operation = try context.find(id) else { return }
            let node = try context.find(cloud.nodeID(work.node))
            let isGone = Self.isGone(node)
            // The folder of this operation, even if a later move is queued.
            guard let number = other ?? work.place?.parent ?? node?.parent?.id.rawValue,
                !isGone || work.kind == .move || work.isFolder
            else {
                operation.skip()
                try cloud.forgetUncertain(work.node)
                return try context.commit()
            }
            let folder = cloud.nodeID(number)
            // An object that is known to be there may be elsewhere in the local tree, and its move or delete at the
            // remote may still be queued.
            let known = try cloud.remote(number)?.children.fetch().filter { $0.id.rawValue != work.node } ?? []
            let ownName = isGone ? nil : work.place?.name ?? node?.name
            let name = try cloud.freeName(
                for: name ?? ownName ?? Self.temporaryName(for: work.node),
                in: folder,
                besides: taken.union(
                    known.compactMap { RemoteKey(escaped: [$0.segment]).name?.name }.map {
                        UTF8Text(info.rule.normalized($0))
                    }
                ),
                isForNow: true
            )
            // If a later move is queued, the node has the other name only until then, so the local node is not renamed.
            let isLast = try !isGone && cloud.queued(for: work.node, .move).allSatisfy { $0.id == id }
            if let node, isLast, let place = work.place, place.name.hasSameBytes(as: node.name),
                node.parent?.id.rawValue == place.parent
            {
                cloud.setName(name, of: node)
            }
            // A node that is being moved may still be at the place of an unanswered upload.
            if work.kind != .move, let remote = try cloud.remote(work.node), !remote.isCertain {
                remote.segment = RemoteKey.escape(name)
            }
            var work = work
            work.place?.parent = number
            work.place?.name = name
            try operation.setPayload(work)
            cloud.declare(operation, reads: [], writes: [.place(info.rule.normalized(name), in: folder)], work)
            // The operation that deletes the intended folder does not find the node, so a separate delete is queued.
            if isGone, other != nil { cloud.deleteLater(work.node) }
            operation.retry()
            try context.commit()
        }
        return .retry(after: .zero)
    }

    private func names(in folder: RemoteKey) async throws -> Set<UTF8Text> {
        do {
            let names = try await remote.everything(in: folder).compactMap { $0.key.name?.name }
            return Set(names.map { UTF8Text(info.rule.normalized($0)) })
        } catch let error as RemoteError where error.code == .invalidKey {
            // A folder with a key that the remote rejects does not contain any objects.
            return []
        }
    }
}

extension CloudContext {
    /// The operations of one kind that are queued for a node.
    fileprivate func queued(for number: Int64, _ kind: CloudWork.Kind) throws -> [QueuedOperation] {
        try context.fetch(queued(for: number)).filter { try $0.payload(as: CloudWork.self).kind == kind }
    }

    /// Queues a delete at the remote of a node that was deleted here, after all operations queued for the node.
    fileprivate func deleteLater(_ number: Int64) {
        queue(.delete(number), reads: [], writes: [.node(nodeID(number))])
    }

    /// Deletes the uncertain rows of a node whose upload may have gone to a place that another object occupies.
    fileprivate func forgetUncertain(_ number: Int64) throws {
        guard let remote = try remote(number), !remote.isCertain else { return }
        for row in try remote.subtree().reversed() { context.delete(row) }
    }
}
