import Strata

/// Rows that earlier versions of Strata have left behind.
extension Reconciler {
    /// Uploads again the nodes that the remote was believed to have in a folder that is not known any more.
    ///
    /// - Throws: the errors of the store.
    func requeueOrphans() async throws {
        let info = info
        try await stack.overStore { context in
            if try CloudContext(context, info).requeueOrphans() { try context.commit() }
        }
    }

    /// Removes tags and marks without a node or section.
    func removeOrphanedTagsAndMarks() async {
        let info = info
        do {
            try stack.transact(author: "strata.cloud") { transaction in
                try CloudNode.deleteOrphanedTags(of: info.account, in: transaction)
            }
            try await stack.overStore { context in
                if try CloudContext(context, info).removeMarksInVain() { try context.commit() }
            }
        } catch {
            stack.log(.info, "tags and marks without a node stay until the account is opened again: \(error)")
        }
    }
}

extension CloudContext {
    /// Uploads again the nodes that the remote was believed to have in a folder that is not known any more. Earlier
    /// versions could delete the row of a folder while an upload into the folder began, and then used the root of the
    /// remote as the folder.
    ///
    /// - Returns: whether such nodes existed.
    /// - Complexity: O(1) if no row is without its folder.
    fileprivate func requeueOrphans() throws -> Bool {
        let account = account
        let rows = try context.fetch(RemoteNode.where { $0.parent == nil && $0.account == account })
        let orphans = rows.filter { $0.node?.isTrunk != true }
        for row in orphans {
            // The row of a file that was deleted here is deleted, because the file's key at the remote is not known.
            try requeueUpload(allOf: row.id.rawValue, row.snapshot.sections(isEncrypted: info.isEncrypted))
        }
        return !orphans.isEmpty
    }
}
