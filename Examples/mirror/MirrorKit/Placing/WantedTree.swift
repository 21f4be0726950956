import Strata
import StrataCloud

/// The tree beside what is known of the folder, as one moment of the store shows them.
struct WantedTree: Sendable {
    struct Item: Sendable {
        let node: ObjectID<CloudNode>
        /// Names with slashes between them.
        let path: String
        let isFolder: Bool
        /// What stands for it in the folder; nil where nothing does yet.
        let entry: ObjectID<MirrorEntry>?
        /// Whether the remote has a version of it that is not here.
        let isMarked: Bool
        /// Whether the remote has it at all.
        let isThere: Bool
        /// In bytes, at the remote.
        let size: Int64?
    }

    struct Entry: Sendable {
        let id: ObjectID<MirrorEntry>
        var path: String
        let isFolder: Bool
        var stamp: FileStamp
        let digest: String?
        /// Whether it may have been written in the moment in which it was read.
        var isFresh = false
    }

    /// Folders before what lies in them.
    var items: [Item] = []
    var entries: [ObjectID<MirrorEntry>: Entry] = [:]
    /// Names that no file here can have, with what leads to them, escaped as at the remote.
    var impossible: [String] = []

    /// Whether the folder is what the tree is, as far as is known of it.
    var isFollowed: Bool {
        let wanted = Set(items.compactMap(\.entry))
        return items.allSatisfy(isFollowed) && entries.values.allSatisfy { $0.isFolder || wanted.contains($0.id) }
    }

    private func isFollowed(_ item: Item) -> Bool {
        guard let entry = item.entry.flatMap({ entries[$0] }) else { return !item.isFolder && !item.isThere }
        return entry.path == item.path && (item.isFolder || !item.isMarked)
    }

    /// - Complexity: O(nodes).
    static func read(_ cloud: CloudContext) throws -> WantedTree {
        var tree = WantedTree()
        for row in try cloud.context.rows(MirrorEntry.all) {
            tree.entries[row.id] = Entry(
                id: row.id,
                path: row.path,
                isFolder: row.isFolder,
                stamp: row.stamp,
                digest: row.digest,
                isFresh: row.isFresh
            )
        }
        let marked = Set(try cloud.nodesMarkedForDownload(.data).map(\.id.number))
        try cloud.walk(cloud.root()) { node, names in
            guard names.allSatisfy(MirrorNames.isPossible) else {
                tree.impossible.append(RemoteKey(names).path)
                return .skip
            }
            let remote = node.remote
            tree.items.append(
                Item(
                    node: node.id,
                    path: names.joined(separator: "/"),
                    isFolder: node.isFolder,
                    entry: node.link.flatMap { ObjectID<MirrorEntry>($0) },
                    isMarked: marked.contains(node.id.number),
                    isThere: remote?.eTag != nil || remote?.size != nil,
                    size: remote?.size
                )
            )
            return .proceed
        }
        return tree
    }
}
