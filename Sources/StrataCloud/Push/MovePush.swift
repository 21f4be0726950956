import Foundation
import Strata
import StrataPipeline

/// Moves a node to its current place, in as many steps as the remote needs.
struct MovePush: Push {
    let session: PushSession

    func run() async throws -> Outcome {
        let (work, info) = (attempt.payload, info)
        let target = try session.target()
        // A node that never arrived at the remote is not moved: its upload goes to its new place.
        guard let source = target.key, target.remote != nil else { return .done }
        let place = try await destination(of: work)
        guard let place, !place.isBelow else {
            // Another machine has deleted the destination folder, or the destination folder is inside the node.
            try target.checkMovedOn(work, isBelow: place != nil)
            return try await moveToTemporaryName(from: source)
        }
        let destination = place.key
        if place.isTaken { return try await session.renameAwayFromConflict(destination) }
        // A pull may have found that another machine has converted the file to a folder.
        let isFolder = target.remote?.isFolder ?? work.isFolder
        // After an interrupted upload, the node may or may not be at the remote.
        let isThere = try await isThere(target, at: source)
        var wasKnown = true
        if !isFolder, let row = target.remote { wasKnown = try await session.isKnown(row, at: source) }
        var sidecars: [UTF8Text: RemoteObject] = [:]
        var carried: [RemoteKey: RemoteObject] = [:]
        if source != destination, isThere {
            try await session.pusher.makeTrunk(of: destination)
            let marks = target.remote?.marks ?? []
            try await session.deleteSidecars(leftAt: destination, marks)
            if isFolder, try await session.hasContentOfOthers(at: destination, target.remote) {
                return try await session.renameAwayFromConflict(destination)
            }
            do {
                if isFolder, try await isContentAlone(at: source, destination) {
                    _ = try await session.makeFolderOfContent(source, target.remote)
                }
                if isFolder, try await !remote.capabilities().hasFolders {
                    carried = try await carryAll(source, to: destination)
                } else {
                    let capabilities = try await remote.capabilities()
                    let isSame = try await session.carryOne(
                        source,
                        to: destination,
                        isFolder: isFolder,
                        capabilities,
                        target.remote
                    )
                    wasKnown = wasKnown && isSame
                }
                sidecars = try await carrySidecars(of: target.remote, from: source, to: destination)
            } catch let error as RemoteError where error.code == .conditionFailed || error.code == .occupied {
                return try await session.renameAwayFromConflict(destination)
            } catch let error as RemoteError where error.code == .notFound {
                // A pull converts the node to a folder here, and the move is then repeated.
                if !isFolder, try await session.isConvertedByOthers(source) {
                    // A node that was deleted here does not have a place any more, and the other machine's folder
                    // stays.
                    guard let node = target.node, node.trunk != .detached else { return .done }
                    return try await session.outcome(ofMissingFolder: error)
                }
                // Another machine has deleted the node. The local node takes precedence, and is uploaded to its current
                // place.
                return session.requeueUpload()
            }
        }
        // A version that another machine has written before the move does not count as known: the pull finds it.
        var tags = isThere && wasKnown ? try await tags(at: destination, isFolder: isFolder) : [:]
        if !isFolder, source != destination, let object = tags[destination], try await remote.capabilities().moves,
            let row = target.remote, row.isCertain, !ETag.isSame(object.eTag, row.eTag),
            try await !session.isOwn(object, anyOf: row.hashes)
        {
            // Another machine may have written the file between the check and the move, which has no condition.
            tags = [:]
        }
        if isFolder { try await recognise(tags, of: work.node, at: destination, &carried) }
        return .done { [sidecars, carried, tags] context in
            let cloud = CloudContext(context, info)
            guard let remote = try cloud.remote(work.node), let place = work.place,
                let parent = try cloud.remote(place.parent), !parent.isWithin(work.node)
            else { return }
            (remote.parent, remote.segment, remote.isListed) = (parent, RemoteKey.escape(place.name), false)
            try remote.record(tags, at: destination, carried)
            for (mark, object) in sidecars { remote.setETag(object.eTag, ofMark: mark.string) }
        }
    }

    /// Whether the remote has the folder neither at the source nor at the destination. Then its content may be alone.
    private func isContentAlone(at source: RemoteKey, _ destination: RemoteKey) async throws -> Bool {
        guard try await remote.capabilities().hasFolders, try await remote.head(source) == nil else { return false }
        return try await remote.head(destination) == nil
    }

