import Crypto
import Foundation

/// Writing never takes away what somebody else has written meanwhile: what is replaced is exchanged first, and looked at then.
extension LocalFolder {
    /// A copy of a file in the folder where it is to lie, under a name that nobody looks at.
    struct Staged: Sendable {
        let folder: OpenFolder
        let name: String
        let digest: String
        let inode: UInt64
        /// Whether a file that was exchanged with the copy goes to the trash.
        let hasTrash: Bool
        /// With what it is to change places, if with anything.
        var exchange: PendingExchange?

        /// Removes the copy, which has another name if it was put in its place. What could not be put back stays for the next
        /// ``LocalFolder/sweep(_:_:)``.
        func discard() {
            guard let status = try? folder.status(name) else { return }
            if let exchange, FileStamp(status).inode != inode, hasTrash || exchange.isUnknown(status) { return }
            try? folder.remove(name)
        }
    }

    /// - Parameter known: the file that is to be replaced, as it is known.
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
            let inode = try Self.stamp(output).inode
            let exchange = known.map { PendingExchange(name: path.last, hidden: name, inode: inode, known: $0) }
            return Staged(
                folder: folder,
                name: name,
                digest: hash.finalize().text,
                inode: inode,
                hasTrash: trash != nil,
                exchange: exchange
            )
        } catch {
            try? folder.remove(name)
            throw error
        }
    }

    /// Puts a staged file where there is nothing.
    ///
    /// - Returns: false where there is something.
    func place(_ staged: Staged, at path: LocalPath) throws -> Bool {
        try rename(staged.folder, staged.name, to: path)
    }

    /// Puts a staged file in the place of one that is as it was, which goes to the trash.
    ///
    /// - Returns: false where that has changed, in which case it stays.
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
                    if try trash.take(staged.folder, staged.name, as: path, expected) { return true }
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
            // Somebody has taken away what was put there.
            try staged.folder.rename(staged.name, to: folder, name)
        }
    }

    /// The same for file systems that cannot exchange two files. Between the look and this there is a moment.
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
        guard try trash.take(folder, name, as: path, expected) else { return false }
        do throws(SystemCode) {
            try staged.folder.rename(staged.name, to: folder, name)
            return true
        } catch {
            // Another program has made a new file, which the next scan finds.
            if error.number == EEXIST { return false }
            throw error
        }
    }

    /// Moves what lies at one path to another, where there is nothing.
    ///
    /// - Returns: false where there is something, or nothing to move.
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

    /// Makes a folder.
    ///
    /// - Returns: what is there now; nil where its own folder is not there, or something else lies in its place.
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

    /// Deletes a file that is as it was, or a folder that is empty. A file goes to the trash. Without a trash, no
    /// system call compares and deletes in one step: a program that writes to the file between the two steps writes to
    /// a deleted file.
    ///
    /// Special files, and paths that lead through a symbolic link, were never mirrored: they stay, and count as gone.
    ///
    /// - Returns: whether it is gone.
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
                if let trash { return try trash.take(folder, name, as: path, expected) }
                try folder.remove(name)
                return true
            } catch {
                if error.number == ENOENT { return true }
                if isFolder, [ENOTEMPTY, EEXIST, EBUSY].contains(error.number) { return false }
                throw error
            }
        }
    }

    /// Where a second version of a file can lie.
    func freePath(_ path: LocalPath, _ conflictName: ConflictName) throws -> LocalPath {
        let name = conflictName.name(for: path.last)
        for number in 1... {
            let other = LocalPath.join(path.folder, MirrorNames.numbered(name, number))
            if try item(other) == nil { return other }
        }
        return path
    }
}
