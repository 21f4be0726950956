import Strata
import StrataCloud
import StrataPipeline

/// Applies the changes of the folder to the tree and to the known state of the folder. All changes belong to one
/// context, so one commit contains them together with the operations that they queue.
final class TreeChanges {
    private let cloud: CloudContext
    private let conflictName: ConflictName
    private let pendingRenames: PendingRenames
    /// Whether an operation has failed permanently.
    private let hasFailures: Bool
    private var entries: [LocalPath: MirrorEntry] = [:]
    /// Whether the tree contains an obstacle or a change that the placement, the opposite direction, must handle.
    private(set) var hasMet = false
    /// The number of changes.
    private(set) var count = 0

    private var context: ObjectContext { cloud.context }

    init(_ cloud: CloudContext, _ conflictName: ConflictName, _ pendingRenames: PendingRenames) throws {
        (self.cloud, self.conflictName, self.pendingRenames) = (cloud, conflictName, pendingRenames)
        hasFailures = try !cloud.failedOperations().isEmpty
        for entry in try cloud.context.fetch(MirrorEntry.all) { entries[LocalPath(entry.path)] = entry }
    }

    /// - Parameter prints: the content of new and touched files, by their paths. Files that were being written are left
    ///   to the next scan.
    func apply(_ changes: FolderChanges, _ prints: [LocalPath: LocalFolder.Print]) throws {
        // Items that moved out of a folder must leave it before the folder is deleted. All other deletions come first,
        // because deleted items may be in the way.
        let sources = changes.moved.compactMap { $0.known.path.folder }
        let (late, early) = changes.deleted.reduce(into: ([FolderChanges.Known](), [FolderChanges.Known]())) {
            (parts, known) in
            let isSource = sources.contains { $0 == known.path || $0.isBelow(known.path) }
            if isSource { parts.0.append(known) } else { parts.1.append(known) }
        }
        try delete(early)
        var made = changes.moved.map { (path: $0.item.path, known: Optional($0.known), item: $0.item) }
        made += changes.new.map { ($0.path, nil, $0) }
        for (_, known, item) in made.sorted(by: { $0.path < $1.path }) {
            if let known { try move(known, item, prints[item.path]) } else { try add(item, prints[item.path]) }
        }
        for (known, item) in changes.touched { try update(known, item, prints[item.path]) }
        try delete(late)
    }

    // MARK: New, moved and changed items

    private func add(_ item: FolderItem, _ print: LocalFolder.Print?, as old: MirrorEntry? = nil) throws {
        guard item.isFolder || print != nil, let parent = try folder(of: item.path) else { return }
        let name = item.path.last
        let taken = try cloud.child(name, of: parent)
        // Folders of the same name, created both here and elsewhere, are one folder.
        if let taken, !(taken.isFolder && item.isFolder && taken.link == nil) {
            hasMet = true
            if let old { forget(old) }
            return
        }
        let entry =
            old ?? context.insert(MirrorEntry(path: item.path.text, isFolder: item.isFolder, stamp: item.stamp))
        record(entry, item, print)
        entries[item.path] = entry
        count += 1
        let path = parent.path.appending(name)
        if item.isFolder {
            try cloud.link(taken ?? cloud.createFolder(at: path), to: entry.id)
        } else {
            try cloud.createNode(at: path, content: entry.id, size: print?.stamp.size)
        }
    }

    private func move(_ known: FolderChanges.Known, _ item: FolderItem, _ print: LocalFolder.Print?) throws {
        guard let entry = try context.find(known.id), let parent = try folder(of: item.path) else { return }
        let name = item.path.last
        let node = try entry.node(in: cloud)
        if let destination = entry.destination, LocalPath(destination) == item.path {
            // The placement made this move to follow the tree, but could not record it.
            hasMet = true
        } else if entry.contentOf != nil {
            // A program or the user has moved the content of a folder node away. It counts as a new file, and the
            // content is restored at its path.
            hasMet = true
            return forget(entry)
        } else if let node {
            if let taken = try cloud.child(name, of: parent), taken !== node {
                hasMet = true
                return
            }
            try cloud.move(node, into: parent, as: name)
        }
        count += 1
        carry(entry, to: item.path)
        (entry.stamp, entry.destination) = (print?.stamp ?? item.stamp, nil)
        if let print { entry.isFresh = print.isFresh }
        // Another client has deleted the node, and here the file was moved.
        if node == nil { forget(entry) }
    }

