import Foundation
import Strata
import StrataCloud

/// Applies the tree to the folder: deletions, moves, new folders, and then downloads.
///
/// Each step changes the folder first, and is then recorded. If the process is killed between the two, the next scan
/// recognises the step: a move that the tree contains too, a folder that exists on both sides, or content that was
/// announced.
struct Placement: Sendable {
    let stack: ContextStack
    let account: CloudAccount
    let folder: LocalFolder
    let conflictName: ConflictName
    let pauses: Pauses
    let pendingRenames: PendingRenames
    /// Reports a condition that may recur in the next pass.
    let report: @Sendable (String) -> Void
    /// Reports a single event.
    let tell: @Sendable (String) -> Void

    /// The result of a placement.
    struct Summary: Sendable {
        var changes = 0
        /// The number of steps that are deferred to the next pass.
        var postponed = 0
        /// The deferred paths, with the known reasons.
        var reasons: [LocalPath: String] = [:]

        mutating func postpone(_ path: LocalPath, _ reason: String) {
            postponed += 1
            reasons[path] = reason
        }
    }

    func run(_ tree: WantedTree) async throws -> Summary {
        var tree = tree
        var summary = Summary()
        let left = try await delete(tree.unwanted, &tree, &summary)
        var downloads: [WantedTree.Item] = []
        var waiting = tree.items
        // An item that blocks another one may itself have to move.
        while true {
            var next: [WantedTree.Item] = []
            for item in waiting {
                try Task.checkCancellation()
                switch try await arrangeIfAllowed(item, &tree, &summary) {
                case .nothing: break
                case .done: summary.changes += 1
                case .download: downloads.append(item)
                case .blocked: next.append(item)
                case .refused: break
                }
            }
            if next.isEmpty { break }
            if next.count == waiting.count {
                for item in next { summary.postpone(item.path, "another file or folder is in its place") }
                guard try await unblock(next, &tree) else { break }
            }
            waiting = next
        }
        // Items that have moved out of a folder no longer keep it from being deleted.
        let gone = left.filter { !tree.adopted.contains($0.id) }
        _ = try await delete(gone.compactMap { tree.entries[$0.id] }, &tree, &summary)
        let late = try await Arrivals(self, tree).fetch(downloads)
        summary.changes += downloads.count - late.count
        for (path, reason) in late { summary.postpone(path, reason) }
        return summary
    }

    // MARK: Deleted items

    /// - Returns: the entries that stay, because they were changed here or are folders with contents. The next scan
    ///   adds them to the tree again.
    private func delete(
        _ entries: [WantedTree.Entry],
        _ tree: inout WantedTree,
        _ summary: inout Summary
    ) async throws -> [WantedTree.Entry] {
        var (gone, left) = ([ObjectID<MirrorEntry>](), [WantedTree.Entry]())
        // The contents of a folder precede the folder.
        for entry in entries.sorted(by: { $0.path > $1.path }) {
            // The file may have been written since it was read, so the next scan reads it again.
            if entry.isFresh { summary.postpone(entry.path, "it was just written here, and is read again") }
            guard !entry.isFresh, try isGone(entry, &summary) else {
                left.append(entry)
                continue
            }
            gone.append(entry.id)
            tree.entries[entry.id] = nil
        }
        guard !gone.isEmpty else { return left }
        summary.changes += gone.count
        try await commit { [gone] cloud in
            for id in gone { if let entry = try cloud.context.find(id) { cloud.context.delete(entry) } }
        }
        return left
    }

    /// Deletes an unchanged item. If the file system refuses the deletion, the item stays and the user is informed.
    private func isGone(_ entry: WantedTree.Entry, _ summary: inout Summary) throws -> Bool {
        do {
            guard try folder.delete(entry.path, isFolder: entry.isFolder, entry.stamp) else { return false }
            if !entry.isFolder { reportTrash() }
            return true
        } catch let error as FolderError {
            report("\(error)")
            summary.postpone(entry.path, "\(error)")
            return false
        }
    }

    // MARK: Moved and new items

    private enum Step { case nothing, done, download, blocked, refused }

