import Foundation
import Strata
import StrataPipeline

/// Uploads sections of a node's current content. Copies whose source is not at the remote are uploaded too.
struct ContentPush: Push {
    let session: PushSession

    /// An object to upload.
    struct UploadObject: Sendable {
        /// The section; ``ContentSections/data`` for an encrypted file, which contains all sections.
        let section: ContentSections
        let body: RemoteBody
        let hash: ContentHash
        /// How the object is encrypted.
        var encryption: UploadEncryption?
    }

    /// An uploaded object.
    struct Sent: Sendable {
        let part: UploadObject
        let written: PushSession.Written

        /// The uploaded sections that are reported to the application.
        var sections: ContentSections { part.encryption?.given ?? part.section }

        func record(in remote: RemoteNode, _ cloud: CloudContext) throws {
            remote.record(written.object, of: part.section, hash: part.hash.text, seal: part.encryption?.known)
            if let upload = written.upload { try cloud.forgetParts(upload, of: remote.id.rawValue) }
        }
    }

    func run() async throws -> Outcome {
        var work = attempt.payload
        let target = try session.target()
        // A later operation deletes at the remote a node that was deleted here.
        guard let node = target.node, let path = target.path, node.trunk != .detached else { return .skip }
        guard let key = try await session.key(of: target) else { return session.createAtCurrentPlace() }
        if target.isTaken { return try await session.renameAwayFromConflict(key) }
        if node.isFolder, let outcome = try await FolderPush(session: session).makeFolder(target, key) {
            return outcome
        }
        // The kind is fixed now, when the place of the content is chosen. The node may become a folder at any time.
        work.place?.isFolder = node.isFolder
        let request = session.request(for: node, at: path, link: node.link ?? work.sourceLink)
        let parts: [UploadObject]
        do { parts = try await self.parts(of: request, target, at: key) } catch let error as RemoteError
            where error.code == .conditionFailed
        {
            // The sections that are copied from the remote have another version than the known one.
            let place = Sidecar.key(of: key, section: .data, isFolder: node.isFolder)
            guard let there = try await remote.head(place) else { throw error }
            if there.isFolder { return try await uploadToFolderOrRequeue(key) }
            if try await session.isOwn(there, anyOf: target.remote?.hashes ?? []) {
                return try await adoptLostResponse(there)
            }
            let known = target.remote?.eTag(of: .data)
            return try await recordConflict(of: .data, known: known, there: there, target: target)
        }
        if !parts.isEmpty { try await recordIntent(parts, work) }
        var sent: [Sent] = []
        for part in parts {
            let place = TransferTracker.Key(direction: .upload, number: attempt.id.rawValue, section: part.section)
            let transfer = session.pusher.transfers.begin(place, of: work.node, size: part.body.size)
            defer { transfer.end() }
            switch try await send(part, to: key, target, transfer) {
            case .sent(let written):
                transfer.pass(all: part.body.size)
                sent.append(Sent(part: part, written: written))
            case .taken: return try await session.renameAwayFromConflict(key)
            case .replaced: return try await uploadToFolderOrRequeue(key)
            case .earlier(let there): return try await adoptLostResponse(there)
            case .conflict(let known, let there):
                return try await recordConflict(
                    of: part.section,
                    known: known,
                    there: there,
                    target: target,
                    uploadEncryption: part.encryption,
                    after: sent
                )
            }
        }
        if info.isEncrypted, !sent.isEmpty { try await deleteSidecars(of: target, at: key) }
        if sent.isEmpty, !target.sections.subtracting(.header).elements.isEmpty {
            stack.log(.notice, "\(path) was not uploaded: the handler returned no content for it.")
        }
        return .done { [info, handler, work, sent, covered = target.covered] context in
            let cloud = CloudContext(context, info)
            // If no section was uploaded, the row must not be written. Otherwise an object that another machine puts
            // there later would count as this machine's.
            if !sent.isEmpty {
                let remote = try cloud.remoteForSending(work)
                for sent in sent { try sent.record(in: remote, cloud) }
            }
            for id in covered { try context.find(id)?.skip() }
            try cloud.forgetConflict(of: work.node)
            try cloud.forgetUploadState(of: work.node)
            if !sent.isEmpty, let node = try context.find(cloud.nodeID(work.node)) {
                try handler.didUpload(ContentSections(sent.map(\.sections)), of: node, in: cloud)
            }
        }
    }

    /// The content of the sections to upload, from the application. The data comes first: if it is in conflict, its
    /// sidecars must not be uploaded.
    private func parts(
        of request: ContentRequest,
        _ target: PushTarget,
        at key: RemoteKey
    ) async throws -> [UploadObject] {
        if let encryption = session.pusher.encryption {
            return try await encryptedPart(of: request, target, at: key, encryption).map { [$0] } ?? []
        }
        var parts: [UploadObject] = []
        for section in target.sections.subtracting(.header).elements.reversed() {
            guard let body = try await handler.content(for: request.asking(section))?.gathered() else { continue }
            parts.append(UploadObject(section: section, body: body, hash: try await ContentHash(of: body)))
        }
        return parts
    }

