import Foundation
import Strata
import StrataCloud

/// What is known of a file or a folder of the mirrored folder: how it was when the tree was last told of it.
///
/// Its node in the tree stands for it by a link. What the folder has and this has not is a change from here; what the tree has and this has not
/// is a change from elsewhere.
@Model(table: "MirrorEntry")
final class MirrorEntry {
    /// Where it lies: names with slashes between them.
    @Attribute(.unique) var path: String
    var isFolder: Bool = false
    /// The text of the id of the folder whose content this is; nil for all others. The node is linked to the entry of its folder, and not to this.
    @Attribute(.indexed) var contentOf: String?
    /// The inode, the size and the times of the file whose digest is known.
    var stamp: FileStamp
    /// Whether it was read so soon after it was written that it may have been written once more in the same step of the kernel's clock.
    var isFresh: Bool = false
    /// SHA-256 of the content; nil for a folder.
    var digest: String?
    /// That of a content that is about to come to its place, or of a folder that is about to be made any text: a process that is killed
    /// meanwhile must not take it for a change from here.
    var incoming: String?
    /// Where it is about to be moved, for the same reason.
    var destination: String?
    /// With what it is about to change places: behind a kill, what somebody has written in that moment lies under the other name.
    var exchange: PendingExchange?
}

extension MirrorEntry {
    /// The entry of a node's content: that of the file itself, or of the file that is shown beside the folder.
    static func content(of node: CloudNode, in cloud: CloudContext) throws -> MirrorEntry? {
        try content(of: node.id, link: node.link.flatMap { ObjectID<MirrorEntry>($0) }, in: cloud.context)
    }

    /// The same, by the id of the node and of what it is linked to.
    static func content(
        of node: ObjectID<CloudNode>,
        link: ObjectID<MirrorEntry>?,
        in context: ObjectContext
    ) throws -> MirrorEntry? {
        let text: String? = "\(node)"
        if let entry = try context.first(MirrorEntry.where { $0.contentOf == text }) { return entry }
        guard let entry = try link.flatMap({ try context.find($0) }), !entry.isFolder else { return nil }
        return entry
    }

    /// The node that has this file as its content, or that is linked to this entry.
    func node(in cloud: CloudContext) throws -> CloudNode? {
        guard let contentOf else { return try cloud.node(for: id) }
        return try ObjectID<CloudNode>(contentOf).flatMap { try cloud.context.find($0) }
    }

    /// Makes a file of its own of this version, beside the node that it was the content of.
    ///
    /// - Returns: false if the node does not lie in a folder.
    @discardableResult
    func part(
        from node: CloudNode,
        _ conflictName: ConflictName,
        _ partings: Partings,
        in cloud: CloudContext
    ) throws -> Bool {
        guard let parent = node.parent else { return false }
        if contentOf == nil { try cloud.unlink(node) }
        contentOf = nil
        let name = try cloud.freeName(for: conflictName.name(for: node.name), in: parent)
        try cloud.createNode(at: parent.path.appending(name), content: id, size: stamp.size)
        partings.note(id)
        return true
    }
}
