import Foundation
import Strata

extension FolderRemote {
    /// Begins an upload in parts. The parts stay in the hidden folder until they become an object.
    ///
    /// The parts survive restarts, and up to 30 days without a new part.
    public func beginUpload(_ key: RemoteKey, mark: String?, mediaType: String?) async throws -> String {
        try await run(key) { [isDurable] tree in
            _ = try tree.parent(key)
            let uploads = try FolderWork(tree).uploads()
            let id = UUID().uuidString
            _ = try uploads.madeFolder(id)
            if isDurable { try uploads.sync() }
            return id
        }
    }

    /// Stores a part.
    ///
    /// - Returns: the version of the part.
    public func uploadPart(_ body: RemoteBody, number: Int, of upload: String, at key: RemoteKey) async throws -> String
    {
        guard (1...1_000_000).contains(number) else {
            throw RemoteError(.refused, "\(number) is not a valid part number.", key: key)
        }
        return try await write(
            body,
            key,
            before: { tree in _ = try Self.upload(upload, tree, key) },
            after: { [isDurable] new, work in
                try new.finish(isDurable: isDurable)
                let folder = try Self.upload(upload, work.tree, key)
                try new.move(to: folder, String(number), replaces: true)
                if isDurable { try folder.sync() }
                return try new.file.status().eTag.value
            }
        )
    }

    /// Writes all parts into one file, which then gets its final name.
    public func completeUpload(
        _ upload: String,
        parts: [String],
        at key: RemoteKey,
        if condition: RemoteCondition
    ) async throws -> RemoteObject {
        let new = try await run(key) { tree in
            let folder = try Self.upload(upload, tree, key)
            let new = try FolderWork(tree).newFile()
            for (index, version) in parts.enumerated() {
                let part: Descriptor
                do {
                    part = try folder.open(String(index + 1), O_RDONLY)
                } catch let error as SystemError where error.code == ENOENT {
                    throw RemoteError(
                        .uploadGone,
                        "Part \(index + 1) of the upload is missing.",
                        key: key,
                        underlying: error
                    )
                }
                let status = try part.status()
                guard status.eTag.value.hasSameBytes(as: version) else {
                    throw RemoteError(.uploadGone, "Part \(index + 1) of the upload has changed.", key: key)
                }
                try new.file.append(part, size: status.size)
            }
            return new
        }
        let object = try await commit(new, at: key, if: condition)
        // The object exists now. A later sweep removes remaining parts.
        try? await abortUpload(upload, at: key)
        return object
    }

    /// Removes the parts of an upload.
    public func abortUpload(_ upload: String, at key: RemoteKey) async throws {
        guard UUID(uuidString: upload) != nil else { return }
        try await run(key) { try FolderWork($0).removeUpload(upload) }
    }

    /// The folder of an upload.
    private static func upload(_ id: String, _ tree: FolderTree, _ key: RemoteKey) throws -> Descriptor {
        // The id comes from outside and becomes part of a path, so it must be a UUID.
        guard UUID(uuidString: id) != nil else {
            throw RemoteError(.uploadGone, "'\(id)' is not the id of an upload.", key: key)
        }
        do {
            return try FolderWork(tree).uploads().folder(id)
        } catch let error as SystemError where error.code == ENOENT {
            throw RemoteError(.uploadGone, "The upload no longer exists.", key: key, underlying: error)
        }
    }
}
