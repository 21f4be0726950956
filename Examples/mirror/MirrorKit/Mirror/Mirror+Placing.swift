import Strata
import StrataCloud

/// Placement: applies the tree to the folder.
extension Mirror {
    /// Reads the tree. Files whose node has become a folder are first unlinked from that node.
    private func wantedTree() async throws -> WantedTree {
        let (account, folder) = (account, folder)
        return try await stack.background { context in
            let cloud = context.cloud(account)
            let tree = try WantedTree.read(cloud, folder)
            if tree.converted.isEmpty { return tree }
            try tree.recordConversions(cloud)
            try context.commit()
            return try WantedTree.read(cloud, folder)
        }
    }

    var placement: Placement {
        Placement(
            stack: stack,
            account: account,
            folder: folder,
            conflictName: conflictName,
            pauses: pauses,
            pendingRenames: pendingRenames,
            report: { [screen] in screen.reportOnce($0) },
            tell: { [screen] in screen.report($0) }
        )
    }

    func place() async throws -> Placement.Summary {
        let tree: WantedTree
        do { tree = try await wantedTree() } catch let error as StrataError where error.code == .conflict {
            // The push has changed the same nodes meanwhile.
            return Placement.Summary(changes: 0, postponed: 1)
        }
        for path in tree.impossible where skipped.insert(LocalPath(path)).inserted {
            screen.report("\(path) is left out: its name or the length of its path is not possible on this machine")
        }
        do {
            return try await placement.run(tree)
        } catch let error as StrataError where error.code == .conflict || error.code == .notUnique {
            // The push has changed the same nodes meanwhile.
            return Placement.Summary(changes: 0, postponed: 1)
        }
    }
}
