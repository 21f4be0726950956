import Foundation
import Strata
import StrataCloud

/// Downloads new and changed files, several at a time, and places them in portions.
///
/// The files that arrive while a portion is being placed form the next portion. One commit announces the files of a
/// portion, and another one records them. So many small files need few commits, and no file waits for the download of
/// another one.
struct Arrivals: Sendable {
    /// A downloaded file, as a copy in its destination folder that is not at its path yet.
    struct Arrived: Sendable {
        let item: WantedTree.Item
        /// The entry of the file at the item's path. Nil if the item is new here.
        let entry: WantedTree.Entry?
        let eTag: ETag?
        let staged: LocalFolder.Staged

        /// Whether the copy must be placed. Otherwise the file at the path has the same content.
        var isNewContent: Bool { entry.map { $0.digest != staged.digest } ?? true }
    }

    /// A file that has been placed.
    private struct Placed: Sendable {
        let file: Arrived
        let entry: ObjectID<MirrorEntry>
        let version: Version
    }

    /// The version of a file at its path.
    private struct Version: Sendable {
        let stamp: FileStamp
        let isFresh: Bool
    }

    /// The result of a task.
    private enum Event: Sendable {
        case arrived(Arrived)
        /// A file was not downloaded, for a reason.
        case late(LocalPath, String)
        /// A portion was placed, except for these files.
        case placed(late: [LocalPath: String])
    }

    let placement: Placement
    private let entries: [ObjectID<MirrorEntry>: WantedTree.Entry]
    private let paths: [LocalPath: WantedTree.Entry]

    /// The number of concurrent downloads.
    private static let width = 8
    /// The number of files in the next portion from which on no download begins. If the process is killed, they are
    /// downloaded again.
    private static let limit = 64
    /// The reason why a file is not placed if its path has another version than the mirror knows.
    private static let changed = "it was changed here, and the next scan compares the two"

    init(_ placement: Placement, _ tree: WantedTree) {
        (self.placement, entries) = (placement, tree.entries)
        paths = Dictionary(tree.entries.values.map { ($0.path, $0) }) { first, _ in first }
    }

    /// - Returns: the paths of the files that could not be placed, with the reasons.
    /// - Throws: `CancellationError`. Files that do not arrive stay marked for download.
    func fetch(_ items: [WantedTree.Item]) async throws -> [LocalPath: String] {
        let late: [LocalPath: String] = await withTaskGroup(of: Event.self) { group in
            var late: [LocalPath: String] = [:]
            var waiting = items[...]
            var arrived: [Arrived] = []
            var (downloads, isPlacing) = (0, false)
            while true {
                while downloads < Self.width, arrived.count < Self.limit, !Task.isCancelled,
                    let item = waiting.popFirst()
                {
                    downloads += 1
                    group.addTask { await self.download(item) }
                }
                if !isPlacing, !arrived.isEmpty {
                    isPlacing = true
                    // Also after a cancellation, because it removes the copies.
                    group.addTask { [arrived] in .placed(late: await self.place(arrived)) }
                    arrived = []
                }
                switch await group.next() {
                case nil: return late
                case .arrived(let file)?:
                    downloads -= 1
                    arrived.append(file)
                case .late(let path, let reason)?:
                    downloads -= 1
                    late[path] = reason
                case .placed(let others)?:
                    isPlacing = false
                    late.merge(others) { _, last in last }
                }
            }
        }
        try Task.checkCancellation()
        return late
    }

    // MARK: Downloading

    private func download(_ item: WantedTree.Item) async -> Event {
        let entry = item.entry.flatMap { entries[$0] }
        // The file may have been written since it was read, so the next scan reads it again.
        if entry?.isFresh ?? false { return .late(item.path, "it was just written here, and is read again") }
        if let reason = placement.pauses.reason(for: item.node) { return .late(item.path, reason) }
        do {
            // A download would be in vain. For example, the last process was killed before it placed the file.
            if let entry, try !isUnchanged(entry, at: item.path) {
                placement.pauses.forget(item.node)
                return .late(item.path, Self.changed)
            }
            let file = try await placement.account.downloads.fetch(item.node)
            defer { file.release() }
            let staged = try placement.folder.stage(file.file, for: item.path, replacing: entry?.stamp)
            return .arrived(Arrived(item: item, entry: entry, eTag: file.eTag, staged: staged))
        } catch {
            return .late(item.path, failure(of: item, error))
        }
    }

    /// Whether the file of an entry is at a path, in the known version.
    private func isUnchanged(_ entry: WantedTree.Entry, at path: LocalPath) throws -> Bool {
        try entry.path == path && placement.folder.item(path)?.stamp == entry.stamp
    }

    /// Delays the next attempt to place a file, and reports the error. The file stays marked for download.
    ///
    /// - Returns: the reason why the file was not placed.
    private func failure(of item: WantedTree.Item, _ error: any Error) -> String {
        // If the remote is unreachable, the pulls report it.
        let isExpected = Task.isCancelled || error is CancellationError || (error as? RemoteError)?.code == .unreachable
        if !isExpected {
            placement.report("\(item.path): \(error)")
            placement.pauses.begin(for: item.node, "\(error)")
        }
        return "\(error)"
    }

    // MARK: Placing

