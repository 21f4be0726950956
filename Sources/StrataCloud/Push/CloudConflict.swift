public import Foundation
public import Strata

/// A conflict: another machine has written the content of a node since this machine last saw it. The node's uploads
/// wait until ``CloudContext/resolve(_:_:name:)`` resolves the conflict. Other operations continue.
@Model(.index("account"), table: "CloudConflict")
public final class CloudConflict {
    /// The id of the account.
    public internal(set) var account: String
    /// The node. A node has at most one conflict.
    @Attribute(.unique) var nodeNumber: Int64
    /// The section of which the remote has another version. In encrypted accounts, where all sections are one file,
    /// these may be several: the sections that differ from the version that this machine knew.
    public internal(set) var section: ContentSections
    /// The version that this machine knew; nil if it knew none.
    public internal(set) var knownETag: String?
    /// The version at the remote; nil if the content was deleted there.
    public internal(set) var remoteETag: String?
    /// The size of the remote's version in bytes.
    public internal(set) var remoteSize: Int64?
    /// When this machine found the conflict.
    @Attribute(.createdAt) public internal(set) var foundAt: Date?
}

extension CloudConflict {
    /// The node; nil if it was deleted here.
    public var node: CloudNode? {
        guard let context = owningContext else { return nil }
        return (try? context.find(id.counterpart(CloudNode.self).sibling(nodeNumber))) ?? nil
    }
}

/// How a conflict is resolved.
public enum ConflictResolution: Sendable {
    /// The application has merged both versions into its own data. The data is uploaded on the condition that the
    /// remote still has the version that the conflict names.
    case merged
    /// This machine's version replaces the other one.
    case mine
    /// The other version stays. The uploads are skipped, and the node is marked for download.
    case theirs
    /// Both versions stay. The node gets the other version and is marked for download. This machine's version moves,
    /// with the link, to a new node beside it under a free name. If the data is not part of the conflict, the new node
    /// is a copy of the remote's version with the sections that this machine uploads. Folders cannot be duplicated.
    case both
}