    /// Records the objects about to be uploaded, so that a later attempt recognises them, and how they are encrypted,
    /// so that a later attempt encrypts them the same way.
    private func recordIntent(_ parts: [UploadObject], _ work: CloudWork) async throws {
        try await session.recordIntent(work) { remote, cloud in
            for part in parts {
                remote.record(sending: RemoteNode.sending(part.hash, of: part.section))
                if let encryption = part.encryption {
                    try cloud.storeUploadState(encryption.uploadState, of: work.node)
                }
            }
        }
    }

    private enum Sending {
        case sent(PushSession.Written)
        /// Another object is at the key where the node would be created.
        case taken
        /// A folder has replaced the file.
        case replaced
        /// The remote's object is an earlier upload from this machine, and the other sections must be copied from it.
        case earlier(RemoteObject)
        /// Another machine has written the object. Contains the known version and the remote's object.
        case conflict(ETag?, RemoteObject)
    }

    /// Uploads an object on the condition that the remote has the last known version.
    private func send(
        _ part: UploadObject,
        to key: RemoteKey,
        _ target: PushTarget,
        _ transfer: TrackedTransfer
    ) async throws -> Sending {
        var body = part.body.tracked(by: transfer)
        body.mark = part.hash.text
        let place = Sidecar.key(of: key, section: part.section, isFolder: target.node?.isFolder ?? false)
        let earlier = part.section == .data ? target.remote?.hashes : target.remote?.sentHashes(of: part.section)
        let known = target.remote?.eTag(of: part.section)
        // If the remote was known to have the node, the node does not get another name.
        let isNew = !target.isThere
        var condition: RemoteCondition = known.map { .matches($0) } ?? .isAbsent
        for _ in 0..<Self.tries {
            do {
                return .sent(try await session.put(body, part.section, at: place, if: condition, part.hash))
            } catch let error as RemoteError where error.code == .conditionFailed || error.code == .occupied {
                guard let there = try await remote.head(place) else {
                    if part.section == .data, try await isContentOfFolder(place, target) { return .replaced }
                    if target.node?.isFolder ?? false, try await isFolderGone(key) {
                        // Writing beside a place where another machine may put a file would create an object that no
                        // pull finds.
                        throw RemoteError(.parentMissing, "The folder \(key) no longer exists.", key: key)
                    }
                    // A change that was not uploaded takes precedence over a delete by another machine.
                    condition = .isAbsent
                    continue
                }
                if there.isFolder { return isNew ? .taken : .replaced }
                if try await session.isOwn(there, part.hash) { return .sent(PushSession.Written(object: there)) }
                // A sidecar beside a place that was free belongs to a deleted object.
                var isEarlier = isNew && part.section != .data
                if !isEarlier { isEarlier = try await session.isOwn(there, anyOf: earlier ?? []) }
                if !isEarlier, earlier?.contains(part.hash) ?? false {
                    isEarlier = try await isBrokenOff(there, part)
                }
                if isEarlier {
                    if part.encryption?.isPartly ?? false { return .earlier(there) }
                    condition = there.eTag.map { .matches($0) } ?? .none
                    continue
                }
                return isNew ? .taken : .conflict(known, there)
            }
        }
        throw RemoteError(.conditionFailed, "\(place) keeps changing during the upload.", key: place)
    }

    private static let tries = 4

    private func isFolderGone(_ key: RemoteKey) async throws -> Bool {
        guard try await remote.capabilities().hasFolders else { return false }
        return try await !(remote.head(key)?.isFolder ?? false)
    }

    /// Whether another machine has converted a file to a folder and has moved the content beside it.
    private func isContentOfFolder(_ place: RemoteKey, _ target: PushTarget) async throws -> Bool {
        guard target.isThere, target.remote?.isFolder == false else { return false }
        return try await remote.head(place.sidecar(Sidecar.content)) != nil
    }

    /// The outcome of an upload if a folder, or the content of a folder, has replaced the known file.
    private func uploadToFolderOrRequeue(_ key: RemoteKey) async throws -> Outcome {
        // Another machine has converted the file to a folder. After a pull has found the folder, the content is
        // uploaded beside it.
        if try await session.isConvertedByOthers(key) {
            return try await session.outcome(
                ofMissingFolder: RemoteError(.occupied, "\(key) is now a folder.", key: key)
            )
        }
        // The old object is gone, so there is no version to compare with.
        return session.requeueUpload()
    }

    /// Whether the remote's object is the beginning of an interrupted upload, at a server that writes in place.
    private func isBrokenOff(_ there: RemoteObject, _ part: UploadObject) async throws -> Bool {
        guard let size = there.size, size < part.body.size, part.encryption?.isPartly != true else { return false }
        let condition = there.eTag.map { RemoteCondition.matches($0) } ?? .none
        let arrived = try await ContentHash(of: remote.get(there.key, range: nil, if: condition).chunks)
        return try await arrived == ContentHash(of: part.body.chunks(0..<size))
    }
}
