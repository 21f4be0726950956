import Foundation
import Strata
import StrataPipeline

/// Deletes a node, after everything below it. Only objects in their last known version are deleted.
struct DeletePush: Push {
    let session: PushSession

    /// An object to delete, in the state that the remote has, or may have.
    private struct Doomed: Sendable {
        let key: RemoteKey
        let row: RemoteNode.Row
    }

    func run() async throws -> Outcome {
        let (info, number) = (info, attempt.payload.node)
        let doomed = try await stack.overStore { context in
            guard let remote = try CloudContext(context, info).remote(number) else { return [] as [Doomed] }
            return try remote.doomed().map { Doomed(key: try $0.key, row: $0.snapshot) }
        }
        for thing in doomed.reversed() { try await delete(thing) }
        return .done { context in
            guard let remote = try CloudContext(context, info).remote(number) else { return }
            for remote in try remote.doomed().reversed() { context.delete(remote) }
        }
    }

    /// Deletes an object and its sidecars, unless another machine has written it.
    private func delete(_ thing: Doomed) async throws {
        let (key, row) = (thing.key, thing.row)
        let content = key.sidecar(Sidecar.content)
        do {
            if row.isFolder {
                let hasContent = row.marks.contains(Sidecar.content)
                // A folder stays if other machines have changed its content.
                if hasContent, try await isKept(row, at: content) { return }
                try await remote.delete(key, isFolder: true, if: .none)
                if hasContent, try await isKeptAfterDelete(row, at: content) {
                    try await remote.createFolder(key)
                    return
                }
            } else {
                let removal = try await deleteContent(of: row, at: key)
                if removal == .kept { return }
                if row.isConverting {
                    try await remote.delete(key, isFolder: true, if: .none)
                    _ = try await deleteContent(of: row, at: content, isMoved: true)
                } else if removal == .folder {
                    return
                } else if removal == .absent, try await session.isConvertedByOthers(key) {
                    // The sidecars belong to the other machine's folder.
                    return
                }
            }
            // Sidecars are deleted after their object.
            for mark in row.marks where mark != Sidecar.content {
                try await remote.delete(key.sidecar(mark), isFolder: false, if: .none)
            }
        } catch let error as RemoteError
            where [.conditionFailed, .notEmpty, .notFound, .occupied, .invalidKey].contains(error.code)
        {
            // Another machine has written the object since then, or has put another one there. The object stays, and a
            // pull finds it again. An object with a key that the remote rejects has never existed.
        }
    }

    /// Whether content has another version than the known one.
    private func isKept(_ row: RemoteNode.Row, at key: RemoteKey) async throws -> Bool {
        guard let there = try await remote.head(key) else { return false }
        if ETag.isSame(there.eTag, row.eTag) { return false }
        return try await !session.isOwn(there, anyOf: row.hashes)
    }

    /// Deletes the content of a deleted folder.
    ///
    /// - Returns: whether the content stays, because other machines have written it at this very moment.
    private func isKeptAfterDelete(_ row: RemoteNode.Row, at key: RemoteKey) async throws -> Bool {
        do { return try await deleteContent(of: row, at: key, isMoved: true) == .kept } catch let error as RemoteError
            where error.code == .conditionFailed
        { return true }
    }

    private enum Removal {
        case deleted, absent
        /// The object has another version.
        case kept
        /// The object is now a folder.
        case folder
    }

    /// Deletes the content of a file or a folder, if it has its last known version.
    ///
    /// - Parameter isMoved: whether the content was moved or copied to the key, and so may have another version.
    private func deleteContent(
        of row: RemoteNode.Row,
        at key: RemoteKey,
        isMoved: Bool = false
    ) async throws -> Removal {
        guard let eTag = try await version(of: row, at: key, isMoved) else {
            guard let there = try await remote.head(key) else { return .absent }
            return there.isFolder ? .folder : .kept
        }
        do {
            return try await remote.delete(key, isFolder: false, if: .matches(eTag)) ? .deleted : .absent
        } catch let error as RemoteError where error.code == .occupied {
            return .folder
        }
    }

    /// The version that may be deleted: the known one, or that of an unanswered upload.
    private func version(of row: RemoteNode.Row, at key: RemoteKey, _ isMoved: Bool) async throws -> ETag? {
        if !isMoved, row.sending.isEmpty, row.isCertain, let eTag = row.eTag(of: .data), !eTag.isWeak,
            try await remote.capabilities().checksVersionsOfDeletes
        {
            return eTag
        }
        guard let there = try await remote.head(key), !there.isFolder else { return nil }
        if ETag.isSame(there.eTag, row.eTag) { return there.eTag }
        return try await session.isOwn(there, anyOf: isMoved ? row.hashes : row.sentHashes) ? there.eTag : nil
    }
}

extension RemoteNode {
    /// This row and the rows below it that do not belong to a node and have no row with a node below them. Folders come
    /// before their content.
    fileprivate func doomed() throws -> [RemoteNode] {
        let all = try subtree()
        var living: Set<Int64> = []
        for row in all where row.node.map({ $0.trunk != .detached }) ?? false {
            var next: RemoteNode? = row
            while let this = next, living.insert(this.id.rawValue).inserted { next = this.parent }
        }
        return all.filter { !living.contains($0.id.rawValue) }
    }
}
