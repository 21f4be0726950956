public import Foundation
public import Strata

/// A node in an account's tree: a file or a folder, in the state that this machine wants.
///
/// A node is an ordinary object, so queries find it and observations follow it. The tree is changed through
/// ``Strata/ObjectContext/cloud(_:)``, which queues the operations for the remote in the same commit. The state at the
/// remote is a separate object: see ``remote``.
@Model(.unique("parent", "place"), .index("account"), table: "CloudNode")
public final class CloudNode: Model {
    /// The id of the account.
    public internal(set) var account: String
    /// The trunk of the tree that contains the node. All nodes below it have the same trunk.
    public internal(set) var trunk: Trunk
    /// The folder that contains the node; nil for the trunks.
    public internal(set) var parent: CloudNode?
    /// The nodes in this folder.
    @Relationship(deleteRule: .deny, inverse: \CloudNode.parent) public var children: Many<CloudNode>
    /// The name. A trunk has the trunk's name.
    public internal(set) var name: String
    /// The normalized name. Two names of one folder that have the same normalized name collide.
    var place: String
    /// Whether the node is a folder. Only folders have nodes below them. A file becomes a folder with its first child,
    /// and stays a folder after it has lost its last child. A folder may have content: see ``hasContent``.
    public internal(set) var isFolder: Bool = false
    /// For trunks: the account and the trunk, so that each account has one node per trunk.
    @Attribute(.unique) var trunkKey: String?
    /// The permissions of other accounts.
    public internal(set) var shares: ShareList = ShareList()
    /// The text of the id of the application's object that the node represents.
    @Attribute(.unique) public internal(set) var link: String?
    /// Another node that this node points to.
    public internal(set) var pointer: CloudNode?
    /// Whether the node only holds content that is being sent to other accounts. It is deleted after the last operation
    /// that sends the content.
    var isHolder: Bool = false
    /// When the node was created here, or found at the remote.
    @Attribute(.createdAt) public internal(set) var createdAt: Date?
    /// The state at the remote; nil until something has been sent.
    @Relationship(inverse: \RemoteNode.node) public internal(set) var remote: RemoteNode?
    /// The sections to download.
    @Relationship(deleteRule: .cascade, inverse: \DownloadMark.node) var marks: Many<DownloadMark>
}

extension CloudNode {
    /// The last known version of the content at the remote; nil if the node does not have content there.
    public var eTag: ETag? { remote?.snapshot.eTag(of: .data) }

    /// Whether the node has content, as far as the remote's state is known. True for files, and for folders if the
    /// remote has a version of their content.
    ///
    /// The content of a folder is stored beside the folder at the remote, under the folder's name and `%payload`. In an
    /// encrypted account this file also contains the folder's metadata and thumbnail. So a folder with metadata counts
    /// as one with content until this machine has read the file.
    public var hasContent: Bool { remote?.snapshot.hasContent ?? !isFolder }

    /// The path, with the names that the context shows.
    ///
    /// In a damaged store whose folders form a ring, it has the name of each folder in ``ancestors``.
    ///
    /// - Complexity: O(depth).
    public var path: TreePath {
        let nodes = [self] + ancestors
        // A trunk does not have a name in the path.
        let count = nodes[nodes.count - 1].isTrunk ? nodes.count - 1 : nodes.count
        return TreePath(nodes.prefix(count).map(\.name).reversed(), in: trunk)
    }

    /// Whether the node is the top of a trunk.
    public var isTrunk: Bool { trunkKey != nil }

    /// The nodes above this one: the nearest first, the trunk last.
    ///
    /// No commit leaves folders that form a ring, but a damaged store may have one. The array then has each folder of
    /// the ring once, and does not lead to a trunk. `ContextStack.check(limit:)` finds such nodes.
    ///
    /// - Complexity: O(depth).
    public var ancestors: [CloudNode] {
        var (ancestors, seen) = ([] as [CloudNode], Set([id]))
        var node = self
        while let parent = node.parent, seen.insert(parent.id).inserted {
            ancestors.append(parent)
            node = parent
        }
        return ancestors
    }

    /// The children of this folder, ordered by name, in a walk down from a node.
    ///
    /// A node has one parent, so only the start of a walk can come again: in a damaged store whose folders form a ring.
    ///
    /// - Parameters:
    ///   - start: the start of the walk, which is left out.
    ///   - limit: the greatest number of children; nil for all.
    /// - Throws: the errors of the store.
    func children(below start: CloudNode, limit: Int? = nil) throws -> [CloudNode] {
        var members = children.sorted { $0.place }
        if let limit { members = members.limit(limit) }
        return try members.fetch().filter { $0 !== start }
    }
}
