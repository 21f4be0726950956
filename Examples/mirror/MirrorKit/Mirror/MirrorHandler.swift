import Foundation
import Strata
import StrataCloud
import Synchronization

/// What the mirror does for its nodes.
struct MirrorHandler: CloudHandler {
    let stack: ContextStack
    let folder: LocalFolder
    let conflictName: ConflictName
    let bell: Bell
    /// Is given what is to be said once.
    let note: @Sendable (String) -> Void
    /// What has had to give way to something of others.
    let partings = Partings()
    /// How files were when they were last sent.
    private let sent = SentStamps()

    init(
        stack: ContextStack,
        folder: LocalFolder,
        conflictName: ConflictName,
        bell: Bell,
        note: @escaping @Sendable (String) -> Void
    ) {
        (self.stack, self.folder, self.conflictName, self.bell, self.note) = (stack, folder, conflictName, bell, note)
    }

    /// The file as it is when it is about to be sent.
    func content(for request: ContentRequest) async throws -> RemoteBody? {
        guard request.section == .data else { return nil }
        let (node, link) = (request.node, request.object(as: MirrorEntry.self))
        let path = try await stack.background { context in
            try MirrorEntry.content(of: node, link: link, in: context)?.path
        }
        guard let path else { return nil }
        let (body, stamp) = try StableFile.body(LocalPath(path), in: folder)
        sent.note(stamp, of: request.node)
        return body
    }

    /// What was sent may be of another moment than what the last scan has read: then the next one is not to take what it finds for sent.
    func didUpload(_ sections: ContentSections, of node: CloudNode, in cloud: CloudContext) throws {
        let id = node.id
        guard let stamp = sent[id] else { return }
        // The block may be run again, and then needs the stamp once more.
        cloud.context.afterCommit { [sent] in sent.remove(stamp, of: id) }
        guard let entry = try MirrorEntry.content(of: node, in: cloud), entry.stamp != stamp else { return }
        entry.digest = nil
        bell.ring()
    }

    /// Whether it can be a file here. What cannot is left out, and nothing waits for it.
    private func isPossible(_ node: CloudNode) -> Bool { folder.isPossible(node.path.names) }

    func didPull(_ change: PulledChange, in cloud: CloudContext) throws {
        switch change {
        case .new(let node): if node.hasContent, isPossible(node) { cloud.markNeedsDownload(node, .data) }
        case .modified(let node, let sections):
            if sections.contains(.data), isPossible(node) { cloud.markNeedsDownload(node, .data) }
        case .renamed(let node, _):
            if let entry = entryID(of: node) { partings.note(entry) }
        case .moved, .deleted, .kept: break
        }
        // Pulls and placements are of one turn, one behind the other.
        bell.ringForPlacement()
    }

    func didLeaveOut(_ keys: [String]) {
        for key in keys { note("\(key) at the remote is left out: give it a name there without a percent sign") }
    }

    /// Both versions stay, each under a name of its own: that of the others under the one which both had.
    func didFind(_ conflict: CloudConflict, in cloud: CloudContext) throws {
        guard let node = conflict.node else { return }
        if node.isFolder { return try part(node, conflict, in: cloud) }
        // What it stands for goes on to the new node.
        let entry = entryID(of: node)
        try cloud.resolve(conflict, .both, name: conflictName.name(for: node.name))
        if let entry { partings.note(entry) }
    }

    /// Keeps both versions of the content of a folder: the local version becomes a separate file beside the folder.
    private func part(_ node: CloudNode, _ conflict: CloudConflict, in cloud: CloudContext) throws {
        try MirrorEntry.content(of: node, in: cloud)?.part(from: node, conflictName, partings, in: cloud)
        try cloud.resolve(conflict, .theirs)
    }

    private func entryID(of node: CloudNode) -> ObjectID<MirrorEntry>? {
        node.link.flatMap { ObjectID<MirrorEntry>($0) }
    }
}

/// How files were when they were last about to be sent, by their nodes.
private final class SentStamps: Sendable {
    private let stamps = Mutex<[ObjectID<CloudNode>: FileStamp]>([:])

    func note(_ stamp: FileStamp, of node: ObjectID<CloudNode>) { stamps.withLock { $0[node] = stamp } }

    subscript(_ node: ObjectID<CloudNode>) -> FileStamp? { stamps.withLock { $0[node] } }

    /// Does nothing where the node has been sent again meanwhile, with another stamp.
    func remove(_ stamp: FileStamp, of node: ObjectID<CloudNode>) {
        stamps.withLock { if $0[node] == stamp { $0[node] = nil } }
    }
}
