import Foundation
import Strata
import StrataCloud

/// The known state of a file or folder: its state when the tree last received it.
///
/// A link connects the entry with its node in the tree. A difference between the folder and its entries is a local
/// change. A difference between the tree and the entries is a change by another client.
@Model(table: "MirrorEntry")
final class MirrorEntry {
    /// The path: names separated by slashes.
    @Attribute(.unique) var path: String
    var isFolder: Bool = false
    /// The text of the id of the folder node whose content this file is. Nil for all other entries. The node is linked
    /// to the entry of its folder, and not to this entry.
    @Attribute(.indexed) var contentOf: String?
    /// The stamp of the file version with the known digest.
    var stamp: FileStamp
    /// Whether the file was read so soon after a write that another write may have followed in the same tick of the
    /// kernel's clock.
    var isFresh: Bool = false
    /// SHA-256 of the content. Nil for a folder.
    var digest: String?
    /// The digest of content that is about to be placed here. For a folder that is about to be created, any text. If
    /// the process is killed meanwhile, the next run must not treat the result as a local change.
    var incoming: String?
    /// The path to which the item is about to be moved, for the same reason.
    var destination: String?
    /// The exchange that is about to happen. If the process is killed, a version that another program wrote at that
    /// moment is under the hidden name.
    var exchange: PendingExchange?
}

extension MirrorEntry {
    /// The entry of a node's content: that of the file itself, or of the file that appears beside a folder.
    static func content(of node: CloudNode, in cloud: CloudContext) throws -> MirrorEntry? {
        try content(of: node.id, link: node.link.flatMap { ObjectID<MirrorEntry>($0) }, in: cloud.context)
    }

    /// The entry of a node's content, by the ids of the node and of the linked entry.
    static func content(
        of node: ObjectID<CloudNode>,
        link: ObjectID<MirrorEntry>?,
        in context: ObjectContext
    ) throws -> MirrorEntry? {
        // Most nodes are files, whose entries are found by their ids.
        if let entry = try link.flatMap({ try context.find($0) }), !entry.isFolder { return entry }
        let text: String? = "\(node)"
        return try context.first(MirrorEntry.where { $0.contentOf == text })
    }

    /// The node that has this file as its content, or that is linked to this entry.
    func node(in cloud: CloudContext) throws -> CloudNode? {
        guard let contentOf else { return try cloud.node(for: id) }
        return try ObjectID<CloudNode>(contentOf).flatMap { try cloud.context.find($0) }
    }

    /// Makes this version a separate file, beside the node whose content it was.
    ///
    /// - Returns: false if the node does not have a parent folder.
    @discardableResult
    func splitContent(
        from node: CloudNode,
        _ conflictName: ConflictName,
        _ pendingRenames: PendingRenames,
        in cloud: CloudContext
    ) throws -> Bool {
        guard let parent = node.parent else { return false }
        if contentOf == nil { try cloud.unlink(node) }
        contentOf = nil
        let name = try cloud.freeName(for: conflictName.name(for: node.name), in: parent)
        try cloud.createNode(at: parent.path.appending(name), content: id, size: stamp.size)
        pendingRenames.insert(id)
        return true
    }
}
