import Strata

/// The differences between a scan of the folder and its last known state.
struct FolderChanges: Sendable {
    struct Known: Sendable {
        let id: ObjectID<MirrorEntry>
        var path: LocalPath
        let isFolder: Bool
        let stamp: FileStamp
        let isFresh: Bool
        let digest: String?
    }

    /// Known items with a new path, in the order of the new paths.
    private(set) var moved: [(known: Known, item: FolderItem)] = []
    /// Known items at their known paths that may have new content.
    private(set) var touched: [(known: Known, item: FolderItem)] = []
    /// Unknown items. A folder precedes its contents.
    private(set) var new: [FolderItem] = []
    /// Deleted items. The contents of a folder precede the folder.
    private(set) var deleted: [Known] = []

    var isEmpty: Bool { moved.isEmpty && touched.isEmpty && new.isEmpty && deleted.isEmpty }

    /// An item has moved if it has the inode and the content of a known item that is gone from its path. If several
    /// explanations are possible, the safe one is used: one item was deleted, and another one was created. Items below
    /// paths that the scan has left out are unknown, and stay.
    ///
    /// - Parameter hasContent: whether a file has the known content. Inode, size and modification time do not prove
    ///   this: a new file may get the inode of a deleted one, and programs can set the modification time.
    init(_ scan: FolderScan, _ known: [Known], hasContent: (Known, FolderItem) throws -> Bool) rethrows {
        var places = Dictionary(known.map { ($0.path, $0) }) { first, _ in first }
        let found = Dictionary(scan.items.map { ($0.path, $0.isFolder) }) { first, _ in first }
        let missing = known.filter { found[$0.path] != $0.isFolder }
        var inodes = Dictionary(missing.map { ($0.stamp.inode, $0) }) { first, _ in first }
        for item in scan.items {
            if let known = places[item.path], known.isFolder == item.isFolder {
                places[item.path] = nil
                inodes[known.stamp.inode] = nil
                if Self.isTouched(known, item) { touched.append((known, item)) }
            } else if let known = inodes[item.stamp.inode], known.isFolder == item.isFolder,
                // A file counts as moved only if its old path is free now. A folder there may be the one into which the
                // file has moved.
                try item.isFolder
                    || known.stamp.hasContent(of: item.stamp) && found[known.path] == nil && hasContent(known, item)
            {
                inodes[item.stamp.inode] = nil
                places[known.path] = nil
                moved.append((known, item))
                if item.isFolder { Self.carry(&places, &inodes, from: known.path, to: item.path) }
            } else {
                new.append(item)
            }
        }
        deleted = places.values.filter { !scan.isUnknown($0.path) }.sorted { $0.path > $1.path }
    }

    private static func isTouched(_ known: Known, _ item: FolderItem) -> Bool {
        if item.isFolder { return known.stamp.inode != item.stamp.inode }
        return known.isFresh || known.stamp != item.stamp
    }

    /// Looks for the contents of a moved folder at their new paths.
    private static func carry(
        _ places: inout [LocalPath: Known],
        _ inodes: inout [UInt64: Known],
        from old: LocalPath,
        to new: LocalPath
    ) {
        for (path, var known) in places where path.isBelow(old) {
            known.path = path.moved(from: old, to: new)
            places[path] = nil
            places[known.path] = known
            if inodes[known.stamp.inode]?.id == known.id { inodes[known.stamp.inode] = known }
        }
    }
}
