import Strata

/// The changes that a remote's feed has reported since the last pull.
struct RemoteFeed: Sendable {
    /// The position from which the next request continues.
    let cursor: String
    /// Whether the feed has reported all objects, not only the changed ones.
    let isWhole: Bool
    fileprivate let pages: [RemoteChanges]

    /// Reads the changes of a remote. If the remote no longer knows the cursor, reads all objects.
    static func read(_ remote: any Remote, since position: FeedPosition?) async throws -> RemoteFeed {
        let cursor = position?.cursor
        do {
            var pages: [RemoteChanges] = []
            if let position {
                // The left keys are requested before the feed is read, so that the feed reports the changes made in the
                // meantime.
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

    /// The objects at keys, in the form of a feed page; nil if the remote reports an error.
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
    /// The objects at a remote, computed from the known state and the changes since then.
    static func find(in remote: any Remote, _ known: LastSyncedTree, _ feed: RemoteFeed) async throws -> RemoteTree {
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

/// Objects to which pages of changes are applied in order. The removal of a folder does not search for the folder's
/// content at once. At the end, an object in a removed folder is dropped if it was written before the page that removed
/// the folder.
private struct ChangingObjects {
    private var objects: [RemoteKey: (object: RemoteObject, page: Int)]
    /// The last page that has removed a key and everything below it.
    private var removed: [RemoteKey: Int] = [:]
    private var page = 0

    init(_ known: [RemoteKey: RemoteObject]) { objects = known.mapValues { ($0, 0) } }

    mutating func apply(_ changes: RemoteChanges) {
        page += 1
        for key in changes.removed { removed[key] = page }
        // If a folder is now a file, the content of the folder is gone.
        for object in changes.changed where !object.isFolder {
            guard let known = objects[object.key], known.object.isFolder, !isRemoved(object.key, since: known.page)
            else { continue }
            removed[object.key] = page
        }
        for object in changes.changed { objects[object.key] = (object, page) }
    }

    /// - Complexity: O(objects × depth).
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

extension LastSyncedTree {
    /// The objects that the remote is known to have, in the form in which the remote would report them.
    fileprivate var objects: [RemoteKey: RemoteObject] {
        var objects: [RemoteKey: RemoteObject] = [:]
        for row in rows.values where row.isCertain && row.parent != nil {
            guard let key = key(of: row.id.rawValue) else { continue }
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
