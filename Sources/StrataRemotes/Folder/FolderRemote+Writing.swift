import Foundation

extension FolderRemote {
    /// Writes a file: first a hidden file, which then gets its final name.
    ///
    /// A body of at most 256 KiB is read before anything else happens. A larger body is written as it is read.
    public func put(_ body: RemoteBody, at key: RemoteKey, if condition: RemoteCondition) async throws -> RemoteObject {
        try await write(
            body,
            key,
            before: { [name] tree in
                // The condition is also checked before the bytes are written, so that a write that must fail fails
                // early.
                let (folder, file) = try tree.parent(key)
                try Self.check(try folder.status(file), condition, key: key, remote: name)
            },
            after: { new, work in try self.commit(new, at: key, if: condition, in: work) }
        )
    }

    /// Writes a body into a hidden file.
    ///
    /// A visit to the queue of system calls wakes two threads, which costs more than the calls for a small file. So all
    /// calls for bytes in memory are one visit, and a body of at most 256 KiB is read into memory first.
    ///
    /// - Parameters:
    ///   - before: throws if the write must fail. It runs before the file is created.
    ///   - after: makes the written file a part of the remote.
    /// - Throws: the errors of `before`, of the body and of `after`; `CancellationError` if the task is cancelled before
    ///   the visit that runs `after`. The hidden file is then removed.
    func write<T: Sendable>(
        _ body: RemoteBody,
        _ key: RemoteKey,
        before: @escaping @Sendable (FolderTree) throws -> Void,
        after: @escaping @Sendable (FolderWork.NewFile, FolderWork) throws -> T
    ) async throws -> T {
        if let bytes = try await body.gathered().bytes {
            return try await run(key) { tree in
                try before(tree)
                let work = try FolderWork(tree)
                let new = try work.newFile()
                try new.file.write(bytes)
                return try after(new, work)
            }
        }
        let new = try await run(key) { tree in
            try before(tree)
            return try FolderWork(tree).newFile()
        }
        let rest = try await append(body, to: new, key)
        return try await run(key) { tree in
            try new.file.write(rest)
            return try after(new, FolderWork(tree))
        }
    }

    /// Appends the bytes of a body to a hidden file in blocks of at least 256 KiB. Small chunks are collected, because
    /// a visit to the queue costs more than a copy.
    ///
    /// - Returns: the last bytes, which are fewer than a block and are not written yet.
    private func append(_ body: RemoteBody, to new: FolderWork.NewFile, _ key: RemoteKey) async throws -> Data {
        var size: Int64 = 0
        var block = Data()
        for try await chunk in try await body.chunks() {
            size += Int64(chunk.count)
            guard size <= body.size else { break }
            if block.isEmpty { block = chunk } else { block.append(chunk) }
            guard block.count >= Self.blockSize else { continue }
            try await perform(key) { [block] in try new.file.write(block) }
            block = Data()
        }
        // If the task is cancelled, the chunks just end.
        try Task.checkCancellation()
        guard size == body.size else { throw RemoteError.wrongSize(size, body.size) }
        return block
    }

    /// Gives a hidden file its final name, if a condition holds at that moment.
    func commit(_ new: FolderWork.NewFile, at key: RemoteKey, if condition: RemoteCondition) async throws
        -> RemoteObject
    {
        try await run(key) { tree in try self.commit(new, at: key, if: condition, in: FolderWork(tree)) }
    }

    /// Gives a hidden file its final name, if a condition holds at that moment. Called on a separate thread.
    private func commit(
        _ new: FolderWork.NewFile,
        at key: RemoteKey,
        if condition: RemoteCondition,
        in work: FolderWork
    ) throws -> RemoteObject {
        try new.finish(isDurable: isDurable)
        let (folder, file) = try work.tree.parent(key)
        let status = try work.locked {
            let old = try folder.status(file)
            try Self.check(old, condition, key: key, remote: name)
            // If the disk stores coarse times, the new version may equal the old one. Then the time moves forward
            // until the versions differ.
            var status = try new.file.status()
            for seconds in 1...60 where status.eTag == old?.eTag {
                var later = status.modified
                later.tv_sec += seconds
                try Descriptor.check("utimens", futimens(new.file.raw, [later, later]))
                status = try new.file.status()
            }
            do {
                try new.move(to: folder, file, replaces: condition != .isAbsent)
            } catch let error as SystemError where error.code == EEXIST {
                // A program that does not use the lock has created the file.
                throw RemoteError(
                    .conditionFailed,
                    "'\(key)' already exists in \(name).",
                    key: key,
                    underlying: error
                )
            }
            return status
        }
        if isDurable { try folder.sync() }
        return RemoteObject(key: key, eTag: status.eTag, size: status.size, modifiedAt: status.modifiedAt)
    }

    /// Checks whether a file may be written in place of this entry.
    private static func check(_ old: FileStatus?, _ condition: RemoteCondition, key: RemoteKey, remote: String) throws {
        if let old, old.kind != .file {
            throw RemoteError(.occupied, "'\(key)' in \(remote) is not a file.", key: key)
        }
        try condition.check(old?.object(key), key: key, remote: remote)
    }

    /// Creates a folder.
    @discardableResult
    public func createFolder(_ key: RemoteKey) async throws -> Bool {
        if key == .root { return false }
        return try await run(key) { [name, isDurable] tree in
            let (folder, file) = try tree.parent(key)
            if mkdirat(folder.raw, file, 0o777) != 0 {
                guard errno == EEXIST else { throw SystemError(code: errno, call: "mkdir") }
                if try folder.status(file)?.kind == .folder { return false }
                throw RemoteError(.occupied, "'\(key)' in \(name) is not a folder.", key: key)
            }
            if isDurable { try folder.sync() }
            return true
        }
    }

    /// Deletes a file, or a folder that is completely empty.
    ///
    /// Symbolic links and other entries also make a folder non-empty.
    ///
    /// - Returns: whether it was deleted. It is false if the entry is gone already, even if a version was required.
    @discardableResult
    public func delete(_ key: RemoteKey, isFolder: Bool, if condition: RemoteCondition) async throws -> Bool {
        if key == .root { throw RemoteError(.notEmpty, "The root cannot be deleted.", key: key) }
        return try await run(key) { [name, isDurable] tree in
            let folder: Descriptor
            let file: String
            do {
                (folder, file) = try tree.parent(key)
            } catch let error as RemoteError where error.code == .parentMissing {
                return false
            }
            let isDeleted = try FolderWork(tree).locked {
                guard let status = try folder.status(file), status.kind != .other else { return false }
                guard (status.kind == .folder) == isFolder else {
                    throw RemoteError(
                        .occupied,
                        "'\(key)' in \(name) is a \(isFolder ? "file" : "folder").",
                        key: key
                    )
                }
                if !isFolder { try condition.check(status.object(key), key: key, remote: name) }
                do {
                    try folder.remove(file, isFolder: isFolder)
                } catch let error as SystemError where error.code == EEXIST {
                    throw SystemError(code: ENOTEMPTY, call: error.call)
                }
                return true
            }
            if isDeleted, isDurable { try folder.sync() }
            return isDeleted
        }
    }
}
