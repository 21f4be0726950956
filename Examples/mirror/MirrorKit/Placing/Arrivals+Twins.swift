import Strata
import StrataCloud

/// Twins: a local file and the remote's file, which both want the same path.
extension Arrivals {
    /// Unites a local file that had to give way with the remote's file of the same path, because their contents are
    /// equal. Then one node is enough.
    func unite(_ entry: WantedTree.Entry, with file: Arrived) async throws -> Bool {
        guard entry.digest == file.staged.digest else {
            try await separate(entry)
            return false
        }
        let (node, eTag) = (file.item.node, file.eTag)
        let isOne: Bool = try await placement.write { cloud in
            guard let node = try cloud.context.find(node), let own = try cloud.node(for: entry.id),
                own.remote?.eTag == nil
            else { return false }
            try cloud.delete(own)
            try cloud.link(node, to: entry.id)
            try cloud.unmarkNeedsDownload(node, .data, ifETagMatches: eTag)
            return true
        }
        if isOne { placement.pendingRenames.remove(entry.id) }
        return isOne
    }

    /// Separates the two files, because their contents differ. The local file moves to the path of its node, and the
    /// remote's file is placed in the next pass.
    private func separate(_ entry: WantedTree.Entry) async throws {
        let folder = placement.folder
        let path = try await placement.write { cloud in
            try (cloud.node(for: entry.id)?.path.names).map { LocalPath($0) }
        }
        guard let path, path != entry.path, try folder.move(entry.path, to: path) else { return }
        placement.reportRename(entry, path)
        let stamp = try folder.item(path)?.stamp
        try await placement.write { cloud in
            guard let known = try cloud.context.find(entry.id) else { return }
            known.path = path.text
            if let stamp, stamp.hasContent(of: entry.stamp) { known.stamp = stamp }
        }
    }
}
