import Strata

extension CloudContext {
    /// Uploads again the nodes that the remote was believed to have in a folder that is not known any more. Earlier
    /// versions could delete the row of a folder while an upload into the folder began, and then used the root of the
    /// remote as the folder.
    ///
    /// - Returns: whether such nodes existed.
    /// - Complexity: O(1) if no row is without its folder.
    func requeueOrphans() throws -> Bool {
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