    /// Arranges an item. If the file system refuses, for example because permissions are missing, only this item is
    /// deferred.
    private func arrangeIfAllowed(
        _ item: WantedTree.Item,
        _ tree: inout WantedTree,
        _ summary: inout Summary
    ) async throws -> Step {
        do { return try await arrange(item, &tree) } catch let error as FolderError {
            report("\(error)")
            summary.postpone(item.path, "\(error)")
            return .refused
        }
    }

    private func arrange(_ item: WantedTree.Item, _ tree: inout WantedTree) async throws -> Step {
        guard let entry = item.entry.flatMap({ tree.entries[$0] }) else {
            guard item.isFolder || item.isThere, try !isLeftOut(nil, item.path) else { return .nothing }
            return item.isFolder ? try await make(item, &tree) : .download
        }
        guard entry.path != item.path || item.isMarked && !item.isFolder else { return .nothing }
        if try isLeftOut(entry.path, item.path) { return .nothing }
        if entry.path == item.path { return .download }
        if isTwin(entry, item, tree) { return .nothing }
        if let occupant = try folder.item(item.path) {
            if tree.entries.values.contains(where: { $0.path == item.path }) { return .blocked }
            // The item is unknown. It makes way, and the next scan finds it.
            try setAside(occupant.path)
        }
        try await write { cloud in try cloud.context.find(entry.id)?.destination = item.path.text }
        guard try folder.move(entry.path, to: item.path) else { return .blocked }
        reportRename(entry, item.path)
        try await carry(entry, to: item.path, &tree)
        return .done
    }

    /// Whether changes by other clients are not applied here because of an obstacle on the path. The mirror does not
    /// write through a symbolic link.
    private func isLeftOut(_ here: LocalPath?, _ there: LocalPath) throws -> Bool {
        guard let obstacle = try folder.obstacle(here: here, there: there) else { return false }
        report("\(obstacle.path) is \(obstacle.special ?? "something else"): the remote's changes do not come there")
        return true
    }

    /// Whether another client has created a file of the same size at the path of a local file that had to give way. The
    /// two may have the same content.
    private func isTwin(_ entry: WantedTree.Entry, _ item: WantedTree.Item, _ tree: WantedTree) -> Bool {
        guard !item.isThere, !entry.isFolder else { return false }
        return tree.items.contains {
            $0.path == entry.path && $0.entry == nil && !$0.isFolder && $0.size == entry.stamp.size
        }
    }

    private func make(_ item: WantedTree.Item, _ tree: inout WantedTree) async throws -> Step {
        if let there = try folder.item(item.path), !there.isFolder {
            if tree.entries.values.contains(where: { $0.path == item.path }) { return .blocked }
            try setAside(item.path)
        }
        if let known = tree.entries.values.first(where: { $0.path == item.path }), known.isFolder {
            return try await adopt(known, for: item, &tree) ? .done : .blocked
        }
        guard let id = try await write({ cloud in try Self.announce(item, "a folder", in: cloud) }) else {
            return .nothing
        }
        let result = Result { try folder.makeFolder(item.path) }
        guard case .success(let made?) = result else {
            try await forget(id)
            _ = try result.get()
            return .blocked
        }
        try await write { cloud in
            guard let entry = try cloud.context.find(id) else { return }
            (entry.stamp, entry.incoming) = (made.stamp, nil)
        }
        tree.entries[id] = WantedTree.Entry(id: id, path: item.path, isFolder: true, stamp: made.stamp, digest: nil)
        return .done
    }

    /// Links a folder that remains here to the node of a new folder at its path. The folder remains because other
    /// clients have deleted it, but it still has contents.
    ///
    /// - Returns: whether the local folder does not belong to another node.
    private func adopt(_ entry: WantedTree.Entry, for item: WantedTree.Item, _ tree: inout WantedTree) async throws
        -> Bool
    {
        if tree.items.contains(where: { $0.entry == entry.id }) { return false }
        let isAdopted = try await write { cloud in
            guard let node = try cloud.context.find(item.node), try cloud.context.find(entry.id) != nil else {
                return false
            }
            try cloud.link(node, to: entry.id)
            return true
        }
        if isAdopted { tree.adopted.insert(entry.id) }
        return isAdopted
    }

