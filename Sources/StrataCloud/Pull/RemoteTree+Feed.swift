import Strata

/// What a remote with a feed has said since it was asked last.
struct RemoteFeed: Sendable {
    /// From where the next question goes on.
    let cursor: String
    /// Whether all that is there was said, and not only what has changed.
    let isWhole: Bool
    fileprivate let pages: [RemoteChanges]

    /// Asks a remote for what has changed; for everything where it does not know the cursor any more.
    static func read(_ remote: any Remote, since position: FeedPosition?) async throws -> RemoteFeed {
        let cursor = position?.cursor
        do {
            var pages: [RemoteChanges] = []
            if let position {
                // Before the feed, which tells of what changes meanwhile.
                guard let page = try await look(at: position.keys, of: remote) else {
                    return try await read(remote, since: nil)
                }
                pages.append(page)
            }
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

    /// What lies under keys, as the feed would tell it; nil where the remote does not say.
    private static func look(at keys: [RemoteKey], of remote: any Remote) async throws -> RemoteChanges? {
        var page = RemoteChanges(changed: [], removed: [], cursor: "")
        do {
            for key in keys {
                try Task.checkCancellation()
                if let object = try await remote.head(key) {
                    page.changed.append(object)
                } else {
                    page.removed.append(key)
                }
            }
            return page
        } catch is RemoteError {
            return nil
        }
    }
}

extension RemoteTree {
    /// What lies at a remote, by what was known and what has changed since.
    static func find(in remote: any Remote, _ known: KnownTree, _ feed: RemoteFeed) async throws -> RemoteTree {
        var objects = ChangingObjects(feed.isWhole ? [:] : known.objects)
        for page in feed.pages { objects.apply(page) }
        let shown = feed.isWhole ? nil : Set(feed.pages.flatMap { $0.changed.map(\.key) })
        let tree = RemoteTree(objects.there, shown: shown)
        for trunk in Trunk.allCases where known.has(trunk) {
            try await tree.checkNotVanished(trunk, remote)
        }
        return tree
    }
}

/// Objects to which page after page of changes is applied. What lies in a folder that is removed is not looked for then, but at the end: it is what was
/// written before the page that has removed the folder.
private struct ChangingObjects {
    private var objects: [RemoteKey: (object: RemoteObject, page: Int)]
    /// The last page that has removed a key, with all that was in it.
    private var removed: [RemoteKey: Int] = [:]
    private var page = 0

    init(_ known: [RemoteKey: RemoteObject]) { objects = known.mapValues { ($0, 0) } }

    mutating func apply(_ changes: RemoteChanges) {
        page += 1
        for key in changes.removed { removed[key] = page }
        // What was in a folder that is a file by now is gone with it.
        for object in changes.changed where !object.isFolder {
            guard let known = objects[object.key], known.object.isFolder, !isRemoved(object.key, since: known.page)
            else { continue }
            removed[object.key] = page
        }
        for object in changes.changed { objects[object.key] = (object, page) }
    }

    /// - Complexity: O(objects), with their depth.
    var there: [RemoteKey: RemoteObject] {
        objects.filter { key, entry in !isRemoved(key, since: entry.page) }.mapValues(\.object)
    }

    private func isRemoved(_ key: RemoteKey, since page: Int) -> Bool {
        var next: RemoteKey? = key
        while let key = next {
            if let removed = removed[key], removed > page { return true }
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
            let isFolder = row.isFolder
            objects[key] = RemoteObject(
                key: key,
                isFolder: isFolder,
                eTag: isFolder ? nil : row.eTag(of: .data),
                size: isFolder ? nil : row.size,
                modifiedAt: isFolder ? nil : row.modifiedAt
            )
            for mark in RemoteNode.marks(isFolder: isFolder) where mark != Sidecar.record {
                guard let eTag = row.eTag(ofMark: mark) else { continue }
                let (place, isContent) = (key.sidecar(mark), mark == Sidecar.content)
                objects[place] = RemoteObject(
                    key: place,
                    eTag: eTag,
                    size: isContent ? row.size : nil,
                    modifiedAt: isContent ? row.modifiedAt : nil
                )
            }
        }
        return objects
    }
}
