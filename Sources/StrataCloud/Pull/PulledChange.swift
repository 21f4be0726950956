public import Strata

/// A change that a pull has found at the remote and applied to the local tree.
public enum PulledChange {
    /// The node was not known before.
    case new(CloudNode)
    /// The node's content, or one of its sidecars, has another version.
    case modified(CloudNode, ContentSections)
    /// The node was moved or renamed.
    case moved(CloudNode, from: TreePath)
    /// The node was deleted at the remote, and was deleted here.
    case deleted(ObjectID<CloudNode>, path: TreePath, link: String?)
    /// The node is missing at the remote. It stays here and is uploaded again, because it has changes that were not
    /// uploaded, or because its absence does not prove a delete.
    case restored(CloudNode)
    /// Another machine has put an object at the node's path. The local node was not uploaded yet, and has a new name.
    case displaced(CloudNode, from: TreePath)
}

extension PulledChange: CustomStringConvertible {
    /// A description of the change for logs and screens. Do not parse it.
    public var description: String {
        switch self {
        case .new(let node): "\(node.path) is new"
        case .modified(let node, let sections): "\(node.path) has changed: \(sections)"
        case .moved(let node, let path): "\(path) was moved to \(node.path)"
        case .deleted(_, let path, _): "\(path) was deleted"
        case .restored(let node): "\(node.path) was deleted at the remote, and is uploaded again"
        case .displaced(let node, let path): "\(path) was renamed to \(node.path): another object took its path"
        }
    }
}

/// The result of a pull.
public struct PullSummary: Hashable, Sendable {
    /// The number of new nodes.
    public var new = 0
    /// The number of nodes with another version.
    public var modified = 0
    /// The number of moved nodes.
    public var moved = 0
    /// The number of nodes that were deleted at the remote.
    public var deleted = 0
    /// The number of nodes that got another name here.
    public var displaced = 0
    /// The number of changes left to the next pull, because the same nodes were being changed here.
    public var deferred = 0
    /// The number of objects that the remote has but does not list. A pull cannot detect their deletes by other
    /// machines, so the objects stay here.
    public var unlisted = 0

    /// Creates a summary of zeros.
    public init() {}

    mutating func count(_ change: PulledChange) {
        switch change {
        case .new: new += 1
        case .modified: modified += 1
        case .moved: moved += 1
        case .deleted, .restored: deleted += 1
        case .displaced: displaced += 1
        }
    }
}
