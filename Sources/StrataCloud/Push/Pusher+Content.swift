import Foundation
import Strata
import StrataPipeline

extension Pusher {
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
    private struct Sent: Sendable {
        let part: UploadObject
        let written: Written

        /// The uploaded sections that are reported to the application.
        var sections: ContentSections { part.encryption?.given ?? part.section }

        func record(in remote: RemoteNode, _ cloud: CloudContext) throws {
            remote.record(written.object, of: part.section, hash: part.hash.text, seal: part.encryption?.known)
            if let upload = written.upload { try cloud.forgetParts(upload, of: remote.id.rawValue) }
        }
    }

    /// Uploads sections of a node's current content.
    func sendContent(_ attempt: Attempt<CloudWork>) async throws -> Outcome {
        var work = attempt.payload
        let target = try await target(of: work)
        // A later operation deletes at the remote a node that was deleted here.
        guard let node = target.node, let path = target.path, node.trunk != .detached else { return .skip }
        guard let key = try await key(of: target, work) else { return createAtCurrentPlace(work) }
        if target.isTaken { return try await renameAwayFromConflict(attempt, key) }
        if node.isFolder, let outcome = try await makeFolder(for: attempt, target, key) { return outcome }
        // The kind is fixed now, when the place of the content is chosen. The node may become a folder at any time.
        work.place?.isFolder = node.isFolder
        let request = self.request(for: node, at: path, link: node.link ?? work.sourceLink)
        let parts: [UploadObject]
        do { parts = try await self.parts(of: request, target, at: key) } catch let error as RemoteError
            where error.code == .conditionFailed
        {
            // The sections that are copied from the remote have another version than the known one.
            let place = Sidecar.key(of: key, section: .data, isFolder: node.isFolder)
            guard let there = try await remote.head(place) else { throw error }
            if there.isFolder { return try await uploadToFolderOrRequeue(attempt, key) }
            if try await isOwn(there, anyOf: target.remote?.hashes ?? []) {
                return try await adoptLostResponse(attempt, there)
            }
            return try await recordConflict(
                attempt,
                of: .data,
                known: target.remote?.eTag(of: .data),
                there: there,
                target: target
            )
        }
        if !parts.isEmpty { try await recordIntent(parts, work) }
        var sent: [Sent] = []
        for part in parts {
            let place = TransferTracker.Key(direction: .upload, number: attempt.id.rawValue, section: part.section)
            let transfer = transfers.begin(place, of: work.node, size: part.body.size)
            defer { transfer.end() }
            switch try await send(part, to: key, target, attempt, transfer) {
            case .sent(let written):
                transfer.pass(all: part.body.size)
                sent.append(Sent(part: part, written: written))
            case .taken: return try await renameAwayFromConflict(attempt, key)
            case .replaced: return try await uploadToFolderOrRequeue(attempt, key)
            case .earlier(let there): return try await adoptLostResponse(attempt, there)
            case .conflict(let known, let there):
                return try await recordConflict(
                    attempt,
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
            try cloud.skip(covered)
            try cloud.forgetConflict(of: work.node)
            try cloud.forgetUploadState(of: work.node)
            if !sent.isEmpty, let node = try context.find(cloud.nodeID(work.node)) {
                try handler.didUpload(ContentSections(sent.map(\.sections)), of: node, in: cloud)
            }
        }
    }

    /// The request for a node's content to the application.
    func request(for node: CloudNode.Row, at path: TreePath, link: String?) -> ContentRequest {
        ContentRequest(account: info.account, node: node.id, path: path, section: .data, link: link)
    }

    /// The content of the sections to upload, from the application. The data comes first: if it is in conflict, its
    /// sidecars must not be uploaded.
    private func parts(of request: ContentRequest, _ target: Target, at key: RemoteKey) async throws -> [UploadObject] {
        if let encryption {
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
        try await recordIntent(work) { remote, cloud in
            for part in parts {
                remote.record(sending: RemoteNode.sending(part.hash, of: part.section))
                if let encryption = part.encryption {
                    try cloud.storeUploadState(encryption.uploadState, of: work.node)
                }
            }
        }
    }

    private enum Sending {
        case sent(Written)
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
        _ target: Target,
        _ attempt: Attempt<CloudWork>,
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
                return .sent(try await put(body, part.section, at: place, if: condition, part.hash, attempt))
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
                if try await isOwn(there, part.hash) { return .sent(Written(object: there)) }
                // A sidecar beside a place that was free belongs to a deleted object.
                var isEarlier = isNew && part.section != .data
                if !isEarlier { isEarlier = try await isOwn(there, anyOf: earlier ?? []) }
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
    private func isContentOfFolder(_ place: RemoteKey, _ target: Target) async throws -> Bool {
        guard target.isThere, target.remote?.isFolder == false else { return false }
        return try await remote.head(place.sidecar(Sidecar.content)) != nil
    }

    /// The outcome of an upload if a folder, or the content of a folder, has replaced the known file.
    private func uploadToFolderOrRequeue(_ attempt: Attempt<CloudWork>, _ key: RemoteKey) async throws -> Outcome {
        // Another machine has converted the file to a folder. After a pull has found the folder, the content is
        // uploaded beside it.
        if try await isConvertedByOthers(key) {
            return try await outcome(
                ofMissingFolder: RemoteError(.occupied, "\(key) is now a folder.", key: key),
                attempt
            )
        }
        // The old object is gone, so there is no version to compare with.
        return requeueUpload(attempt.payload)
    }

    /// Records that the remote's object is an unanswered upload from this machine, and continues from its version.
    ///
    /// - Parameter seal: how the object is encrypted, if it was read.
    private func adoptLostResponse(
        _ attempt: Attempt<CloudWork>,
        _ there: RemoteObject,
        _ seal: KnownSeal? = nil
    ) async throws -> Outcome {
        try await recordIntent(attempt.payload) { remote, _ in remote.record(there, of: .data, hash: nil, seal: seal) }
        return .snooze(for: .zero)
    }

    /// Whether the remote's object is this upload, whose answer was lost.
    func isOwn(_ there: RemoteObject, _ hash: ContentHash) async throws -> Bool {
        try await isOwn(there, anyOf: [hash])
    }

    /// Whether the remote's object is one of several uploads.
    func isOwn(_ there: RemoteObject, anyOf hashes: [ContentHash]) async throws -> Bool {
        if let mark = there.mark { return hashes.contains { $0.text.hasSameBytes(as: mark) } }
        let hashes = hashes.filter { there.size == nil || there.size == $0.size }
        guard !hashes.isEmpty else { return false }
        let condition = there.eTag.map { RemoteCondition.matches($0) } ?? .none
        if hashes.contains(where: \.isEncrypted), there.size ?? .max >= EncryptedFile.preambleSize {
            let start = try await remote.get(there.key, range: 0..<EncryptedFile.preambleSize, if: condition)
            let size = there.size ?? start.object.size ?? 0
            if hashes.contains(ContentHash(encrypted: try await start.data(), size: size)) { return true }
        }
        guard hashes.contains(where: { !$0.isEncrypted }) else { return false }
        return try await hashes.contains(
            ContentHash(of: remote.get(there.key, range: nil, if: condition).chunks)
        )
    }

    /// Whether the remote's object is the beginning of an interrupted upload, at a server that writes in place.
    private func isBrokenOff(_ there: RemoteObject, _ part: UploadObject) async throws -> Bool {
        guard let size = there.size, size < part.body.size, part.encryption?.isPartly != true else { return false }
        let condition = there.eTag.map { RemoteCondition.matches($0) } ?? .none
        let arrived = try await ContentHash(of: remote.get(there.key, range: nil, if: condition).chunks)
        return try await arrived == ContentHash(of: part.body.chunks(0..<size))
    }

    /// Records a conflict. The uploads of the node wait until the application resolves it.
    private func recordConflict(
        _ attempt: Attempt<CloudWork>,
        of section: ContentSections,
        known: ETag?,
        there: RemoteObject,
        target: Target,
        uploadEncryption: UploadEncryption? = nil,
        after sent: [Sent] = []
    ) async throws -> Outcome {
        let (info, handler, work) = (info, handler, attempt.payload)
        var section = section
        if let difference = try await encryptedDifference(of: there, work, target, uploadEncryption) {
            // The other machine has encrypted the same content again.
            if difference.sections.isEmpty { return try await adoptLostResponse(attempt, there, difference.seal) }
            section = difference.sections
        }
        try await stack.overStore { [section] context in
            let cloud = CloudContext(context, info)
            if !sent.isEmpty {
                // These objects have arrived, whatever the outcome of the other sections.
                let remote = try cloud.remoteForSending(work)
                for sent in sent { try sent.record(in: remote, cloud) }
            }
            let conflict =
                try context.first(CloudConflict.where { $0.nodeNumber == work.node })
                ?? context.insert(CloudConflict(account: info.account, nodeNumber: work.node, section: section))
            (conflict.section, conflict.knownETag) = (section, known?.stored)
            (conflict.remoteETag, conflict.remoteSize) = (there.eTag?.stored, there.size)
            try handler.didFind(conflict, in: cloud)
            try context.commit()
        }
        return .wait(CloudAccount.conflict)
    }
}

extension RemoteNode {
    /// Records the hash of an object that is about to be uploaded.
    func record(sending hash: String) {
        sending = sending.filter { $0 != hash }.suffix(Self.longestSending - 1) + [hash]
    }

    /// The largest number of recorded hashes. It is larger than the number of attempts, unless the application requests
    /// more.
    private static let longestSending = 32

    /// Records the state at the remote after an answer from it.
    func record(_ object: RemoteObject, of section: ContentSections, hash: String?, seal: KnownSeal? = nil) {
        setETag(object.eTag?.stored, of: section)
        (isCertain, isListed) = (true, false)
        guard section == .data else {
            sending.removeAll { Self.hash(of: section, in: $0) != nil }
            return
        }
        (size, modifiedAt, contentPrint) = (object.size, object.modifiedAt, hash)
        self.seal = seal?.moved(to: object.eTag)
        sending.removeAll { Self.hash(of: .data, in: $0) != nil }
        guard let seal, !seal.isPlain else { return }
        // The encrypted file contains the sections that were sidecars before.
        (metadataETag, thumbnailETag) = (nil, nil)
    }
}
