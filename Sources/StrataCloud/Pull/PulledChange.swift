public import Strata

/// What a pull has found at the remote, as the tree here shows it by now.
public enum PulledChange {
    /// There is a node that was not known.
    case new(CloudNode)
    /// Its content is of another version, or what goes with that is.
    case modified(CloudNode, ContentSections)
    /// It lies somewhere else.
    case moved(CloudNode, from: TreePath)
    /// It is gone, and was deleted here.
    case deleted(ObjectID<CloudNode>, path: TreePath, link: String?)
    /// It is gone at the remote. Here it stays, since there is work that was not sent, and is sent anew.
    case kept(CloudNode)
    /// Somebody else has taken its place: what is here, and was not sent, has another name.
    case renamed(CloudNode, from: TreePath)
}

extension PulledChange: CustomStringConvertible {
    /// What has changed in words, for logs and screens; not to be parsed.
    public var description: String {
        switch self {
        case .new(let node): "\(node.path) is new"
        case .modified(let node, let sections): "\(node.path) has changed: \(sections)"
        case .moved(let node, let path): "\(path) is \(node.path) now"
        case .deleted(_, let path, _): "\(path) is gone"
        case .kept(let node): "\(node.path) is gone at the remote, and is sent anew"
        case .renamed(let node, let path): "\(path) is \(node.path) here: another one has come"
        }
    }
}

/// What came of a pull.
public struct PullSummary: Hashable, Sendable {
    /// How many nodes were new.
    public var new = 0
    /// How many were of another version.
    public var modified = 0
    /// How many lay somewhere else.
    public var moved = 0
    /// How many were gone.
    public var deleted = 0
    /// How many had to take another name here.
    public var renamed = 0
    /// What the next pull looks at once more, since it was being changed here.
    public var postponed = 0
    /// How many objects the remote has and does not list, so that their deletes by others cannot be found. They stay here.
    public var unlisted = 0

    /// Nothing.
    public init() {}

    mutating func count(_ change: PulledChange) {
        switch change {
        case .new: new += 1
        case .modified: modified += 1
        case .moved: moved += 1
        case .deleted, .kept: deleted += 1
        case .renamed: renamed += 1
        }
    }
}
