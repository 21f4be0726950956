import Foundation
import Strata
import StrataCloud

/// Downloads new and changed files and places them, several at a time.
struct Arrivals: Sendable {
    private let placement: Placement
    private let entries: [ObjectID<MirrorEntry>: WantedTree.Entry]
    private let paths: [LocalPath: WantedTree.Entry]

    /// The number of concurrent downloads.
    private static let width = 4

    init(_ placement: Placement, _ tree: WantedTree) {
        (self.placement, entries) = (placement, tree.entries)
        paths = Dictionary(tree.entries.values.map { ($0.path, $0) }) { first, _ in first }
    }

    /// - Returns: the paths of the files that could not be placed, with the reasons.
    /// - Throws: `CancellationError`. Files that do not arrive stay marked for download.
    func fetch(_ items: [WantedTree.Item]) async throws -> [LocalPath: String] {
        try await withThrowingTaskGroup(of: (LocalPath, String?).self) { group in
            var late: [LocalPath: String] = [:]
            func record(_ result: (path: LocalPath, reason: String?)) {
                if let reason = result.reason { late[result.path] = reason }
            }
            for (index, item) in items.enumerated() {
                if index >= Self.width, let result = try await group.next() { record(result) }
                group.addTask { (item.path, try await self.fetch(item)) }
            }
            for try await result in group { record(result) }
            return late
        }
    }

    /// - Returns: the reason why the file was not placed. Nil if it was placed.
    private func fetch(_ item: WantedTree.Item) async throws -> String? {
        let entry = item.entry.flatMap { entries[$0] }
        // The file may have been written since it was read, so the next scan reads it again.
        if entry?.isFresh ?? false { return "it was just written here, and is read again" }
        if let reason = placement.pauses.reason(for: item.node) { return reason }
        do {
            let file = try await placement.account.downloads.fetch(item.node)
            defer { file.release() }
            let staged = try placement.folder.stage(file.file, for: item.path, replacing: entry?.stamp)
            defer { staged.discard() }
            let isPlaced = try await place(staged, file.eTag, item)
            placement.pauses.forget(item.node)
            return isPlaced ? nil : "it was changed here, and the next scan compares the two"
        } catch let error as CancellationError {
            throw error
        } catch {
            try Task.checkCancellation()
            // The file stays marked for download. If the remote is unreachable, the pulls report it.
            if (error as? RemoteError)?.code != .unreachable {
                placement.report("\(item.path): \(error)")
                placement.pauses.begin(for: item.node, "\(error)")
            }
            return "\(error)"
        }
    }

    private func place(_ staged: LocalFolder.Staged, _ eTag: ETag?, _ item: WantedTree.Item) async throws -> Bool {
        let folder = placement.folder
        if let entry = item.entry.flatMap({ entries[$0] }) {
            guard entry.path == item.path, try folder.item(entry.path)?.stamp == entry.stamp else { return false }
            if entry.digest != staged.digest {
                try await placement.commit { [digest = staged.digest, exchange = staged.exchange] cloud in
                    guard let entry = try cloud.context.find(entry.id) else { return }
                    (entry.incoming, entry.exchange) = (digest, exchange)
                }
                guard try folder.replace(entry.path, entry.stamp, with: staged) else { return false }
                placement.reportTrash()
            }
            return try await recordPlacement(item, entry.id, staged.digest, eTag)
        }
        if let twin = paths[item.path] { return try await unite(twin, staged.digest, eTag, item) }
        if let there = try folder.item(item.path), !isSame(there, staged) { try placement.setAside(item.path) }
        guard let id = try await placement.announce(item, staged.digest) else { return false }
        // A file that is already there has the same content, or was created a moment ago.
        if try !folder.place(staged, at: item.path), try folder.print(item.path)?.digest != staged.digest {
            try await placement.forget(id)
            return false
        }
        return try await recordPlacement(item, id, staged.digest, eTag)
    }

    /// Whether an existing item at the destination has the same content. An unreadable item counts as different.
    private func isSame(_ there: FolderItem, _ staged: LocalFolder.Staged) -> Bool {
        guard !there.isFolder, !there.isSpecial else { return false }
        return (try? placement.folder.print(there.path))?.digest == staged.digest
    }

    /// Records that a file has been placed.
    private func recordPlacement(
        _ item: WantedTree.Item,
        _ id: ObjectID<MirrorEntry>,
        _ digest: String,
        _ eTag: ETag?
    ) async throws -> Bool {
        guard let print = try placement.folder.print(item.path), print.digest == digest else {
            // The file was changed already, so both versions are kept.
            return false
        }
        return try await placement.commit { cloud in
            guard let node = try cloud.context.find(item.node), let entry = try cloud.context.find(id) else {
                return false
            }
            (entry.stamp, entry.isFresh) = (print.stamp, print.isFresh)
            (entry.digest, entry.incoming, entry.exchange) = (digest, nil, nil)
            try cloud.unmarkNeedsDownload(node, .data, ifETagMatches: eTag)
            return true
        }
    }

    /// Unites a local file that had to give way with the remote's file of the same path, because their contents are
    /// equal. Then one node is enough.
    private func unite(
        _ entry: WantedTree.Entry,
        _ digest: String,
        _ eTag: ETag?,
        _ item: WantedTree.Item
    ) async throws -> Bool {
        guard entry.digest == digest else {
            try await separate(entry)
            return false
        }
        let isOne: Bool = try await placement.commit { cloud in
            guard let node = try cloud.context.find(item.node), let own = try cloud.node(for: entry.id),
                own.remote?.eTag == nil
            else { return false }
            try cloud.delete(own)
            try cloud.link(node, to: entry.id)
            try cloud.unmarkNeedsDownload(node, .data, ifETagMatches: eTag)
            return true
        }
        if isOne { placement.pendingRenames.remove(entry.id) }
        return isOne
    }

    /// Separates the two files, because their contents differ. The local file moves to the path of its node, and the
    /// remote's file is placed in the next pass.
    private func separate(_ entry: WantedTree.Entry) async throws {
        let folder = placement.folder
        let path = try await placement.commit { cloud in
            try (cloud.node(for: entry.id)?.path.names).map { LocalPath($0) }
        }
        guard let path, path != entry.path, try folder.move(entry.path, to: path) else { return }
        placement.reportRename(entry, path)
        let stamp = try folder.item(path)?.stamp
        try await placement.commit { cloud in
            guard let known = try cloud.context.find(entry.id) else { return }
            known.path = path.text
            if let stamp, stamp.hasContent(of: entry.stamp) { known.stamp = stamp }
        }
    }
}
