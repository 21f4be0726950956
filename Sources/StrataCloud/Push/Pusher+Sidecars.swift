import Strata
import StrataPipeline

/// Sidecars follow their files and folders.
extension Pusher {
    /// Deletes the sidecars beside a free place. They belong to a deleted node, and would become part of the next node
    /// at this place.
    func deleteSidecars(leftAt key: RemoteKey, _ marks: [String]) async throws {
        for mark in marks where mark != Sidecar.content {
            let place = key.sidecar(mark)
            guard let left = try await remote.head(place), !left.isFolder else { continue }
            // The place is checked after the sidecar was found: an upload writes the content before its sidecars.
            guard try await isFree(key) else { return }
            do {
                try await remote.delete(place, isFolder: false, if: left.eTag.map { .matches($0) } ?? .none)
            } catch let error as RemoteError where error.code == .conditionFailed {
                // Another machine is writing the sidecar.
            }
        }
    }

    /// Whether neither a file nor a folder exists at a key.
    func isFree(_ key: RemoteKey) async throws -> Bool {
        guard try await remote.head(key) == nil else { return false }
        // At a remote without folders, a folder exists if any object is below it.
        if try await remote.capabilities().hasFolders { return true }
        let beside = try await remote.everything(in: key.parent ?? .root)
        guard beside.allSatisfy({ $0.key != key }) else { return false }
        return try await remote.everything(in: key).isEmpty
    }

    /// Moves the sidecars of a file or a folder after the object was moved. Sidecars that an earlier attempt has moved
    /// are not at the source any more.
    ///
    /// - Returns: the moved sidecars by marks, as far as they have the known versions.
    func carrySidecars(
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
                    try await isVersion(moved, of: row)
                {
                    carried[UTF8Text(mark)] = moved
                }
                continue
            }
            do { _ = try await carryOne(from, to: to, isFolder: false, capabilities) } catch let error as RemoteError
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

    /// Copies the sidecars of a file or a folder, in the known versions, or else in the current ones.
    ///
    /// - Returns: the copies by marks, and whether they have the known versions.
    ///
    /// - Parameter isFolder: whether the copy is a folder. The content of a file is not a sidecar.
    func duplicateSidecars(
        of row: RemoteNode.Row,
        at source: RemoteKey,
        to destination: RemoteKey,
        isFolder: Bool
    ) async throws -> [UTF8Text: SidecarCopy] {
        let capabilities = try await remote.capabilities()
        var copies: [UTF8Text: SidecarCopy] = [:]
        for mark in row.marks where isFolder || mark != Sidecar.content {
            let (from, to) = (source.sidecar(mark), destination.sidecar(mark))
            // An unanswered upload may or may not have arrived, so any version is copied.
            let isSent = !row.sentHashes(of: Sidecar.section(of: mark)).isEmpty
            let version = isSent ? nil : row.eTag(ofMark: mark)
            do {
                let copy = try await duplicate(from, to: to, version: version, capabilities)
                copies[UTF8Text(mark)] = SidecarCopy(object: copy, isKnown: version != nil)
            } catch let error as RemoteError where error.code == .notFound {
                // Another machine has deleted the sidecar.
            } catch let error as RemoteError where error.code == .conditionFailed {
                // Another machine has written the sidecar of the new copy. The pull finds the change.
                if try await remote.head(to) != nil { continue }
                let copy = try await duplicate(from, to: to, version: nil, capabilities)
                copies[UTF8Text(mark)] = SidecarCopy(object: copy, isKnown: false)
            }
        }
        return copies
    }

    /// Copies the sidecars of a folder beside the folder's copy.
    func copySidecars(
        of source: (key: RemoteKey, row: RemoteNode.Row),
        to key: RemoteKey,
        _ work: CloudWork,
        _ attempt: Attempt<CloudWork>
    ) async throws -> Outcome {
        let info = info
        // The hash lets a delete find the content even if no answer arrives.
        if source.row.hasContent, let hash = source.row.contentPrint {
            try await recordIntent(work) { remote, _ in remote.record(sending: hash) }
        }
        let copies = try await duplicateSidecars(of: source.row, at: source.key, to: key, isFolder: true)
        var content: (object: RemoteObject, hash: String?, seal: KnownSeal?)?
        if !source.row.isFolder {
            // The source was about to become a folder, and was deleted before that.
            let capabilities = try await remote.capabilities()
            do {
                let place = key.sidecar(Sidecar.content)
                content = try await duplicate(source.row, at: source.key, to: place, capabilities)
            } catch let error as RemoteError where error.code == .notFound {
                // Another machine has deleted the content.
                return try await sendContent(attempt)
            } catch let error as RemoteError where error.code == .conditionFailed {
                // Another machine has written the content of the copy. The pull finds the change.
            }
        }
        // The upload of the source never arrived.
        let isContentMissing = source.row.isFolder && !source.row.hasContent && work.sections?.contains(.data) ?? false
        return .done { [content] context in
            let cloud = CloudContext(context, info)
            let copy = try cloud.remoteForSending(work)
            copy.record(copied: copies, of: source.row)
            if let content { copy.record(content.object, of: .data, hash: content.hash, seal: content.seal) }
            if isContentMissing, let node = copy.node { try cloud.upload(node, .data) }
        }
    }
}

/// A copy of a sidecar.
struct SidecarCopy: Sendable {
    let object: RemoteObject
    /// Whether the copy has the known version.
    let isKnown: Bool
}

extension RemoteNode {
    /// Stores the versions of sidecars that were copied from another node.
    func record(copied copies: [UTF8Text: SidecarCopy], of source: RemoteNode.Row) {
        for (mark, copy) in copies {
            if mark.string == Sidecar.content {
                let (hash, seal) = copy.isKnown ? (source.contentPrint, source.knownSeal) : (nil, nil)
                record(copy.object, of: .data, hash: hash, seal: seal)
            } else {
                setETag(copy.object.eTag, ofMark: mark.string)
            }
        }
    }
}
