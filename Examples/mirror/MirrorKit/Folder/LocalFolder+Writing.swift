import Crypto
import Foundation

/// Writing never loses a version that another program has written meanwhile: a replaced file is first exchanged, and
/// then examined.
extension LocalFolder {
    /// A copy of a file in its destination folder, under a hidden work name.
    struct Staged: Sendable {
        let folder: OpenFolder
        let name: String
        let digest: String
        /// The stamp of the complete copy, before it was moved to its path.
        let stamp: FileStamp
        /// Whether a file that was exchanged with the copy goes to the trash.
        let hasTrash: Bool
        /// The exchange in which the copy replaces another file, if any.
        var exchange: PendingExchange?

        /// Removes the copy. If the copy was placed, the work name is free or belongs to the replaced file. A replaced
        /// file that could not be put back stays for the next ``LocalFolder/sweep(_:_:)``.
        func discard() {
            guard let status = try? folder.status(name) else { return }
            if let exchange, FileStamp(status).inode != stamp.inode, hasTrash || exchange.isUnknown(status) { return }
            try? folder.remove(name)
        }
    }

    /// - Parameter known: the known stamp of the file that the copy will replace.
    func stage(_ source: URL, for path: LocalPath, replacing known: FileStamp? = nil) throws -> Staged {
        let name = Self.workPrefix + UUID().uuidString
        let place = try calling("write to", path) { () throws(SystemCode) in try parent(of: path) }
        guard let folder = place?.folder else { throw FolderError("write to", path, ENOENT) }
        let output = try calling("write to", path) { () throws(SystemCode) in
            try folder.open(name, O_WRONLY | O_CREAT | O_EXCL)
        }
        defer { try? output.close() }
        do {
            let input = try FileHandle(forReadingFrom: source)
            defer { try? input.close() }
            var hash = SHA256()
            while let bytes = try input.read(upToCount: 256 * 1024), !bytes.isEmpty {
                hash.update(data: bytes)
                try output.write(contentsOf: bytes)
            }
            try output.synchronize()
            let stamp = try Self.stamp(output)
            let exchange = known.map { PendingExchange(name: path.last, hidden: name, inode: stamp.inode, known: $0) }
            return Staged(
                folder: folder,
                name: name,
                digest: hash.finalize().text,
                stamp: stamp,
                hasTrash: trash != nil,
                exchange: exchange
            )
        } catch {
            try? folder.remove(name)
            throw error
        }
    }

    /// Places a staged file at a free path.
    ///
    /// - Returns: false if the path is not free.
    func place(_ staged: Staged, at path: LocalPath) throws -> Bool {
        try rename(staged.folder, staged.name, to: path)
    }

    /// Replaces an unchanged file by a staged file. The replaced file goes to the trash.
    ///
    /// - Returns: false if the file was changed. Then it stays.
    func replace(_ path: LocalPath, _ expected: FileStamp, with staged: Staged) throws -> Bool {
        try calling("write to", path) { () throws(SystemCode) in
            guard let (folder, name) = try parent(of: path), let status = try folder.status(name),
                FileStamp(status) == expected
            else { return false }
            do throws(SystemCode) {
                guard try staged.folder.exchange(staged.name, with: folder, name) else {
                    return try replaceByName(path, folder, name, expected, staged)
                }
            } catch {
                if error.number == ENOENT { return false }
                throw error
            }
            do throws(SystemCode) {
                // Otherwise another program has written the file just before the exchange.
                if let status = try staged.folder.status(staged.name), FileStamp(status).hasContent(of: expected) {
                    guard let trash else { return true }
                    if try trash.moveIn(staged.folder, staged.name, as: path, expected) { return true }
                }
            } catch {
                try putBack(staged, folder, name)
                throw error
            }
            try putBack(staged, folder, name)
            return false
        }
    }

