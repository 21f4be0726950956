import Strata

/// What tells a scan of a folder from what was known of it.
struct FolderChanges: Sendable {
    struct Known: Sendable {
        let id: ObjectID<MirrorEntry>
        var path: LocalPath
        let isFolder: Bool
        let stamp: FileStamp
        let isFresh: Bool
        let digest: String?
    }

    /// What was known, and lies somewhere else now; in the order of the new paths.
    private(set) var moved: [(known: Known, item: FolderItem)] = []
    /// What lies where it did, and may have another content.
    private(set) var touched: [(known: Known, item: FolderItem)] = []
    /// What was not known: folders before what lies in them.
    private(set) var new: [FolderItem] = []
    /// What is gone: what lay in a folder before the folder.
    private(set) var deleted: [Known] = []

    var isEmpty: Bool { moved.isEmpty && touched.isEmpty && new.isEmpty && deleted.isEmpty }

    /// What has the inode of something that is gone from its place, and its content, has been moved. Where several explanations are
    /// possible the safe one is taken: one thing deleted and another one made. Of what the scan has left out nothing is known: it stays.
    ///
    /// - Parameter hasContent: whether a file has the content that is known. The inode, the size and the time of writing do not prove that: a
    ///   new file may get the inode of a deleted one, and programs set the time as they like.
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
                // A file whose place is that of a folder by now could be in the way of where it has gone.
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

    /// What lies in a folder that was moved is looked for where it lies now.
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
