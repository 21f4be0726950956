import Foundation
import Strata
import StrataCloud

/// What was done in the folder comes into the tree.
extension Mirror {
    /// - Returns: how much was changed in the folder since the last time.
    func scan() async throws -> Int {
        let scan = try folder.scan()
        for (path, reason) in scan.skipped.sorted(by: { $0.key < $1.key }) where skipped.insert(path).inserted {
            screen.note("\(path) is left out: \(reason)")
        }
        let known = try await stack.background { context in
            try context.rows(MirrorEntry.all).map {
                FolderChanges.Known(
                    id: $0.id,
                    path: $0.path,
                    isFolder: $0.isFolder,
                    stamp: $0.stamp,
                    isFresh: $0.isFresh
                )
            }
        }
        if scan.items.isEmpty, known.count > 1 {
            throw MirrorError(
                "\(folder.root.path) is empty, and was not: is it not mounted? Nothing is deleted at the remote. If that is what you want, "
                    + "make a file in it and start again."
            )
        }
        let changes = FolderChanges(scan, known)
        guard !changes.isEmpty else { return 0 }
        let prints = try prints(of: changes)
        let (account, conflictName, partings) = (account, conflictName, partings)
        do {
            let (count, hasMet) = try await stack.background { context in
                let tree = try TreeChanges(context.cloud(account), conflictName, partings)
                try tree.apply(changes, prints)
                try context.commit()
                return (tree.count, tree.hasMet)
            }
            if hasMet { bell.ringForPlacement() }
            // What was being written is looked at once more.
            let files = changes.new.filter { !$0.isFolder }.count + changes.touched.filter { !$0.item.isFolder }.count
            return count + files - prints.count
        } catch let error as StrataError where error.code == .conflict || error.code == .notUnique {
            bell.ring()
            return 1
        }
    }

    /// Reads what is new or may have changed.
    private func prints(of changes: FolderChanges) throws -> [String: LocalFolder.Print] {
        var prints: [String: LocalFolder.Print] = [:]
        for item in changes.new + changes.touched.map(\.item) where !item.isFolder {
            try Task.checkCancellation()
            do {
                prints[item.path] = try folder.print(item.path)
            } catch let error as FolderError {
                if skipped.insert(item.path).inserted { screen.note("\(error)") }
            }
        }
        return prints
    }
}
