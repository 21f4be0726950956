import Strata
import StrataPipeline

/// What lies beside files and folders goes where they go.
extension Pusher {
    /// Deletes the sidecars beside a free place: they belong to a deleted node, and would become a part of the next
    /// node at this place.
    func deleteSidecars(leftAt key: RemoteKey, _ marks: [String]) async throws {
        for mark in marks where mark != Sidecar.content {
            let place = key.sidecar(mark)
            guard let left = try await remote.head(place), !left.isFolder else { continue }
            // In this order: content comes before what goes with it.
            guard try await isFree(key) else { return }
            do {
                try await remote.delete(place, isFolder: false, if: left.eTag.map { .matches($0) } ?? .none)
            } catch let error as RemoteError where error.code == .conditionFailed {
                // Another machine writes there.
            }
        }
    }

    /// Whether there is neither a file nor a folder.
    func isFree(_ key: RemoteKey) async throws -> Bool {
        guard try await remote.head(key) == nil else { return false }
        // Without folders, a folder is there if anything lies below it.
        if try await remote.capabilities().hasFolders { return true }
        let beside = try await remote.everything(in: key.parent ?? .root)
        guard beside.allSatisfy({ $0.key != key }) else { return false }
        return try await remote.everything(in: key).isEmpty
    }

    /// Moves what lies beside a file or a folder once that has been moved. What an earlier attempt has moved is not
    /// there any more.
    ///
    /// - Returns: what lies there now, by marks, as far as it is of the versions that are known.
    func carrySidecars(
        of row: RemoteNode.Row?,
        from source: RemoteKey,
        to destination: RemoteKey
    ) async throws -> [UTF8Text: RemoteObject] {
        guard let row else { return [:] }
        let capabilities = try await remote.capabilities()
        var carried: [UTF8Text: RemoteObject] = [:]
        // Others may have given the folder content that no pull has found yet.
        let marks = row.isFolder && !row.marks.contains(Sidecar.content) ? row.marks + [Sidecar.content] : row.marks
        for mark in marks {
            let (from, to) = (source.sidecar(mark), destination.sidecar(mark))
            guard let there = try await remote.head(from), !there.isFolder else {
                // An earlier attempt may have moved it, and the remote may have given it another version.
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
                // Another machine has written it at the new place, or deleted it. The pull finds that.
                continue
            }
            if ETag.isSame(there.eTag, row.eTag(ofMark: mark)?.stored) {
                carried[UTF8Text(mark)] = try await remote.head(to)
            }
        }
        return carried
    }

    /// Copies the sidecars of a file or a folder, except records: the known versions, or else the current ones.
    ///
    /// - Returns: the copies by marks, and whether they are of the versions that are known.
    ///
    /// - Parameter isFolder: whether the copy is one. The content of a file is not a sidecar.
    func duplicateSidecars(
        of row: RemoteNode.Row,
        at source: RemoteKey,
        to destination: RemoteKey,
        isFolder: Bool
    ) async throws -> [UTF8Text: SidecarCopy] {
        let capabilities = try await remote.capabilities()
        var copies: [UTF8Text: SidecarCopy] = [:]
        for mark in row.marks where mark != Sidecar.record && (isFolder || mark != Sidecar.content) {
            let (from, to) = (source.sidecar(mark), destination.sidecar(mark))
            // An upload without an answer may have arrived or not: any version is copied.
            let isSent = Sidecar.section(of: mark).map { !row.sentPrints(of: $0).isEmpty } ?? false
            let version = isSent ? nil : row.eTag(ofMark: mark)
            do {
                let copy = try await duplicate(from, to: to, version: version, capabilities)
                copies[UTF8Text(mark)] = SidecarCopy(object: copy, isKnown: version != nil)
            } catch let error as RemoteError where error.code == .notFound {
                // Another machine has deleted it.
            } catch let error as RemoteError where error.code == .conditionFailed {
                // Another machine has written it beside the new copy. The pull finds that.
                if try await remote.head(to) != nil { continue }
                let copy = try await duplicate(from, to: to, version: nil, capabilities)
                copies[UTF8Text(mark)] = SidecarCopy(object: copy, isKnown: false)
            }
        }
        return copies
    }

    /// Copies what lies beside a folder to beside its copy.
    func copySidecars(
        of source: (key: RemoteKey, row: RemoteNode.Row),
        to key: RemoteKey,
        _ work: CloudWork,
        _ attempt: Attempt<CloudWork>
    ) async throws -> Outcome {
        let facts = facts
        // So that a delete finds it even if no answer arrives.
        if source.row.hasContent, let print = source.row.contentPrint {
            try await intend(work) { remote, _ in remote.note(sending: print) }
        }
        let copies = try await duplicateSidecars(of: source.row, at: source.key, to: key, isFolder: true)
        var content: (object: RemoteObject, print: String?, seal: KnownSeal?)?
        if !source.row.isFolder {
            // The source was to become a folder, and was deleted before.
            let capabilities = try await remote.capabilities()
            do {
                let place = key.sidecar(Sidecar.content)
                content = try await duplicate(source.row, at: source.key, to: place, capabilities)
            } catch let error as RemoteError where error.code == .notFound {
                // Another machine has deleted it.
                return try await sendContent(attempt)
            } catch let error as RemoteError where error.code == .conditionFailed {
                // Another machine has written the content of the copy. The pull finds that.
            }
        }
        // The upload of the source never arrived.
        let isContentMissing = source.row.isFolder && !source.row.hasContent && work.sections?.contains(.data) ?? false
        return .done { [content] context in
            let cloud = CloudContext(context, facts)
            let copy = try cloud.remoteForSending(work)
            copy.note(copied: copies, of: source.row)
            if let content { copy.note(content.object, .data, content.print, content.seal) }
            if isContentMissing, let node = copy.node { try cloud.upload(node, .data) }
        }
    }
}

/// A copy of what lies beside a node.
struct SidecarCopy: Sendable {
    let object: RemoteObject
    /// Whether it is a copy of the version that was known.
    let isKnown: Bool
}

extension RemoteNode {
    /// Takes over the versions of sidecars that were copied from another node.
    func note(copied copies: [UTF8Text: SidecarCopy], of source: RemoteNode.Row) {
        for (mark, copy) in copies {
            if mark.string == Sidecar.content {
                let (print, seal) = copy.isKnown ? (source.contentPrint, source.knownSeal) : (nil, nil)
                note(copy.object, .data, print, seal)
            } else {
                setETag(copy.object.eTag, ofMark: mark.string)
            }
        }
    }
}
