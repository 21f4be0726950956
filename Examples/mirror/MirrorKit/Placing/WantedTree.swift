import Strata
import StrataCloud

/// The tree and the known state of the folder, from one snapshot of the store.
struct WantedTree: Sendable {
    struct Item: Sendable {
        let node: ObjectID<CloudNode>
        let path: LocalPath
        let isFolder: Bool
        /// Whether the item is the content of a folder node, which appears beside the folder.
        var isContent = false
        /// The entry of the item in the folder. Nil if the local item does not exist yet.
        let entry: ObjectID<MirrorEntry>?
        /// Whether the remote has a version that is not here.
        let isMarked: Bool
        /// Whether the remote has the item.
        let isThere: Bool
        /// The size at the remote, in bytes.
        let size: Int64?
    }

    struct Entry: Sendable {
        let id: ObjectID<MirrorEntry>
        var path: LocalPath
        let isFolder: Bool
        var stamp: FileStamp
        let digest: String?
        /// Whether the file may have been written while it was read.
        var isFresh = false
    }

    /// A folder precedes its contents.
    var items: [Item] = []
    var entries: [ObjectID<MirrorEntry>: Entry] = [:]
    /// The paths of nodes whose names are not possible for local files, escaped as at the remote.
    var impossible: [String] = []
    /// Local files that have become the content of a folder node, because other clients have added items below them.
    var converted: [(node: ObjectID<CloudNode>, entry: ObjectID<MirrorEntry>)] = []
    /// The known files and folders whose nodes have such a name: they stay as they are.
    var displaced: Set<ObjectID<MirrorEntry>> = []
    /// Local folders that remained and now belong to other nodes.
    var adopted: Set<ObjectID<MirrorEntry>> = []

    /// The known files and folders that the tree no longer contains.
    var unwanted: [Entry] {
        let wanted = Set(items.compactMap(\.entry)).union(displaced)
        return entries.values.filter { !wanted.contains($0.id) }
    }

    /// The known differences between the folder and the tree: the local paths, and the paths in the tree.
    var differences: [(here: LocalPath?, there: LocalPath?)] {
        let items = items.filter { !isFollowed($0) }.map { item in
            (here: item.entry.flatMap { entries[$0]?.path }, there: Optional(item.path))
        }
        return items + unwanted.filter { !$0.isFolder }.map { (here: $0.path, there: nil) }
    }

    private func isFollowed(_ item: Item) -> Bool {
        guard let entry = item.entry.flatMap({ entries[$0] }) else { return !item.isFolder && !item.isThere }
        return entry.path == item.path && (item.isFolder || !item.isMarked)
    }

    /// - Complexity: O(nodes).
    static func read(_ cloud: CloudContext, _ folder: LocalFolder) throws -> WantedTree {
        var tree = WantedTree()
        var contents: [UTF8Text: ObjectID<MirrorEntry>] = [:]
        var folders: [(node: CloudNode, names: [String])] = []
        for row in try cloud.context.rows(MirrorEntry.all) {
            tree.entries[row.id] = Entry(
                id: row.id,
                path: LocalPath(row.path),
                isFolder: row.isFolder,
                stamp: row.stamp,
                digest: row.digest,
                isFresh: row.isFresh
            )
            if let node = row.contentOf { contents[UTF8Text(node)] = row.id }
        }
        let marked = Set(try cloud.nodesMarkedForDownload(.data).map(\.id.rawValue))
        try cloud.walk(cloud.root()) { node, names in
            let entry = node.link.flatMap { ObjectID<MirrorEntry>($0) }
            guard folder.isPossible(names) else {
                if folder.isPossible(names.dropLast()) { tree.impossible.append(RemoteKey(names).path) }
                for entry in [entry, contents[UTF8Text("\(node.id)")]] { if let entry { tree.displaced.insert(entry) } }
                return .proceed
            }
            let remote = node.remote
            if node.isFolder {
                if let entry, tree.entries[entry].map({ !$0.isFolder }) ?? false {
                    tree.converted.append((node.id, entry))
                }
                if remote?.eTag != nil, node.hasContent { folders.append((node, names)) }
            }
            tree.items.append(
                Item(
                    node: node.id,
                    path: LocalPath(names),
                    isFolder: node.isFolder,
                    entry: entry,
                    isMarked: marked.contains(node.id.rawValue),
                    isThere: remote?.eTag != nil || remote?.size != nil,
                    size: remote?.size
                )
            )
            return .proceed
        }
        var taken = folders.isEmpty ? [] : Set(tree.items.map(\.path))
        for (node, names) in folders {
            guard let path = Self.contentPath(names, folder, &taken) else { continue }
            tree.items.append(
                Item(
                    node: node.id,
                    path: path,
                    isFolder: false,
                    isContent: true,
                    entry: contents[UTF8Text("\(node.id)")],
                    isMarked: marked.contains(node.id.rawValue),
                    isThere: true,
                    size: node.remote?.size
                )
            )
        }
        return tree
    }

    /// The path at which the content of a folder node appears. Nil if no local file can have such a path.
    private static func contentPath(_ names: [String], _ folder: LocalFolder, _ taken: inout Set<LocalPath>)
        -> LocalPath?
    {
        guard let last = names.last else { return nil }
        for number in 1...1_000 {
            let all = names.dropLast() + [MirrorNames.numbered(MirrorNames.content(of: last), number)]
            guard folder.isPossible(all) else { return nil }
            let path = LocalPath(Array(all))
            if taken.insert(path).inserted { return path }
        }
        return nil
    }

    /// Records which local files have become the content of a folder node. The placement then creates the folder beside
    /// them, and links it to the node.
    func recordConversions(_ cloud: CloudContext) throws {
        for (id, entry) in converted {
            guard let node = try cloud.context.find(id), let entry = try cloud.context.find(entry),
                try cloud.node(for: entry.id) === node
            else { continue }
            try cloud.unlink(node)
            entry.contentOf = "\(id)"
        }
    }
}
