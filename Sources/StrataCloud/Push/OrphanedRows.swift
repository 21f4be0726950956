import Strata

extension CloudContext {
    /// Sends anew what the remote was believed to have in a folder that is not known any more. Earlier versions could forget a folder while an
    /// upload into it began, and took the root of the remote for the folder from then on.
    ///
    /// - Returns: whether there was any.
    /// - Complexity: O(1) if no row is without its folder.
    func sendOrphansAnew() throws -> Bool {
        let account = account
        let rows = try context.fetch(RemoteNode.where { $0.parent == nil && $0.account == account })
        let orphans = rows.filter { $0.node?.isTrunk != true }
        for row in orphans {
            // A file that was deleted here is forgotten: its place at the remote is not known.
            try sendAnew(allOf: row.id.number, row.snapshot.sections(isSealed: facts.isSealed))
        }
        return !orphans.isEmpty
    }
}