    /// Undoes an exchange.
    private func putBack(_ staged: Staged, _ folder: OpenFolder, _ name: String) throws(SystemCode) {
        do throws(SystemCode) {
            _ = try staged.folder.exchange(staged.name, with: folder, name)
        } catch {
            guard error.number == ENOENT else { throw error }
            // Another program has removed the file that was placed there.
            try staged.folder.rename(staged.name, to: folder, name)
        }
    }

    /// Replaces a file on a file system that cannot exchange two files. The check and the replacement are not atomic.
    private func replaceByName(
        _ path: LocalPath,
        _ folder: OpenFolder,
        _ name: String,
        _ expected: FileStamp,
        _ staged: Staged
    ) throws(SystemCode) -> Bool {
        guard let trash else {
            try staged.folder.replace(staged.name, in: folder, name)
            return true
        }
        guard try trash.moveIn(folder, name, as: path, expected) else { return false }
        do throws(SystemCode) {
            try staged.folder.rename(staged.name, to: folder, name)
            return true
        } catch {
            // Another program has created a new file, which the next scan finds.
            if error.number == EEXIST { return false }
            throw error
        }
    }

    /// Moves an item to another path, which must be free.
    ///
    /// - Returns: false if the new path is not free, or if the item does not exist.
    func move(_ path: LocalPath, to other: LocalPath) throws -> Bool {
        let source = try calling("move", path) { () throws(SystemCode) in try parent(of: path) }
        guard let source else { return false }
        return try rename(source.folder, source.name, to: other)
    }

    private func rename(_ source: OpenFolder, _ name: String, to path: LocalPath) throws -> Bool {
        try calling("write to", path) { () throws(SystemCode) in
            guard let (folder, newName) = try parent(of: path) else { return false }
            do throws(SystemCode) {
                try source.rename(name, to: folder, newName)
                return true
            } catch {
                if [EEXIST, ENOTEMPTY, ENOENT, ENOTDIR].contains(error.number) { return false }
                throw error
            }
        }
    }

    /// Creates a folder.
    ///
    /// - Returns: the folder. Nil if its parent folder does not exist, or if another item has the path.
    func makeFolder(_ path: LocalPath) throws -> FolderItem? {
        try calling("make", path) { () throws(SystemCode) in
            guard let (folder, name) = try parent(of: path) else { return nil }
            do throws(SystemCode) { try folder.makeFolder(name) } catch {
                if ![EEXIST, ENOENT, ENOTDIR].contains(error.number) { throw error }
            }
            guard let status = try folder.status(name) else { return nil }
            let item = FolderItem(path, status)
            return item.isFolder ? item : nil
        }
    }

    /// Deletes an unchanged file, or an empty folder. A file goes to the trash. Without a trash, no system call
    /// compares and deletes in one step: a program that writes to the file between the two steps writes to a deleted
    /// file.
    ///
    /// Special files, and paths that lead through a symbolic link, were never mirrored. They stay, and count as gone.
    ///
    /// - Returns: whether the item is gone.
    func delete(_ path: LocalPath, isFolder: Bool, _ expected: FileStamp) throws -> Bool {
        try calling("delete", path) { () throws(SystemCode) in
            guard let (folder, name) = try parent(of: path), let status = try folder.status(name) else { return true }
            let item = FolderItem(path, status)
            if item.isSpecial { return true }
            guard item.isFolder == isFolder else { return false }
            do throws(SystemCode) {
                if isFolder {
                    try folder.remove(name, isFolder: true)
                    return true
                }
                guard item.stamp == expected else { return false }
                if let trash { return try trash.moveIn(folder, name, as: path, expected) }
                try folder.remove(name)
                return true
            } catch {
                if error.number == ENOENT { return true }
                if isFolder, [ENOTEMPTY, EEXIST, EBUSY].contains(error.number) { return false }
                throw error
            }
        }
    }

    /// A free path for a second version of a file.
    func freePath(_ path: LocalPath, _ conflictName: ConflictName) throws -> LocalPath {
        let name = conflictName.name(for: path.last)
        for number in 1... {
            let other = LocalPath.join(path.folder, MirrorNames.numbered(name, number))
            if try item(other) == nil { return other }
        }
        return path
    }
}
