import Foundation
import Strata
import StrataPipeline

extension Pusher {
    /// Moves a node to its current place, in as many steps as the remote needs.
    func move(_ attempt: Attempt<CloudWork>) async throws -> Outcome {
        let (work, info) = (attempt.payload, info)
        let target = try await target(of: work)
        // A node that never arrived at the remote is not moved: its upload goes to its new place.
        guard let source = target.key, target.remote != nil else { return .done }
        let place = try await destination(of: work)
        guard let place, !place.isBelow else {
            // Another machine has deleted the destination folder, or the destination folder is inside the node.
            try target.checkMovedOn(work, isBelow: place != nil)
            return try await moveToTemporaryName(attempt, from: source)
        }
        let destination = place.key
        if place.isTaken { return try await renameAwayFromConflict(attempt, destination) }
        // A pull may have found that another machine has converted the file to a folder.
        let isFolder = target.remote?.isFolder ?? work.isFolder
        // After an interrupted upload, the node may or may not be at the remote.
        let isThere = try await isThere(target, at: source)
        var wasKnown = true
        if !isFolder, let row = target.remote { wasKnown = try await isKnown(row, at: source) }
        var sidecars: [UTF8Text: RemoteObject] = [:]
        var carried: [RemoteKey: RemoteObject] = [:]
        if source != destination, isThere {
            try await makeTrunk(of: destination)
            let marks = target.remote?.marks ?? []
            try await deleteSidecars(leftAt: destination, marks)
            if isFolder, try await hasContentOfOthers(at: destination, target.remote) {
                return try await renameAwayFromConflict(attempt, destination)
            }
            do {
                if isFolder, try await isContentAlone(at: source, destination) {
                    _ = try await makeFolderOfContent(source, target.remote)
                }
                if isFolder, try await !remote.capabilities().hasFolders {
                    carried = try await carryAll(source, to: destination)
                } else {
                    let capabilities = try await remote.capabilities()
                    let isSame = try await carryOne(
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
                return try await renameAwayFromConflict(attempt, destination)
            } catch let error as RemoteError where error.code == .notFound {
                // A pull converts the node to a folder here, and the move is then repeated.
                if !isFolder, try await isConvertedByOthers(source) {
                    // A node that was deleted here does not have a place any more, and the other machine's folder
                    // stays.
                    guard let node = target.node, node.trunk != .detached else { return .done }
                    return try await outcome(ofMissingFolder: error, attempt)
                }
                // Another machine has deleted the node. The local node takes precedence, and is uploaded to its current
                // place.
                return requeueUpload(work)
            }
        }
        // A version that another machine has written before the move does not count as known: the pull finds it.
        var tags = isThere && wasKnown ? try await tags(at: destination, isFolder: isFolder) : [:]
        if !isFolder, source != destination, let object = tags[destination], try await remote.capabilities().moves,
            let row = target.remote, row.isCertain, !ETag.isSame(object.eTag, row.eTag),
            try await !isOwn(object, anyOf: row.hashes)
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

    /// Whether another machine has converted a file to a folder.
    func isConvertedByOthers(_ key: RemoteKey) async throws -> Bool {
        try await remote.head(key.sidecar(Sidecar.content)) != nil
    }

    /// Puts a node that is about to be moved on or deleted into its trunk under a temporary name. Operations queued
    /// after the move rely on the node's place being free, and on the folder that it leaves being empty.
    private func moveToTemporaryName(_ attempt: Attempt<CloudWork>, from source: RemoteKey) async throws -> Outcome {
        guard let segment = source.segments.first, let trunk = Trunk(rawValue: segment).flatMap({ info.trunks[$0] })
        else { return .done }
        let temporaryName = Self.temporaryName(for: attempt.payload.node)
        return try await renameAwayFromConflict(
            attempt,
            RemoteKey(escaped: [segment]).appending(temporaryName),
            as: temporaryName,
            in: trunk.rawValue
        )
    }

    /// Whether the object at a key has the last known version, or is missing because it was moved before.
    func isKnown(_ row: RemoteNode.Row, at key: RemoteKey) async throws -> Bool {
        guard row.isCertain, let there = try await remote.head(key) else { return true }
        return ETag.isSame(there.eTag, row.eTag)
    }

    private func isThere(_ target: Target, at key: RemoteKey) async throws -> Bool {
        guard let row = target.remote, !row.isCertain else { return true }
        let there: RemoteObject?
        do { there = try await remote.head(key) } catch let error as RemoteError where error.code == .invalidKey {
            return false
        }
        guard let there, there.isFolder == row.isFolder else { return false }
        if there.isFolder { return true }
        return try await isOwn(there, anyOf: row.sentHashes)
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

    /// Moves a file, or a folder of a remote that has folders.
    ///
    /// - Returns: whether the object at the destination is known to be the previous object.
    func carryOne(
        _ source: RemoteKey,
        to destination: RemoteKey,
        isFolder: Bool,
        _ capabilities: RemoteCapabilities,
        _ row: RemoteNode.Row? = nil
    ) async throws -> Bool {
        do {
            if capabilities.moves || isFolder {
                try await remote.move(source, to: destination, isFolder: isFolder)
            } else {
                guard let file = try await remote.head(source),
                    let carried = try await carry(file, to: destination, capabilities)
                else { throw RemoteError(.notFound, "\(source) does not exist.", key: source) }
                if let row, row.isCertain { return ETag.isSame(carried.eTag, row.eTag) }
            }
            return true
        } catch let error as RemoteError where Self.mayBeDone.contains(error.code) {
            // An earlier attempt may have moved the object and lost the answer. Then the source is missing and the
            // destination exists.
            let isGone = try await remote.head(source) == nil
            guard isGone, let there = try await remote.head(destination), there.isFolder == isFolder else {
                throw error
            }
            // Otherwise one machine has deleted the source, and another one has created the destination.
            guard let row, !isFolder, !ETag.isSame(there.eTag, row.eTag) else { return true }
            if try await isOwn(there, anyOf: row.hashes) { return true }
            // A copy has a new version. If the content has not passed through this machine, only its size is known. The
            // pull finds the rest.
            guard row.hashes.isEmpty, let size = row.size, there.size == size else {
                throw RemoteError(.notFound, "\(source)", key: source)
            }
            return false
        }
    }

    private static let mayBeDone: Set<RemoteError.Code> = [.notFound, .conditionFailed, .occupied]

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
                    carried[key] = try await carry(object, to: key, capabilities)
                }
            }
        }
        for folder in folders.reversed() { try await remote.delete(folder, isFolder: true, if: .none) }
        return carried
    }

