import Foundation
import Strata
import StrataCloud
import Synchronization

/// Connects the nodes of the tree with the files of the folder.
struct MirrorHandler: CloudHandler {
    let stack: ContextStack
    let folder: LocalFolder
    let conflictName: ConflictName
    let bell: Bell
    /// Reports a message to the user, once.
    let report: @Sendable (String) -> Void
    /// The files that get another name because another client uses theirs.
    let pendingRenames = PendingRenames()
    /// The stamps of files when they were last sent.
    private let sent = SentStamps()

    /// Returns the file's current content for an upload.
    func content(for request: ContentRequest) async throws -> RemoteBody? {
        guard request.section == .data else { return nil }
        let (node, link) = (request.node, request.object(as: MirrorEntry.self))
        let path = try await stack.background { context in
            try MirrorEntry.content(of: node, link: link, in: context)?.path
        }
        guard let path else { return nil }
        let (body, stamp) = try StableFile.body(LocalPath(path), in: folder)
        sent.record(stamp, of: request.node)
        return body
    }

    /// Records an upload. The uploaded version may differ from the version that the last scan read. Then the digest is
    /// cleared, so that the next scan does not treat the version that it finds as uploaded.
    func didUpload(_ sections: ContentSections, of node: CloudNode, in cloud: CloudContext) throws {
        let id = node.id
        guard let stamp = sent[id] else { return }
        // The block may run again, and needs the stamp each time. So the stamp is removed only after the commit.
        cloud.context.afterCommit { [sent] in sent.remove(stamp, of: id) }
        guard let entry = try MirrorEntry.content(of: node, in: cloud), entry.stamp != stamp else { return }
        entry.digest = nil
        bell.ring()
    }

    /// Whether a node can be a local file. Other nodes are left out, and no operation waits for them.
    private func isPossible(_ node: CloudNode) -> Bool { folder.isPossible(node.path.names) }

    func didPull(_ change: PulledChange, in cloud: CloudContext) throws {
        switch change {
        case .new(let node): if node.hasContent, isPossible(node) { cloud.markNeedsDownload(node, .data) }
        case .modified(let node, let sections):
            if sections.contains(.data), isPossible(node) { cloud.markNeedsDownload(node, .data) }
        case .displaced(let node, _):
            if let entry = entryID(of: node) { pendingRenames.insert(entry) }
        case .moved, .deleted, .restored: break
        }
        // A pull and a placement belong to the same pass, and the placement comes after the pull.
        bell.ringForPlacement()
    }

    func didIgnore(_ keys: [String]) {
        for key in keys { report("\(key) at the remote is left out: rename it there, without a percent sign") }
    }

    /// Keeps both versions under different names. The remote's version keeps the name that both had.
    func didFind(_ conflict: CloudConflict, in cloud: CloudContext) throws {
        guard let node = conflict.node else { return }
        if node.isFolder {
            // The local version of the content becomes a separate file beside the folder.
            let entry = try MirrorEntry.content(of: node, in: cloud)
            try entry?.splitContent(from: node, conflictName, pendingRenames, in: cloud)
            return try cloud.resolve(conflict, .theirs)
        }
        // The link to the local entry moves to the new node.
        let entry = entryID(of: node)
        try cloud.resolve(conflict, .both, name: conflictName.name(for: node.name))
        if let entry { pendingRenames.insert(entry) }
    }

    private func entryID(of node: CloudNode) -> ObjectID<MirrorEntry>? {
        node.link.flatMap { ObjectID<MirrorEntry>($0) }
    }
}

/// The stamps of files when they were last about to be sent, by their nodes.
private final class SentStamps: Sendable {
    private let stamps = Mutex<[ObjectID<CloudNode>: FileStamp]>([:])

    func record(_ stamp: FileStamp, of node: ObjectID<CloudNode>) { stamps.withLock { $0[node] = stamp } }

    subscript(_ node: ObjectID<CloudNode>) -> FileStamp? { stamps.withLock { $0[node] } }

    /// Removes a stamp, unless the node has been sent again with another stamp.
    func remove(_ stamp: FileStamp, of node: ObjectID<CloudNode>) {
        stamps.withLock { if $0[node] == stamp { $0[node] = nil } }
    }
}