    /// Records in a context that an item is about to be placed.
    ///
    /// - Returns: the item's new entry. Nil if its node is gone.
    static func announce(_ item: WantedTree.Item, _ incoming: String, in cloud: CloudContext) throws
        -> ObjectID<MirrorEntry>?
    {
        guard let node = try cloud.context.find(item.node) else { return nil }
        let entry = cloud.context.insert(
            MirrorEntry(path: item.path.text, isFolder: item.isFolder, stamp: .none, incoming: incoming)
        )
        if item.isContent { entry.contentOf = "\(node.id)" } else { try cloud.link(node, to: entry.id) }
        return entry.id
    }

    /// Withdraws the announcement of an item.
    func forget(_ id: ObjectID<MirrorEntry>) async throws {
        try await write { cloud in
            guard let entry = try cloud.context.find(id) else { return }
            if let node = try cloud.node(for: id) { try cloud.unlink(node) }
            cloud.context.delete(entry)
        }
    }

    private func carry(_ entry: WantedTree.Entry, to path: LocalPath, _ tree: inout WantedTree) async throws {
        let old = entry.path
        // Moving a file changes only the time of its last status change.
        let found = try folder.item(path)?.stamp
        let stamp = found.flatMap { $0.hasContent(of: entry.stamp) ? $0 : nil } ?? entry.stamp
        var paths: [ObjectID<MirrorEntry>: LocalPath] = [entry.id: path]
        for other in tree.entries.values where entry.isFolder && other.path.isBelow(old) {
            paths[other.id] = other.path.moved(from: old, to: path)
        }
        for (id, path) in paths { tree.entries[id]?.path = path }
        tree.entries[entry.id]?.stamp = stamp
        try await commit { [paths] cloud in
            for (id, path) in paths { try cloud.context.find(id)?.path = path.text }
            guard let known = try cloud.context.find(entry.id) else { return }
            (known.stamp, known.destination) = (stamp, nil)
        }
    }

    /// Resolves a cycle of items that block each other: moves one of them to a free name, from which it moves on later.
    private func unblock(_ items: [WantedTree.Item], _ tree: inout WantedTree) async throws -> Bool {
        for item in items {
            guard let entry = item.entry.flatMap({ tree.entries[$0] }), entry.path != item.path,
                items.contains(where: { $0.path == entry.path })
            else { continue }
            let aside = try folder.freePath(entry.path, conflictName)
            try await write { cloud in try cloud.context.find(entry.id)?.destination = aside.text }
            guard try folder.move(entry.path, to: aside) else { continue }
            try await carry(entry, to: aside, &tree)
            return true
        }
        return false
    }

    /// Renames an unknown local item, so that it makes way.
    func setAside(_ path: LocalPath) throws {
        let other = try folder.freePath(path, conflictName)
        if try folder.move(path, to: other) { reportNewPath(path, other) }
    }

    /// Informs the user that an item has another name, if it had to give way.
    func reportRename(_ entry: WantedTree.Entry, _ path: LocalPath) {
        if pendingRenames.remove(entry.id) { reportNewPath(entry.path, path) }
    }

    private func reportNewPath(_ path: LocalPath, _ other: LocalPath) {
        tell("\(path) was renamed to \(other): another machine has a file of this name")
    }

    /// Reports once where files are kept that other clients delete or replace.
    func reportTrash() {
        guard let trash = folder.trash else { return }
        report("files that other machines delete or replace are kept for \(trash.days) days in \(trash.url.path)")
    }

    // MARK: Committing

    /// Runs a short block on the newest state, and commits its changes. Concurrent commits may share its transaction.
    ///
    /// - Parameter body: may run several times. If the push changes what it reads, it runs again.
    func write<T: Sendable>(_ body: @escaping @Sendable (CloudContext) throws -> T) async throws -> T {
        let account = account
        return try await stack.write { context in try body(context.cloud(account)) }
    }

    /// Runs a block that may change many entries, and commits its changes. Other writers do not wait for the block.
    ///
    /// - Throws: `conflict` if the push changes the same values meanwhile.
    private func commit<T: Sendable>(_ body: sending @escaping (CloudContext) throws -> T) async throws -> T {
        let account = account
        return try await stack.background { context in
            let result = try body(context.cloud(account))
            try context.commit()
            return result
        }
    }
}
