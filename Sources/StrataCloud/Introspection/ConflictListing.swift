import Foundation
import Strata

/// A conflict, as a list shows it.
package struct ConflictListing: Sendable {
    /// The number of the conflict's id, in whose order conflicts are listed.
    package let id: Int64
    /// The number of the node's id.
    package let node: Int64
    /// Nil if the node was deleted here.
    package let path: TreePath?
    package let sections: ContentSections
    /// The version that this machine knew.
    package let knownETag: String?
    /// The version at the remote; nil if the content was deleted there.
    package let remoteETag: String?
    package let remoteSize: Int64?
    package let foundAt: Date?
}

extension CloudContext {
    /// Lists some of the account's conflicts, in the order of their ids.
    ///
    /// - Parameters:
    ///   - id: the number of the id after which the list begins; 0 for the first ones.
    ///   - limit: the greatest number of conflicts.
    /// - Throws: errors of the store.
    /// - Complexity: O(limit) look-ups.
    package func conflictListings(after id: Int64, limit: Int) throws -> [ConflictListing] {
        let found = try context.fetch(
            CloudConflict.self,
            sql: AccountSQL.conflicts(of: account, after: id, limit: limit)
        )
        return try found.map { conflict in
            ConflictListing(
                id: conflict.id.rawValue,
                node: conflict.nodeNumber,
                path: try listedPath(of: conflict.nodeNumber),
                sections: conflict.section,
                knownETag: conflict.knownETag,
                remoteETag: conflict.remoteETag,
                remoteSize: conflict.remoteSize,
                foundAt: conflict.foundAt
            )
        }
    }
}