    /// Puts a node that is about to be moved on or deleted into its trunk under a temporary name. Operations queued
    /// after the move rely on the node's place being free, and on the folder that it leaves being empty.
    private func moveToTemporaryName(from source: RemoteKey) async throws -> Outcome {
        guard let segment = source.segments.first, let trunk = Trunk(rawValue: segment).flatMap({ info.trunks[$0] })
        else { return .done }
        let temporaryName = PushSession.temporaryName(for: attempt.payload.node)
        return try await session.renameAwayFromConflict(
            RemoteKey(escaped: [segment]).appending(temporaryName),
            as: temporaryName,
            in: trunk.rawValue
        )
    }

    private func isThere(_ target: PushTarget, at key: RemoteKey) async throws -> Bool {
        guard let row = target.remote, !row.isCertain else { return true }
        let there: RemoteObject?
        do { there = try await remote.head(key) } catch let error as RemoteError where error.code == .invalidKey {
            return false
        }
        guard let there, there.isFolder == row.isFolder else { return false }
        if there.isFolder { return true }
        return try await session.isOwn(there, anyOf: row.sentHashes)
    }

    /// The destination of a move. Also tells whether another object is known to be there, and whether the destination
    /// is below the node itself. Nil if the remote does not have the folder.
    private func destination(of work: CloudWork) async throws -> (key: RemoteKey, isTaken: Bool, isBelow: Bool)? {
        let info = info
        return try await stack.overStore { context in
            guard let place = work.place, let parent = try CloudContext(context, info).remote(place.parent) else {
                return nil
            }
            let other = try parent.child(RemoteKey.escape(place.name))
            let isTaken = other.map { $0.id.rawValue != work.node } ?? false
            return try (parent.key.appending(place.name), isTaken, parent.isWithin(work.node))
        }
    }

    /// Moves everything below a folder of a remote whose folders are only key prefixes. Objects that were moved before
    /// are not at the source any more, so an interrupted move continues where it stopped.
    ///
    /// - Returns: the versions that were moved, by their new keys.
    private func carryAll(
        _ source: RemoteKey,
        to destination: RemoteKey
    ) async throws -> [RemoteKey: RemoteObject] {
        let capabilities = try await remote.capabilities()
        var carried: [RemoteKey: RemoteObject] = [:]
        try await remote.createFolder(destination)
        var folders: [RemoteKey] = []
        var waiting = [source]
        while let folder = waiting.popLast() {
            folders.append(folder)
            for object in try await remote.everything(in: folder) {
                let rest = object.key.segments.dropFirst(source.segments.count)
                let key = RemoteKey(escaped: destination.segments + rest)
                if object.isFolder {
                    try await remote.createFolder(key)
                    waiting.append(object.key)
                } else {
                    carried[key] = try await session.carry(object, to: key, capabilities)
                }
            }
        }
        for folder in folders.reversed() { try await remote.delete(folder, isFolder: true, if: .none) }
        return carried
    }

    /// Moves the sidecars of a file or a folder after the object was moved. Sidecars that an earlier attempt has moved
    /// are not at the source any more.
    ///
    /// - Returns: the moved sidecars by marks, as far as they have the known versions.
    private func carrySidecars(
        of row: RemoteNode.Row?,
        from source: RemoteKey,
        to destination: RemoteKey
    ) async throws -> [UTF8Text: RemoteObject] {
        guard let row else { return [:] }
        let capabilities = try await remote.capabilities()
        var carried: [UTF8Text: RemoteObject] = [:]
        // Other machines may have given the folder content that no pull has found yet.
        let marks = row.isFolder && !row.marks.contains(Sidecar.content) ? row.marks + [Sidecar.content] : row.marks
        for mark in marks {
            let (from, to) = (source.sidecar(mark), destination.sidecar(mark))
            guard let there = try await remote.head(from), !there.isFolder else {
                // An earlier attempt may have moved the content, and the remote may have given it another version.
                if mark == Sidecar.content, let moved = try await remote.head(to),
                    try await session.isVersion(moved, of: row)
                {
                    carried[UTF8Text(mark)] = moved
                }
                continue
            }
            do {
                _ = try await session.carryOne(from, to: to, isFolder: false, capabilities)
            } catch let error as RemoteError
                where error.code == .conditionFailed || error.code == .occupied || error.code == .notFound
            {
                // Another machine has written the sidecar at the new place, or has deleted it. The pull finds the
                // change.
                continue
            }
            if ETag.isSame(there.eTag, row.eTag(ofMark: mark)?.stored) {
                carried[UTF8Text(mark)] = try await remote.head(to)
            }
        }
        return carried
    }
}

extension RemoteNode {
    /// Whether this is a node, or is below it.
    fileprivate func isWithin(_ node: Int64) -> Bool { lineage.contains { $0.id.rawValue == node } }
}
