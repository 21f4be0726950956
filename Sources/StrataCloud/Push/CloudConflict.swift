public import Foundation
public import Strata

/// That somebody else has written the content of a node since this machine has last heard of it. The node's uploads are held until
/// ``CloudContext/resolve(_:_:)`` says what is to be done; others go on.
@Model(.index("account"), table: "CloudConflict")
public final class CloudConflict {
    /// The id of the account.
    public internal(set) var account: String
    /// The node: there is one conflict of it at most.
    @Attribute(.unique) var nodeNumber: Int64
    /// The section of the content of which the remote has another version. In encrypted accounts, where all sections
    /// are one file, these may be several:
    /// those that differ from the version that this machine knew.
    public internal(set) var section: ContentSections
    /// The version that this machine knew; nil where it knew none.
    public internal(set) var knownETag: String?
    /// The version that the remote has; nil where it was deleted there.
    public internal(set) var remoteETag: String?
    /// The size of that in bytes.
    public internal(set) var remoteSize: Int64?
    /// When it was found.
    @Attribute(.createdAt) public internal(set) var foundAt: Date?
}

extension CloudConflict {
    /// The node; nil where it was deleted here.
    public var node: CloudNode? {
        guard let context = owningContext else { return nil }
        return (try? context.find(id.counterpart(CloudNode.self).sibling(nodeNumber))) ?? nil
    }
}

/// What is to be done about a conflict.
public enum ConflictResolution: Sendable {
    /// The application has merged both versions into its own data: that is sent, on condition that the remote still has the version
    /// that the conflict names.
    case merged
    /// The version of this machine replaces the other one.
    case mine
    /// The other version stays: the uploads are left out, and the node is marked for download.
    case theirs
    /// Both stay: the node stands for the other version, and is marked for download; this machine's version goes, with the link, to a new
    /// node beside it, under a name that is free. If the data is not part of the conflict, the new node is a copy of
    /// what the remote has, with the
    /// sections that this machine sends. Folders cannot be kept twice.
    case both
}