    /// Moves a file with a copy and a delete, in its current version: other machines may write or delete it at the same
    /// moment.
    ///
    /// - Returns: the version that was moved; nil if other machines have deleted the file.
    private func carry(
        _ file: RemoteObject,
        to destination: RemoteKey,
        _ capabilities: RemoteCapabilities
    ) async throws -> RemoteObject? {
        var next: RemoteObject? = file
        for _ in 0..<Self.carryLimit {
            guard let object = next else { return nil }
            let copy: RemoteObject
            do {
                copy = try await duplicate(object.key, to: destination, version: object.eTag, capabilities)
            } catch let error as RemoteError where error.code == .conditionFailed || error.code == .notFound {
                next = try await remote.head(object.key)
                // The source has not changed, so another object is at the destination.
                if error.code == .conditionFailed, let next, ETag.isSame(next.eTag, object.eTag?.stored) { throw error }
                continue
            }
            do {
                try await remote.delete(
                    object.key,
                    isFolder: false,
                    if: object.eTag.map { .matches($0) } ?? .none
                )
                return object
            } catch let error as RemoteError where error.code == .conditionFailed {
                // The copy is not the current version.
                try await remote.delete(destination, isFolder: false, if: copy.eTag.map { .matches($0) } ?? .none)
                next = try await remote.head(object.key)
            }
        }
        throw RemoteError(
            .unavailable,
            "\(file.key) keeps changing during its move.",
            key: file.key
        )
    }

    private static let carryLimit = 5
}

extension RemoteNode {
    /// Whether this is a node, or is below it.
    fileprivate func isWithin(_ node: Int64) -> Bool { lineage.contains { $0.id.rawValue == node } }
}
