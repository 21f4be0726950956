import Foundation
import Strata
import StrataPipeline

/// Copies a file to a new node, or the sidecars of a folder. If the source never arrived at the remote, its content is
/// uploaded instead.
struct CopyPush: Push {
    let session: PushSession
    let copied: CloudWork.Copy

    func run() async throws -> Outcome {
        var work = attempt.payload
        let info = info
        let target = try session.target()
        // The node may have become a folder since the copy was queued.
        let isFolder = target.remote?.isFolder ?? target.node?.isFolder ?? work.isFolder
        work.place?.isFolder = isFolder
        guard target.node != nil else { return .skip }
        guard let key = try await session.key(of: target) else { return session.createAtCurrentPlace() }
        let source: (key: RemoteKey, row: RemoteNode.Row)? = try await stack.overStore {
            guard let source = try CloudContext($0, info).remote(copied.source), source.isCertain else { return nil }
            return try (source.key, source.snapshot)
        }
        guard let source else { return try await ContentPush(session: session).run() }
        if target.isTaken { return try await session.renameAwayFromConflict(key) }
        if try await isSentFromHere(target) { return try await ContentPush(session: session).run() }
        if work.isFolder {
            if let outcome = try await FolderPush(session: session).makeFolder(target, key) { return outcome }
            return try await copySidecars(of: source, to: key, work)
        }
        try await session.recordIntent(work) { remote, _ in
            if let hash = source.row.contentPrint { remote.record(sending: hash) }
        }
        let capabilities = try await remote.capabilities()
        if !target.isThere { try await session.deleteSidecars(leftAt: key, source.row.marks) }
        do {
            let place = Sidecar.key(of: source.key, section: .data, isFolder: source.row.isFolder)
            let (object, hash, seal) = try await duplicate(source.row, at: place, to: key, capabilities)
            let sidecars = try await duplicateSidecars(of: source.row, at: source.key, to: key, isFolder: false)
            return .done { [work] context in
                let copy = try CloudContext(context, info).remoteForSending(work)
                copy.record(object, of: .data, hash: hash, seal: seal)
                copy.record(copied: sidecars, of: source.row)
            }
        } catch let error as RemoteError
            where (error.code == .conditionFailed || error.code == .occupied) && !target.isThere
        {
            return try await session.renameAwayFromConflict(key)
        } catch let error as RemoteError where error.code == .conditionFailed {
            // The content of the new node was uploaded from here in the meantime, because another machine had deleted
            // its folder. That content is newer than the copy.
            return try await ContentPush(session: session).run()
        } catch let error as RemoteError where error.code == .notFound {
            if !source.row.isFolder, try await session.isConvertedByOthers(source.key) {
                return try await session.outcome(ofMissingFolder: error)
            }
            // Another machine has deleted the source.
            return try await ContentPush(session: session).run()
        }
    }

    /// Whether the source was deleted before its newest content was uploaded, and the application still has that
    /// content.
    private func isSentFromHere(_ target: PushTarget) async throws -> Bool {
        let (info, copied) = (info, copied)
        guard copied.isSourceUnsent ?? false, copied.sourceLink != nil, target.sections.contains(.data),
            let node = target.node,
            let path = target.path
        else { return false }
        let isGone = try await stack.overStore { context in
            try context.find(CloudContext(context, info).nodeID(copied.source)) == nil
        }
        guard isGone else { return false }
        return try await handler.content(for: session.request(for: node, at: path, link: copied.sourceLink)) != nil
    }

    /// Copies the remote's version of a source.
    ///
    /// - Returns: the copy, and the hash and encryption of its content if they are known.
    private func duplicate(
        _ source: RemoteNode.Row,
        at place: RemoteKey,
        to destination: RemoteKey,
        _ capabilities: RemoteCapabilities
    ) async throws -> (object: RemoteObject, hash: String?, seal: KnownSeal?) {
        // If the last upload of the source was interrupted and then skipped, the remote may have that version or the
        // previous one.
        var isKnown = source.sentHashes.isEmpty
        if !isKnown { isKnown = try await session.isKnown(source, at: place) }
        do {
            if isKnown {
                let version = source.eTag(of: .data)
                let object = try await session.duplicate(place, to: destination, version: version, capabilities)
                return (object, source.contentPrint, source.knownSeal)
            }
        } catch let error as RemoteError where error.code == .conditionFailed {
            // Another machine has written the source in the meantime, so the current version is copied.
            guard try await remote.head(destination) == nil else { throw error }
        }
        let object = try await session.duplicate(place, to: destination, version: nil, capabilities)
        // The hash of the content identifies the copy later. How the copy is encrypted is not known.
        let hash = try await ContentHash(of: remote.get(destination, range: nil, if: .none).chunks)
        return (object, hash.text, nil)
    }

    /// Copies the sidecars of a file or a folder, in the known versions, or else in the current ones.
    ///
    /// - Returns: the copies by marks, and whether they have the known versions.
    ///
    /// - Parameter isFolder: whether the copy is a folder. The content of a file is not a sidecar.
    private func duplicateSidecars(
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
                let copy = try await session.duplicate(from, to: to, version: version, capabilities)
                copies[UTF8Text(mark)] = SidecarCopy(object: copy, isKnown: version != nil)
            } catch let error as RemoteError where error.code == .notFound {
                // Another machine has deleted the sidecar.
            } catch let error as RemoteError where error.code == .conditionFailed {
                // Another machine has written the sidecar of the new copy. The pull finds the change.
                if try await remote.head(to) != nil { continue }
                let copy = try await session.duplicate(from, to: to, version: nil, capabilities)
                copies[UTF8Text(mark)] = SidecarCopy(object: copy, isKnown: false)
            }
        }
        return copies
    }

    /// Copies the sidecars of a folder beside the folder's copy.
    private func copySidecars(
        of source: (key: RemoteKey, row: RemoteNode.Row),
        to key: RemoteKey,
        _ work: CloudWork
    ) async throws -> Outcome {
        let info = info
        // The hash lets a delete find the content even if no answer arrives.
        if source.row.hasContent, let hash = source.row.contentPrint {
            try await session.recordIntent(work) { remote, _ in remote.record(sending: hash) }
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
                return try await ContentPush(session: session).run()
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
private struct SidecarCopy: Sendable {
    let object: RemoteObject
    /// Whether the copy has the known version.
    let isKnown: Bool
}

extension RemoteNode {
    /// Stores the versions of sidecars that were copied from another node.
    fileprivate func record(copied copies: [UTF8Text: SidecarCopy], of source: RemoteNode.Row) {
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
