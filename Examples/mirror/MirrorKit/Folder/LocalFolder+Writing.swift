import CMirrorFiles
import Crypto
import Foundation

/// Writing never takes away what somebody else has written meanwhile: what is replaced is exchanged first, and looked at then.
extension LocalFolder {
    /// A copy of a file in the folder where it is to lie, under a name that nobody looks at.
    struct Staged: Sendable {
        let file: URL
        let digest: String
        /// With what it is to change places, if with anything.
        var exchange: PendingExchange?

        /// What was put in its place has another name by then. What could not be put back stays for the next ``LocalFolder/sweep(_:_:)``.
        func discard() {
            var status = stat()
            if let exchange, lstat(file.path, &status) == 0, exchange.isUnknown(status) { return }
            try? FileManager.default.removeItem(at: file)
        }
    }

    /// - Parameter known: the file that is to be replaced, as it is known.
    func stage(_ source: URL, for path: String, replacing known: FileStamp? = nil) throws -> Staged {
        let folder = url(path).deletingLastPathComponent()
        let file = folder.appending(path: Self.workPrefix + UUID().uuidString)
        do {
            let input = try FileHandle(forReadingFrom: source)
            defer { try? input.close() }
            guard FileManager.default.createFile(atPath: file.path, contents: nil) else {
                throw FolderError("write to", path, errno)
            }
            let output = try FileHandle(forWritingTo: file)
            defer { try? output.close() }
            var hash = SHA256()
            while let bytes = try input.read(upToCount: 256 * 1024), !bytes.isEmpty {
                hash.update(data: bytes)
                try output.write(contentsOf: bytes)
            }
            try output.synchronize()
            let inode = try Self.stamp(output).inode
            let exchange = known.map {
                PendingExchange(
                    name: MirrorNames.last(of: path),
                    hidden: file.lastPathComponent,
                    inode: inode,
                    known: $0
                )
            }
            return Staged(file: file, digest: hash.finalize().text, exchange: exchange)
        } catch {
            try? FileManager.default.removeItem(at: file)
            throw error
        }
    }

    /// Puts a staged file where there is nothing.
    ///
    /// - Returns: false where there is something.
    func place(_ staged: Staged, at path: String) throws -> Bool { try rename(staged.file.path, to: path) }

    /// Puts a staged file in the place of one that is as it was.
    ///
    /// - Returns: false where that has changed, in which case it stays.
    func replace(_ path: String, _ expected: FileStamp, with staged: Staged) throws -> Bool {
        guard try item(path)?.stamp == expected else { return false }
        guard mirror_exchange(staged.file.path, url(path).path) == 0 else {
            guard errno == EINVAL || errno == ENOSYS || errno == ENOTSUP else {
                if errno == ENOENT { return false }
                throw FolderError("write to", path, errno)
            }
            // Not all file systems can. Between the look and this there is a moment.
            guard Foundation.rename(staged.file.path, url(path).path) == 0 else {
                throw FolderError("write to", path, errno)
            }
            return true
        }
        var status = stat()
        guard lstat(staged.file.path, &status) == 0, FileStamp(status).hasContent(of: expected) else {
            // Somebody has written it just before the exchange.
            if mirror_exchange(staged.file.path, url(path).path) == 0 { return false }
            // Somebody has taken away what was put there.
            if errno == ENOENT, try rename(staged.file.path, to: path) { return false }
            throw FolderError("put back", path, errno)
        }
        return true
    }

    /// Moves what lies at one path to another, where there is nothing.
    ///
    /// - Returns: false where there is something, or nothing to move.
    func move(_ path: String, to other: String) throws -> Bool { try rename(url(path).path, to: other) }

    private func rename(_ source: String, to path: String) throws -> Bool {
        if mirror_rename_exclusively(source, url(path).path) == 0 { return true }
        switch errno {
        case EEXIST, ENOTEMPTY, ENOENT, ENOTDIR: return false
        case EINVAL, ENOSYS, ENOTSUP:
            guard try item(path) == nil else { return false }
            guard Foundation.rename(source, url(path).path) == 0 else { throw FolderError("write to", path, errno) }
            return true
        default: throw FolderError("write to", path, errno)
        }
    }

    /// Makes a folder.
    ///
    /// - Returns: what is there now; nil where its own folder is not there, or something else lies in its place.
    func makeFolder(_ path: String) throws -> FolderItem? {
        if mkdir(url(path).path, 0o777) != 0, ![EEXIST, ENOENT, ENOTDIR].contains(errno) {
            throw FolderError("make", path, errno)
        }
        return try item(path).flatMap { $0.isFolder ? $0 : nil }
    }

    /// Deletes a file that is as it was, or a folder that is empty. No system looks and deletes in one step: whoever writes to the file between the
    /// two writes to one that is deleted.
    ///
    /// - Returns: whether it is gone.
    func delete(_ path: String, isFolder: Bool, _ expected: FileStamp) throws -> Bool {
        guard let item = try item(path), item.isFolder == isFolder else { return try self.item(path) == nil }
        if isFolder {
            if rmdir(url(path).path) == 0 || errno == ENOENT { return true }
            guard [ENOTEMPTY, EEXIST, EBUSY].contains(errno) else { throw FolderError("delete", path, errno) }
            return false
        }
        guard item.stamp == expected else { return false }
        guard unlink(url(path).path) == 0 || errno == ENOENT else { throw FolderError("delete", path, errno) }
        return true
    }

    /// Removes what processes that were killed have left half written, and gives a name to what somebody had written in the moment of an exchange.
    ///
    /// - Parameter exchanges: those that were about to be made.
    /// - Returns: the paths of what has a name by now.
    func sweep(_ exchanges: [PendingExchange], _ conflictName: ConflictName) throws -> [String] {
        let known = Dictionary(exchanges.map { ($0.hidden, $0) }) { first, _ in first }
        let keys: [URLResourceKey] = [.isRegularFileKey]
        guard let files = FileManager.default.enumerator(at: root, includingPropertiesForKeys: keys) else { return [] }
        var hidden: [URL] = []
        for case let file as URL in files where Self.isWork(file.lastPathComponent) {
            if try file.resourceValues(forKeys: Set(keys)).isRegularFile ?? false { hidden.append(file) }
        }
        var found: [String] = []
        for file in hidden {
            var status = stat()
            guard lstat(file.path, &status) == 0 else { continue }
            if let exchange = known[file.lastPathComponent], exchange.isUnknown(status) {
                let folder = String(file.deletingLastPathComponent().path.dropFirst(root.path.count + 1))
                let path = try freePath(MirrorNames.join(folder.isEmpty ? nil : folder, exchange.name), conflictName)
                if try rename(file.path, to: path) { found.append(path) }
            } else {
                try FileManager.default.removeItem(at: file)
            }
        }
        return found
    }

    /// Where a second version of a file can lie.
    func freePath(_ path: String, _ conflictName: ConflictName) throws -> String {
        let name = conflictName.name(for: MirrorNames.last(of: path))
        let dot = name.dropFirst().lastIndex(of: ".") ?? name.endIndex
        for number in 1... {
            let mark = number == 1 ? "" : " \(number)"
            let other = MirrorNames.join(MirrorNames.folder(of: path), name[..<dot] + mark + name[dot...])
            if try item(other) == nil { return other }
        }
        return path
    }
}
