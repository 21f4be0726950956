import Strata

/// What a remote with a feed has said since it was asked last.
struct RemoteFeed: Sendable {
    /// From where the next question goes on.
    let cursor: String
    /// Whether all that is there was said, and not only what has changed.
    let isWhole: Bool
    fileprivate let pages: [RemoteChanges]

    /// Asks a remote for what has changed; for everything where it does not know the cursor any more.
    static func read(_ remote: any Remote, since cursor: String?) async throws -> RemoteFeed {
        do {
            var pages: [RemoteChanges] = []
            var next = cursor
            while true {
                try Task.checkCancellation()
                let page = try await remote.changes(since: next)
                pages.append(page)
                next = page.cursor
                if !page.hasMore { return RemoteFeed(cursor: page.cursor, isWhole: cursor == nil, pages: pages) }
            }
        } catch let error as RemoteError where error.code == .cursorGone && cursor != nil {
            return try await read(remote, since: nil)
        }
    }
}

extension RemoteTree {
    /// What lies at a remote, by what was known and what has changed since.
    static func find(in remote: any Remote, _ known: KnownTree, _ feed: RemoteFeed) async throws -> RemoteTree {
        var objects = feed.isWhole ? [:] : known.objects
        for page in feed.pages { page.apply(to: &objects) }
        let tree = RemoteTree(objects)
        for trunk in Trunk.allCases where known.has(trunk) {
            try await tree.checkNotVanished(trunk, remote)
        }
        return tree
    }
}

extension RemoteChanges {
    fileprivate func apply(to objects: inout [RemoteKey: RemoteObject]) {
        // What was in a folder that is gone, or a file by now, is gone with it.
        var gone = Set(removed)
        for object in changed where !object.isFolder && objects[object.key]?.isFolder ?? false {
            gone.insert(object.key)
        }
        if !gone.isEmpty { objects = objects.filter { !$0.key.isWithin(anyOf: gone) } }
        for object in changed { objects[object.key] = object }
    }
}

extension RemoteKey {
    fileprivate func isWithin(anyOf keys: Set<RemoteKey>) -> Bool {
        var next: RemoteKey? = self
        while let key = next {
            if keys.contains(key) { return true }
            next = key.parent
        }
        return false
    }
}

extension KnownTree {
    /// What is known to lie there, as the remote would say it.
    fileprivate var objects: [RemoteKey: RemoteObject] {
        var objects: [RemoteKey: RemoteObject] = [:]
        for row in rows.values where row.isCertain && row.parent != nil {
            guard let key = key(of: row.id.number) else { continue }
            let eTag = row.eTag(of: .data)
            objects[key] = RemoteObject(
                key: key,
                isFolder: row.isFolder,
                eTag: eTag,
                size: row.size,
                modifiedAt: row.modifiedAt
            )
            for (mark, section) in [(Sidecar.metadata, ContentSections.metadata), (Sidecar.thumbnail, .thumbnail)] {
                guard let eTag = row.eTag(of: section) else { continue }
                objects[key.sidecar(mark)] = RemoteObject(key: key.sidecar(mark), eTag: eTag)
            }
        }
        return objects
    }
}