    private func carry(_ entry: MirrorEntry, to path: LocalPath) {
        let old = LocalPath(entry.path)
        if entry.isFolder {
            for (place, child) in entries where place.isBelow(old) {
                let other = place.moved(from: old, to: path)
                child.path = other.text
                (entries[place], entries[other]) = (nil, child)
            }
        }
        entry.path = path.text
        (entries[old], entries[path]) = (nil, entry)
    }

    private func update(_ known: FolderChanges.Known, _ item: FolderItem, _ print: LocalFolder.Print?) throws {
        guard let entry = try context.find(known.id) else { return }
        if item.isFolder { return (entry.stamp, entry.incoming) = (item.stamp, nil) }
        guard let print else { return }
        let isSame = print.digest == entry.digest || print.digest == entry.incoming
        record(entry, item, print)
        // Most files that were just placed are read again, and are the same.
        if isSame, !hasFailures { return }
        let node = try entry.node(in: cloud)
        if hasFailures, let node {
            // A retry is needed even if the upload failed because its file was unreadable and the file is readable
            // again. Otherwise, operations that depend on the failed upload would wait forever.
            for operation in try cloud.operations(for: node) where operation.status == .failed { operation.retry() }
        }
        if isSame { return }
        guard let node else {
            entry.contentOf = nil
            return try add(item, print, as: entry)
        }
        count += 1
        if try !cloud.isMarkedForDownload(node, .data) {
            try cloud.upload(node, size: print.stamp.size)
        } else if try entry.splitContent(from: node, conflictName, pendingRenames, in: cloud) {
            // Each version is a separate file, because this one was changed before the remote's new version arrived.
            hasMet = true
        }
    }

    private func record(_ entry: MirrorEntry, _ item: FolderItem, _ print: LocalFolder.Print?) {
        entry.stamp = print?.stamp ?? item.stamp
        entry.isFresh = print?.isFresh ?? false
        entry.digest = print?.digest
        entry.incoming = nil
    }

    private func forget(_ entry: MirrorEntry) {
        entries[LocalPath(entry.path)] = nil
        context.delete(entry)
    }

    /// The node of the folder that contains a path. A folder that other clients have deleted is created again if it has
    /// new contents here.
    private func folder(of path: LocalPath) throws -> CloudNode? {
        guard let path = path.folder else { return try cloud.root() }
        // The folder is itself blocked by an item of the tree, or its path is still known as that of a file.
        guard let entry = entries[path], entry.isFolder else { return nil }
        if let node = try cloud.node(for: entry.id) { return node }
        guard let parent = try folder(of: path) else { return nil }
        let name = path.last
        if let taken = try cloud.child(name, of: parent) {
            guard taken.isFolder, taken.link == nil else { return nil }
            try cloud.link(taken, to: entry.id)
            return taken
        }
        let node = try cloud.createFolder(at: parent.path.appending(name))
        try cloud.link(node, to: entry.id)
        return node
    }

    // MARK: Deleted items

    private func delete(_ known: [FolderChanges.Known]) throws {
        let gone = Set(known.map(\.id.rawValue))
        for known in known.reversed() {
            // Folders come first here, and their deletion includes their contents.
            guard let entry = try context.find(known.id), !entry.isDeleted else { continue }
            count += 1
            guard let node = try cloud.node(for: entry.id) else { continue }
            // Content that has never arrived was not deleted here.
            if try entry.incoming == nil && isAllGone(node, gone) {
                try cloud.delete(node)
            } else {
                try cloud.unlink(node)
            }
        }
        for known in known {
            if let entry = try context.find(known.id) { forget(entry) }
        }
        hasMet = hasMet || !known.isEmpty
    }

    /// Whether all contents of a node were deleted here, and no change by other clients is still missing here.
    private func isAllGone(_ node: CloudNode, _ gone: Set<Int64>) throws -> Bool {
        var isAllGone = true
        func look(_ node: CloudNode) throws {
            let entry = node.link.flatMap { ObjectID<MirrorEntry>($0) }
            var isGone = entry.map { gone.contains($0.rawValue) } ?? false
            if isGone, node.isFolder, node.hasContent {
                // Content that has never arrived was not deleted here.
                let content = try MirrorEntry.content(of: node, in: cloud)
                isGone = content.map { gone.contains($0.id.rawValue) && $0.incoming == nil } ?? false
            }
            let isAwaited = try node.hasContent && cloud.isMarkedForDownload(node, .data)
            if !isGone || isAwaited { isAllGone = false }
        }
        try look(node)
        try cloud.walk(node) { child, _ in
            try look(child)
            return isAllGone ? .proceed : .stop
        }
        return isAllGone
    }
}
