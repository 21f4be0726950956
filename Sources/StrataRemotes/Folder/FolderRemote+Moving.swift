import Foundation

extension FolderRemote {
    /// Copies a file. If the file system supports it, the copy does not transfer the bytes.
    public func copy(_ source: RemoteKey, to target: RemoteKey, version: ETag?) async throws -> RemoteObject {
        try target.requireNames()
        let new = try await run(source) { [name] tree in
            let (folder, file) = try tree.parent(target)
            try RemoteCondition.isAbsent.check(try folder.status(file)?.object(target), key: target, remote: name)
            let (original, status) = try tree.file(source)
            if let version {
                try RemoteCondition.matches(version).check(status.object(source), key: source, remote: name)
            }
            let new = try FolderWork(tree).newFile()
            try new.file.append(original, size: status.size)
            guard try original.status().eTag == status.eTag else {
                throw RemoteError(.conditionFailed, "The file was changed while it was copied.", key: source)
            }
            return new
        }
        return try await commit(new, at: target, if: .isAbsent)
    }

    /// Moves a file or folder in one step. A file keeps its version.
    public func move(_ source: RemoteKey, to target: RemoteKey, isFolder: Bool) async throws {
        try target.requireNames()
        guard !target.isWithin(source), source != .root else {
            throw RemoteError(.occupied, "'\(source)' cannot be moved into itself.", key: target)
        }
        try await run(source) { [name, isDurable] tree in
            let (newFolder, newFile) = try tree.parent(target)
            let oldFolder: Descriptor
            let oldFile: String
            do {
                (oldFolder, oldFile) = try tree.parent(source)
            } catch let error as RemoteError where error.code == .parentMissing {
                throw RemoteError(.notFound, error.message, key: source, underlying: error)
            }
            try FolderWork(tree).locked {
                guard let status = try oldFolder.status(oldFile), status.kind == (isFolder ? .folder : .file) else {
                    throw RemoteError(
                        .notFound,
                        "The \(isFolder ? "folder" : "file") '\(source)' does not exist in \(name).",
                        key: source
                    )
                }
                do {
                    try oldFolder.rename(oldFile, to: newFolder, newFile, replaces: false)
                } catch let error as SystemError where error.code == EEXIST {
                    throw RemoteError(
                        .conditionFailed,
                        "'\(target)' already exists.",
                        key: target,
                        underlying: error
                    )
                }
            }
            guard isDurable else { return }
            try newFolder.sync()
            try oldFolder.sync()
        }
    }
}
