import Strata

/// The versions of files after a move.
extension MovePush {
    /// The current versions of the objects at a key and below it.
    func tags(at key: RemoteKey, isFolder: Bool) async throws -> [RemoteKey: RemoteObject] {
        let capabilities = try await remote.capabilities()
        if !isFolder {
            guard let object = try await remote.head(key) else { return [:] }
            return [key: object]
        }
        guard !capabilities.hasFolders else { return [:] }
        var found: [RemoteKey: RemoteObject] = [:]
        var waiting = [key]
        while let folder = waiting.popLast() {
            for object in try await remote.everything(in: folder) {
                if object.isFolder { waiting.append(object.key) } else { found[object.key] = object }
            }
        }
        return found
    }

    /// Recognises by their content the files of a folder that an earlier attempt has moved, if the remote has given
    /// them new versions.
    func recognise(
        _ tags: [RemoteKey: RemoteObject],
        of number: Int64,
        at destination: RemoteKey,
        _ carried: inout [RemoteKey: RemoteObject]
    ) async throws {
        let (info, unknown) = (info, tags.filter { carried[$0.key] == nil })
        if unknown.isEmpty { return }
        let rows = try await stack.overStore { context -> [(key: RemoteKey, row: RemoteNode.Row)] in
            guard let folder = try CloudContext(context, info).remote(number) else { return [] }
            let depth = try folder.key.segments.count
            return try folder.subtree().map { row in
                (RemoteKey(escaped: try destination.segments + row.key.segments.dropFirst(depth)), row.snapshot)
            }
        }
        for (key, row) in rows where !row.isFolder && row.isCertain {
            guard let object = unknown[key], !ETag.isSame(object.eTag, row.eTag) else { continue }
            guard try await session.isOwn(object, anyOf: row.hashes) else { continue }
            carried[key] = RemoteObject(key: key, eTag: row.eTag(of: .data))
        }
    }
}

extension RemoteNode {
    /// Stores the versions of the objects at a key and below it, for this node and the known nodes below it. Versions
    /// that another machine has written before the move do not count as known: the next pull reports them.
    ///
    /// - Parameters:
    ///   - carried: the versions that were moved, by their new keys. The set may be incomplete, because an earlier
    ///     attempt may have moved other objects.
    ///   - isOwn: whether the object at the key is known to be this node, even if that was uncertain before.
    func record(
        _ objects: [RemoteKey: RemoteObject],
        at key: RemoteKey,
        _ carried: [RemoteKey: RemoteObject],
        isOwn: Bool = true
    ) throws {
        if objects.isEmpty { return }
        func isKnown(_ object: RemoteObject, _ eTag: ETag?) -> Bool {
            if ETag.isSame(object.eTag, eTag?.stored) { return true }
            return carried[object.key].map { ETag.isSame($0.eTag, eTag?.stored) } ?? false
        }
        let row = snapshot
        for mark in isCertain ? row.marks : [] {
            guard let object = objects[key.sidecar(mark)], isKnown(object, row.eTag(ofMark: mark)) else { continue }
            setETag(object.eTag, ofMark: mark)
        }
        if let object = objects[key], !isFolder {
            let hash = isCertain ? contentPrint : sentHash(of: object)
            // Otherwise another machine may have written the object, and a pull finds it.
            let isKnown = isOwn || (isCertain ? isKnown(object, row.eTag(of: .data)) : hash != nil)
            if isKnown { record(object, of: .data, hash: hash, seal: snapshot.knownSeal) }
            return
        }
        for child in try children.fetch() {
            try child.record(objects, at: RemoteKey(escaped: key.segments + [child.segment]), carried, isOwn: false)
        }
    }

    /// The hash of the upload that a moved object contains; nil if it may contain none of them.
    private func sentHash(of object: RemoteObject) -> String? {
        let sent = snapshot.sentHashes
        if let mark = object.mark { return sent.contains { $0.text.hasSameBytes(as: mark) } ? mark : nil }
        let fitting = sent.filter { object.size == nil || $0.size == object.size }
        return fitting.count == 1 ? fitting[0].text : nil
    }
}
