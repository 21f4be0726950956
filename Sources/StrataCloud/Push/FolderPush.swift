import Strata
import StrataPipeline

/// Creates a folder, or makes a folder from a file. Uploads and copies to a folder also create it first.
struct FolderPush: Push {
    let session: PushSession

    func run() async throws -> Outcome {
        let (work, info) = (attempt.payload, info)
        // Earlier versions have stored operations of this kind for files too, to send records of them. Such a file must
        // not become a folder.
        guard work.isFolder else { return .skip }
        let target = try session.target()
        guard let key = try await session.key(of: target) else { return session.createAtCurrentPlace() }
        if target.isTaken { return try await session.renameAwayFromConflict(key) }
        if target.remote.map({ !$0.isFolder }) ?? false,
            let outcome = try await makeFolder(target, key)
        {
            return outcome
        }
        // An existing folder is used as this folder, because that loses no data.
        if !target.isThere {
            try await session.recordIntent(work)
            do { try await remote.createFolder(key) } catch let error as RemoteError where error.code == .occupied {
                return try await session.renameAwayFromConflict(key)
            }
        }
        return .done { context in
            try CloudContext(context, info).remoteForSending(work).isCertain = true
        }
    }

    /// Creates a folder, if necessary, before its sidecars are written.
    ///
    /// - Returns: nil if the folder exists.
    func makeFolder(_ target: PushTarget, _ key: RemoteKey) async throws -> Outcome? {
        if let file = target.remote, !file.isFolder {
            return try await convert(file, at: key)
        }
        if target.isThere {
            guard try await remote.capabilities().hasFolders else { return nil }
            guard try await remote.head(key) == nil else { return nil }
            if try await session.makeFolderOfContent(key, target.remote) { return nil }
            // Another machine has deleted the folder. The pull creates it again, or deletes it here too.
            throw RemoteError(.parentMissing, "The folder \(key) no longer exists.", key: key)
        }
        var work = attempt.payload
        // The operation may have been queued before the file became a folder.
        work.place?.isFolder = true
        try await session.recordIntent(work)
        do { try await remote.createFolder(key) } catch let error as RemoteError where error.code == .occupied {
            return try await session.renameAwayFromConflict(key)
        }
        try await session.recordIntent(work) { remote, _ in remote.isCertain = true }
        return .snooze(for: .zero)
    }

    /// Converts a file that the remote has, or may have, to a folder. The content is moved beside the folder, because
    /// in most file systems a place cannot be a file and a folder.
    ///
    /// The content is moved first, then the folder is created, then both are recorded. A repeated attempt continues
    /// after the completed steps. If other machines look in between, they find the content of a folder, and treat the
    /// folder as existing.
    ///
    /// A version that another machine has written in the meantime is moved as well, but does not count as known: the
    /// next pull reports it.
    private func convert(_ file: RemoteNode.Row, at key: RemoteKey) async throws -> Outcome {
        let (work, content) = (attempt.payload, key.sidecar(Sidecar.content))
        let capabilities = try await remote.capabilities()
        // A delete that ends the conversion looks for the content at both places.
        try await session.recordIntent(work) { remote, _ in
            guard try remote.parent?.child(remote.segment, isFolder: true) == nil else {
                throw CloudError(
                    .pathOccupied,
                    "The remote has a file and a folder at \(key), which are two nodes here. The file cannot become that folder: give it another name.",
                    nodes: [work.node]
                )
            }
            remote.isConverting = true
        }
        if let there = try await remote.head(key), !there.isFolder {
            // This machine's file has not arrived, and another machine has put a file at the place.
            if !file.isCertain, try await !session.isVersion(there, of: file) {
                return try await session.renameAwayFromConflict(key)
            }
            _ = try await session.carryOne(key, to: content, isFolder: false, capabilities, file)
        } else if file.isCertain, try await remote.head(content) == nil {
            // Another machine has deleted the file. This machine's content takes precedence, and is uploaded to its
            // current place.
            return session.requeueUpload()
        }
        try await remote.createFolder(key)
        var moved = try await remote.head(content)
        let isSame = file.isCertain && ETag.isSame(moved?.eTag, file.eTag)
        // Another machine may have written the content at any earlier moment.
        var hash = file.contentPrint
        if !isSame, let there = moved {
            hash = try await sentHash(of: there, file.hashes)
            if hash == nil { moved = nil }
        }
        try await session.recordIntent(work) { [moved, hash] remote, _ in
            let seal = hash == file.contentPrint ? file.knownSeal : nil
            (remote.isFolder, remote.isConverting, remote.isCertain, remote.isListed) = (true, false, true, false)
            if let moved { remote.record(moved, of: .data, hash: hash, seal: seal) }
        }
        return .snooze(for: .zero)
    }

    /// The hash of the upload that an object contains; nil if it contains none of them.
    private func sentHash(of object: RemoteObject, _ hashes: [ContentHash]) async throws -> String? {
        for hash in hashes where try await session.isOwn(object, hash) { return hash.text }
        return nil
    }
}

/// Folders whose content is at the remote without them.
extension PushSession {
    /// Creates a folder of which the remote has only the content. Its conversion has not finished, or the folder was
    /// deleted before its content changed.
    ///
    /// - Returns: whether the remote had such content.
    func makeFolderOfContent(_ key: RemoteKey, _ row: RemoteNode.Row?) async throws -> Bool {
        guard row?.isFolder ?? false, row?.eTag != nil, try await remote.head(key.sidecar(Sidecar.content)) != nil
        else { return false }
        try await remote.createFolder(key)
        return true
    }

    /// Whether the content of another folder, without the folder itself, is at the place for this folder's content. The
    /// content stays, because another machine has written it.
    func hasContentOfOthers(at key: RemoteKey, _ row: RemoteNode.Row?) async throws -> Bool {
        guard let row, row.marks.contains(Sidecar.content),
            let there = try await remote.head(key.sidecar(Sidecar.content)), try await isFree(key)
        else { return false }
        return try await !isVersion(there, of: row)
    }
}
