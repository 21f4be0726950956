import Foundation
import Strata
import StrataCloud

/// What the mirror does for its nodes.
struct MirrorHandler: CloudHandler {
    let stack: ContextStack
    let folder: LocalFolder
    let conflictName: ConflictName
    let bell: Bell

    /// The file as it is when it is about to be sent.
    func content(for request: ContentRequest) async throws -> RemoteBody? {
        guard request.section == .data, let id = request.object(as: MirrorEntry.self) else { return nil }
        let path = try await stack.background { context in try context.find(id)?.path }
        return try path.map { try StableFile.body(folder.url($0)) }
    }

    /// Whether it can be a file here. What cannot is left out, and nothing waits for it.
    private func isPossible(_ node: CloudNode) -> Bool { node.path.names.allSatisfy(MirrorNames.isPossible) }

    func didPull(_ change: PulledChange, in cloud: CloudContext) throws {
        switch change {
        case .new(let node): if !node.isFolder, isPossible(node) { cloud.markNeedsDownload(node, .data) }
        case .modified(let node, let sections):
            if sections.contains(.data), isPossible(node) { cloud.markNeedsDownload(node, .data) }
        case .moved, .deleted, .kept, .renamed: break
        }
        // Pulls and placements are of one turn, one behind the other.
        bell.ringForPlacement()
    }

    /// Both versions stay, each under a name of its own: that of the others under the one which both had.
    func didFind(_ conflict: CloudConflict, in cloud: CloudContext) throws {
        guard let node = conflict.node else { return }
        try cloud.resolve(conflict, .both, name: conflictName.name(for: node.name))
    }
}
