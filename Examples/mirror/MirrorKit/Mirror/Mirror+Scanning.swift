import Foundation
import Strata
import StrataCloud

/// Scanning: applies changes of the folder to the tree.
extension Mirror {
    /// - Returns: the number of changes in the folder since the last scan.
    func scan() async throws -> Int {
        let start = ContinuousClock.now
        let scan = try folder.scan()
        scanPause.note(start.duration(to: .now))
        // Taken before the entries are read, so a commit in between counts as later.
        let token = stack.historyToken
        if let settled, settled.token == token, settled.scan == scan { return 0 }
        settled = nil
        let known = try await stack.background { context in
            try context.rows(MirrorEntry.all).map {
                FolderChanges.Known(
                    id: $0.id,
                    path: LocalPath($0.path),
                    isFolder: $0.isFolder,
                    stamp: $0.stamp,
                    isFresh: $0.isFresh,
                    digest: $0.digest
                )
            }
        }
        scanPause.note(start.duration(to: .now))
        reportSkipped(scan, known)
        var prints = Prints()
        let changes = try FolderChanges(scan, known) { known, item in
            guard let digest = known.digest else { return false }
            return try print(item.path, &prints)?.digest == digest
        }
        // Files that were announced, and not placed before the last process was killed, were not here.
        if scan.items.isEmpty, known.count(where: { $0.stamp != FileStamp.none }) > 1, !changes.deleted.isEmpty {
            throw MirrorError(
                "\(folder.root.path) is empty, and had files before. Is its disk mounted? Nothing is deleted at the "
                    + "remote. To delete the files there, create a file in the folder and start again."
            )
        }
        guard !changes.isEmpty else {
            settled = (scan, token)
            return 0
        }
        for item in changes.new + changes.touched.map(\.item) where !item.isFolder {
            try Task.checkCancellation()
            _ = try print(item.path, &prints)
        }
        let (account, conflictName, pendingRenames) = (account, conflictName, pendingRenames)
        do {
            let (count, hasMet) = try await stack.background { [prints = prints.read] context in
                let tree = try TreeChanges(context.cloud(account), conflictName, pendingRenames)
                try tree.apply(changes, prints)
                try context.commit()
                return (tree.count, tree.hasMet)
            }
            if hasMet { bell.ringForPlacement() }
            return count + prints.busy
        } catch let error as StrataError where error.code == .conflict || error.code == .notUnique {
            bell.ring()
            return 1
        }
    }

    /// Reports the paths that are left out. Known files among them are not deleted elsewhere.
    private func reportSkipped(_ scan: FolderScan, _ known: [FolderChanges.Known]) {
        for (path, reason) in scan.skipped.sorted(by: { $0.key < $1.key }) where skipped.insert(path).inserted {
            let isKnown = known.contains { $0.path == path || $0.path.isBelow(path) }
            let rest =
                isKnown ? ". Files mirrored there stay at the remote, and its changes are not downloaded" : ""
            screen.report("\(path) is left out: \(reason)\(rest)")
        }
    }

    /// The files that a scan has read.
    private struct Prints {
        var read: [LocalPath: LocalFolder.Print] = [:]
        /// The number of files that were being written. The mirror reads them again.
        var busy = 0
    }

    /// Reads a file once. Nil if it is being written, or cannot be read.
    private func print(_ path: LocalPath, _ prints: inout Prints) throws -> LocalFolder.Print? {
        if let print = prints.read[path] { return print }
        do {
            let print = try folder.print(path)
            prints.read[path] = print
            if print == nil { prints.busy += 1 }
            return print
        } catch let error as FolderError {
            if skipped.insert(path).inserted { screen.report("\(error)") }
            return nil
        }
    }
}
