import Foundation
import Strata
import StrataPipeline

extension Pusher {
    /// Copies a file to a new node, or the sidecars of a folder. If the source never arrived at the remote, its content
    /// is uploaded instead.
    func copy(_ attempt: Attempt<CloudWork>, _ copied: CloudWork.Copy) async throws -> Outcome {
        var work = attempt.payload
        let info = info
        let target = try await target(of: work)
        // The node may have become a folder since the copy was queued.
        let isFolder = target.remote?.isFolder ?? target.node?.isFolder ?? work.isFolder
        work.place?.isFolder = isFolder
        guard target.node != nil else { return .skip }
        guard let key = try await key(of: target, work) else { return createAtCurrentPlace(work) }
        let source: (key: RemoteKey, row: RemoteNode.Row)? = try await stack.overStore {
            guard let source = try CloudContext($0, info).remote(copied.source), source.isCertain else { return nil }
            return try (source.key, source.snapshot)
        }
        guard let source else { return try await sendContent(attempt) }
        if target.isTaken { return try await renameAwayFromConflict(attempt, key) }
        if try await isSentFromHere(target, copied) { return try await sendContent(attempt) }
        if work.isFolder {
            if let outcome = try await makeFolder(for: attempt, target, key) { return outcome }
            return try await copySidecars(of: source, to: key, work, attempt)
        }
        try await recordIntent(work) { remote, _ in
            if let hash = source.row.contentPrint { remote.record(sending: hash) }
        }
        let capabilities = try await remote.capabilities()
        if !target.isThere { try await deleteSidecars(leftAt: key, source.row.marks) }
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
            return try await renameAwayFromConflict(attempt, key)
        } catch let error as RemoteError where error.code == .conditionFailed {
            // The content of the new node was uploaded from here in the meantime, because another machine had deleted
            // its folder. That content is newer than the copy.
            return try await sendContent(attempt)
        } catch let error as RemoteError where error.code == .notFound {
            if !source.row.isFolder, try await isConvertedByOthers(source.key) {
                return try await outcome(ofMissingFolder: error, attempt)
            }
            // Another machine has deleted the source.
            return try await sendContent(attempt)
        }
    }

    /// Whether the source was deleted before its newest content was uploaded, and the application still has that
    /// content.
    private func isSentFromHere(_ target: Target, _ copied: CloudWork.Copy) async throws -> Bool {
        let info = info
        guard copied.isSourceUnsent ?? false, copied.sourceLink != nil, target.sections.contains(.data),
            let node = target.node,
            let path = target.path
        else { return false }
        let isGone = try await stack.overStore { context in
            try context.find(CloudContext(context, info).nodeID(copied.source)) == nil
        }
        guard isGone else { return false }
        return try await handler.content(for: request(for: node, at: path, link: copied.sourceLink)) != nil
    }

    /// Copies the remote's version of a source.
    ///
    /// - Returns: the copy, and the hash and encryption of its content if they are known.
    func duplicate(
        _ source: RemoteNode.Row,
        at place: RemoteKey,
        to destination: RemoteKey,
        _ capabilities: RemoteCapabilities
    ) async throws -> (object: RemoteObject, hash: String?, seal: KnownSeal?) {
        // If the last upload of the source was interrupted and then skipped, the remote may have that version or the
        // previous one.
        var isKnown = source.sentHashes.isEmpty
        if !isKnown { isKnown = try await self.isKnown(source, at: place) }
        do {
            if isKnown {
                let version = source.eTag(of: .data)
                let object = try await duplicate(place, to: destination, version: version, capabilities)
                return (object, source.contentPrint, source.knownSeal)
            }
        } catch let error as RemoteError where error.code == .conditionFailed {
            // Another machine has written the source in the meantime, so the current version is copied.
            guard try await remote.head(destination) == nil else { throw error }
        }
        let object = try await duplicate(place, to: destination, version: nil, capabilities)
        // The hash of the content identifies the copy later. How the copy is encrypted is not known.
        let hash = try await ContentHash(of: remote.get(destination, range: nil, if: .none).chunks)
        return (object, hash.text, nil)
    }

    /// Copies an object, through this machine if the remote does not support copies. An existing object with the same
    /// content counts as the copy.
    func duplicate(
        _ source: RemoteKey,
        to destination: RemoteKey,
        version: ETag?,
        _ capabilities: RemoteCapabilities
    ) async throws -> RemoteObject {
        do {
            if capabilities.copies { return try await remote.copy(source, to: destination, version: version) }
            guard let object = try await remote.head(source) else {
                throw RemoteError(.notFound, "\(source) does not exist.", key: source)
            }
            if let version, !ETag.isSame(object.eTag, version.stored) {
                throw RemoteError(.conditionFailed, "\(source) has another version.", key: source)
            }
            return try await remote.put(body(of: object), at: destination, if: .isAbsent)
        } catch let error as RemoteError where error.code == .conditionFailed {
            guard let (from, to) = try await both(source, destination), from.size == to.size else { throw error }
            if let mark = from.mark, to.mark.hasSameBytes(as: mark) { return to }
            let hash = try await ContentHash(of: remote.get(source, range: nil, if: .none).chunks)
            guard try await isOwn(to, hash) else { throw error }
            return to
        }
    }

    /// The content of the current version of an object at the remote, read through this machine.
    func body(of object: RemoteObject) -> RemoteBody {
        let remote = remote
        var body = RemoteBody(size: object.size ?? 0) { range in
            if range.isEmpty { return AsyncThrowingStream { $0.finish() } }
            return try await remote.get(object.key, range: range, if: object.eTag.map { .matches($0) } ?? .none).chunks
        }
        body.mark = object.mark
        return body
    }

    private func both(_ first: RemoteKey, _ second: RemoteKey) async throws -> (RemoteObject, RemoteObject)? {
        guard let one = try await remote.head(first), let other = try await remote.head(second) else { return nil }
        return (one, other)
    }
}