    /// Places files, and removes the copies of files that it does not place.
    ///
    /// If the process is killed between the two commits, the next scan compares each file with its announcement.
    ///
    /// - Returns: the paths of the files that could not be placed, with the reasons.
    func place(_ files: [Arrived]) async -> [LocalPath: String] {
        defer { for file in files { file.staged.discard() } }
        var failed: [LocalPath: String] = [:]
        var changed: Set<LocalPath> = []
        var ready: [Arrived] = []
        for file in files {
            do {
                try Task.checkCancellation()
                switch try await prepare(file) {
                case .ready: ready.append(file)
                case .placed: break
                case .changed: changed.insert(file.item.path)
                }
            } catch {
                failed[file.item.path] = failure(of: file.item, error)
            }
        }
        do {
            var placed: [Placed] = []
            let announced = try await announce(ready)
            for (file, entry) in zip(ready, announced) {
                do {
                    if let entry, let version = try await put(file, entry) {
                        placed.append(Placed(file: file, entry: entry, version: version))
                    } else {
                        changed.insert(file.item.path)
                    }
                } catch {
                    failed[file.item.path] = failure(of: file.item, error)
                }
            }
            let recorded = try await record(placed)
            for (place, isRecorded) in zip(placed, recorded) where !isRecorded {
                changed.insert(place.file.item.path)
            }
        } catch {
            // A commit has failed. The files of a failed second commit are as after a kill.
            for file in ready where failed[file.item.path] == nil && !changed.contains(file.item.path) {
                failed[file.item.path] = failure(of: file.item, error)
            }
        }
        for file in files where failed[file.item.path] == nil { placement.pauses.forget(file.item.node) }
        return failed.merging(changed.map { ($0, Self.changed) }) { first, _ in first }
    }

    private enum Preparation { case ready, placed, changed }

    /// Makes way for a new file, and checks that a file to replace is unchanged.
    private func prepare(_ file: Arrived) async throws -> Preparation {
        let (item, folder) = (file.item, placement.folder)
        if let entry = file.entry { return try isUnchanged(entry, at: item.path) ? .ready : .changed }
        if let twin = paths[item.path] { return try await unite(twin, with: file) ? .placed : .changed }
        if let there = try folder.item(item.path), !isSame(there, file.staged) { try placement.setAside(item.path) }
        return .ready
    }

    /// Whether an existing item at the destination has the same content. An unreadable item counts as different.
    private func isSame(_ there: FolderItem, _ staged: LocalFolder.Staged) -> Bool {
        guard !there.isFolder, !there.isSpecial else { return false }
        return (try? placement.folder.print(there.path))?.digest == staged.digest
    }

    /// Records that files are about to be placed, in one commit.
    ///
    /// - Returns: the entries of the files. Nil for a file whose node is gone.
    func announce(_ files: [Arrived]) async throws -> [ObjectID<MirrorEntry>?] {
        guard files.contains(where: \.isNewContent) else { return files.map { $0.entry?.id } }
        return try await placement.write { cloud in
            try files.map { file -> ObjectID<MirrorEntry>? in
                guard let entry = file.entry else {
                    return try Placement.announce(file.item, file.staged.digest, in: cloud)
                }
                if file.isNewContent, let known = try cloud.context.find(entry.id) {
                    (known.incoming, known.exchange) = (file.staged.digest, file.staged.exchange)
                }
                return entry.id
            }
        }
    }

    /// Places an announced file.
    ///
    /// - Returns: the placed version. Nil if the path has another version.
    private func put(_ file: Arrived, _ id: ObjectID<MirrorEntry>) async throws -> Version? {
        let (folder, path) = (placement.folder, file.item.path)
        if let entry = file.entry {
            if file.isNewContent {
                guard try folder.replace(path, entry.stamp, with: file.staged) else { return nil }
                placement.reportTrash()
            }
        } else if try !folder.place(file.staged, at: path), try folder.print(path)?.digest != file.staged.digest {
            // A file that is already there has the same content, or was created a moment ago.
            try await placement.forget(id)
            return nil
        }
        return try version(at: path, of: file.staged)
    }

    /// The version at a path, if it has the content of a copy. Otherwise nil: the file was changed already, so both
    /// versions are kept.
    private func version(at path: LocalPath, of staged: LocalFolder.Staged) throws -> Version? {
        if let stamp = try placement.folder.item(path)?.stamp, stamp.hasContent(of: staged.stamp) {
            // The copy itself is there. A write in the same tick of the clock does not show in the stamp, so the next
            // scan reads the file.
            return Version(stamp: stamp, isFresh: true)
        }
        guard let print = try placement.folder.print(path), print.digest == staged.digest else { return nil }
        return Version(stamp: print.stamp, isFresh: print.isFresh)
    }

    /// Records that files have been placed, in one commit.
    ///
    /// - Returns: for each file, whether its node and its entry still exist.
    private func record(_ placed: [Placed]) async throws -> [Bool] {
        if placed.isEmpty { return [] }
        return try await placement.write { cloud in
            try placed.map { place -> Bool in
                guard let node = try cloud.context.find(place.file.item.node),
                    let entry = try cloud.context.find(place.entry)
                else { return false }
                (entry.stamp, entry.isFresh) = (place.version.stamp, place.version.isFresh)
                (entry.digest, entry.incoming, entry.exchange) = (place.file.staged.digest, nil, nil)
                try cloud.unmarkNeedsDownload(node, .data, ifETagMatches: place.file.eTag)
                return true
            }
        }
    }
}
