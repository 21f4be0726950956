public import Foundation
public import Strata

/// A node of the tree of an account: a file or a folder, as this machine wants it to be.
///
/// It is an object as any other: it can be found by queries and followed. What changes the tree goes by ``Strata/ObjectContext/cloud(_:)``,
/// which queues the operations that bring it to the remote, in the same commit. What the remote has is another thing: see ``remote``.
@Model(.unique("parent", "place"), .index("account"), table: "CloudNode")
public final class CloudNode: Model {
    /// The id of the account.
    public internal(set) var account: String
    /// Where in the tree; all nodes below have the same.
    public internal(set) var trunk: Trunk
    /// The folder that it lies in; nil for the trunks.
    public internal(set) var parent: CloudNode?
    /// What lies in it.
    @Relationship(deleteRule: .deny, inverse: \CloudNode.parent) public var children: Many<CloudNode>
    /// The name; that of the trunk for trunks.
    public internal(set) var name: String
    /// What names of one place have in common.
    var place: String
    /// Whether it is a folder. Only folders have nodes below them. A file becomes a folder with its first child, and stays one when it has none any
    /// more. A folder may have content: see ``hasContent``.
    public internal(set) var isFolder: Bool = false
    /// Of trunks: account and trunk, so that there is one of each.
    @Attribute(.unique) var trunkKey: String?
    /// Who may do what with it.
    public internal(set) var shares: ShareList = ShareList()
    /// The text of the id of the application's object that it stands for.
    @Attribute(.unique) public internal(set) var link: String?
    /// Another node that it points at.
    public internal(set) var pointer: CloudNode?
    /// Whether it only holds what is being sent to others, and goes with the last operation that sends it.
    var isHolder: Bool = false
    /// When it was made here, or found.
    @Attribute(.createdAt) public internal(set) var createdAt: Date?
    /// What the remote has of it; nil as long as nothing was sent.
    @Relationship(inverse: \RemoteNode.node) public internal(set) var remote: RemoteNode?
    /// What is to be downloaded of it.
    @Relationship(deleteRule: .cascade, inverse: \DownloadMark.node) var marks: Many<DownloadMark>
}

extension CloudNode {
    /// The version of the content that the remote had when it was last heard of; nil where it has none.
    public var eTag: ETag? { remote?.eTag(of: .data) }

    /// Whether it has content, as far as is known of the remote: true for files, and for folders of whose content the remote has a version.
    ///
    /// The content of a folder lies beside it at the remote, under its name and `%payload`. In an encrypted account the metadata and thumbnail of a
    /// folder lie in the same file, so that a folder with metadata counts as one with content until that file was looked at.
    public var hasContent: Bool { remote?.snapshot.hasContent ?? !isFolder }

    /// The path, by the names that the context shows.
    ///
    /// - Complexity: O(depth).
    public var path: TreePath {
        // The last one is the trunk.
        TreePath(([self] + ancestors).dropLast().map(\.name).reversed(), in: trunk)
    }

    /// Whether it is the top of a trunk.
    public var isTrunk: Bool { trunkKey != nil }

    /// The nodes above it, nearest first, the trunk last.
    ///
    /// - Complexity: O(depth).
    public var ancestors: [CloudNode] {
        var ancestors: [CloudNode] = []
        var node = self
        while let parent = node.parent {
            ancestors.append(parent)
            node = parent
        }
        return ancestors
    }
}
