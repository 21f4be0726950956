import Strata

/// Comparisons of objects at the remote with the known state and with own uploads.
extension PushSession {
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

    /// Whether an object has the known version of a file, or is an unanswered upload of it.
    func isVersion(_ object: RemoteObject, of file: RemoteNode.Row) async throws -> Bool {
        if file.isCertain, ETag.isSame(object.eTag, file.eTag) { return true }
        return try await isOwn(object, anyOf: file.hashes)
    }

    /// Whether the object at a key has the last known version, or is missing because it was moved before.
    func isKnown(_ row: RemoteNode.Row, at key: RemoteKey) async throws -> Bool {
        guard row.isCertain, let there = try await remote.head(key) else { return true }
        return ETag.isSame(there.eTag, row.eTag)
    }

    /// Whether another machine has converted a file to a folder.
    func isConvertedByOthers(_ key: RemoteKey) async throws -> Bool {
        try await remote.head(key.sidecar(Sidecar.content)) != nil
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
