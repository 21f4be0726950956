import Crypto
import Foundation

/// The mirrored folder. Paths are relative to it.
///
/// Every access opens folder by folder from the root, and does not follow symbolic links. Calls of the file system run
/// on the caller's thread.
struct LocalFolder: Sendable {
    let root: URL
    /// The destination of deleted and overwritten files. Nil deletes them.
    let trash: Trash?
    /// The number of bytes in the path of the root.
    private let rootLength: Int
    private let clock: FolderClock
    private let sightings = Sightings()

    init(root: URL, trash: Trash? = nil, clock: FolderClock = FolderClock()) {
        (self.root, self.trash, self.clock) = (root, trash, clock)
        rootLength = root.path.utf8.count
    }

    /// The prefix of the names of files that are being written and are not part of the mirror yet.
    static let workPrefix = ".mirror-"

    /// Whether a name is the work name of such a file.
    static func isWork(_ name: String) -> Bool {
        name.utf8.starts(with: workPrefix.utf8)
            && UUID(uuidString: String(decoding: name.utf8.dropFirst(workPrefix.utf8.count), as: UTF8.self)) != nil
    }

    /// The maximum number of bytes in a path that programs can use. `PATH_MAX` also counts the terminating byte.
    static let longestPath = Int(PATH_MAX) - 1

    /// Whether the path of a file is too long for programs.
    func isTooLong(_ path: LocalPath) -> Bool { length(of: path) > Self.longestPath }

    /// The number of bytes in the whole path of a file.
    private func length(of path: LocalPath) -> Int { rootLength + 1 + path.text.utf8.count }

    /// Whether a local file can have the path of a node in the tree. Names of the tree may contain any character.
    func isPossible(_ names: some Collection<String>) -> Bool {
        names.allSatisfy(MirrorNames.isPossible) && names.first != Trash.nameInFolder
            && !isTooLong(LocalPath(Array(names)))
    }

    // MARK: Access

    /// Opens a folder. Nil is the root.
    func folder(_ folder: LocalPath?) throws(SystemCode) -> OpenFolder {
        var open = try OpenFolder.root(root)
        for name in folder?.names ?? [] { open = try open.folder(name) }
        return open
    }

    /// Opens the folder that contains a path, and returns it with the last name. Nil if that folder does not exist, or
    /// is reached by a symbolic link.
    func parent(of path: LocalPath) throws(SystemCode) -> (folder: OpenFolder, name: String)? {
        // A missing root is an error, and not an empty folder.
        var open = try OpenFolder.root(root)
        do throws(SystemCode) {
            for name in path.folder?.names ?? [] { open = try open.folder(name) }
        } catch {
            if error.saysMissing { return nil }
            throw error
        }
        return (open, path.last)
    }

    /// Adds the operation and the path to errors.
    func calling<Value>(_ call: String, _ path: LocalPath?, _ body: () throws(SystemCode) -> Value) throws(FolderError)
        -> Value
    {
        do throws(SystemCode) { return try body() } catch { throw FolderError(call, path, error.number) }
    }

    /// The item at a path now. Nil if the path is free.
    func item(_ path: LocalPath) throws(FolderError) -> FolderItem? {
        try calling("look at", path) { () throws(SystemCode) in
            guard let (folder, name) = try parent(of: path) else { return nil }
            return try folder.status(name).map { FolderItem(path, $0) }
        }
    }

    /// The first part of a path that is neither a file nor a folder, such as a symbolic link or a FIFO. Nil if all
    /// parts are files or folders.
    func obstacle(in path: LocalPath) throws(FolderError) -> FolderItem? {
        try calling("look at", path) { () throws(SystemCode) in
            var open = try OpenFolder.root(root)
            var place: LocalPath?
            let names = path.names
            for (index, name) in names.enumerated() {
                guard let status = try open.status(name) else { return nil }
                place = LocalPath.join(place, name)
                let item = FolderItem(place ?? path, status)
                if item.isSpecial { return item }
                guard item.isFolder, index < names.count - 1 else { return nil }
                do throws(SystemCode) { open = try open.folder(name) } catch {
                    if error.saysMissing { return nil }
                    throw error
                }
            }
            return nil
        }
    }

    /// The obstacle that keeps a node from its path: a part of its current path, or of the folders above its new path.
    ///
    /// - Parameter here: the current path; nil if the node has no local item yet. A file at the new path itself makes
    ///   way.
    func obstacle(here: LocalPath?, there: LocalPath) throws(FolderError) -> FolderItem? {
        if let here, let obstacle = try obstacle(in: here) { return obstacle }
        return try there.folder.flatMap { folder throws(FolderError) in try obstacle(in: folder) }
    }

    // MARK: Scanning

    /// Everything in the folder, except symbolic links, special files, names that are not text, and paths that the file
    /// system refuses. Those are left out with a reason: an unreadable file must not count as deleted.
    ///
    /// - Throws: ``FolderError`` if the folder is missing, or cannot be read.
    func scan() throws -> FolderScan {
        var scan = FolderScan()
        var seen: Set<LocalPath> = []
        var waiting: [LocalPath?] = [nil]
        while let folder = waiting.popLast() {
            try Task.checkCancellation()
            do throws(SystemCode) {
                let open = try self.folder(folder)
                for name in try open.names() {
                    guard let name else {
                        scan.skipped[LocalPath.join(folder, "?")] = "a name that is not text"
                        continue
                    }
                    let path = LocalPath.join(folder, name)
                    if Self.isWork(name) || folder == nil && name == Trash.nameInFolder { continue }
                    guard let item = examine(path, name, open, &scan) else { continue }
                    guard seen.insert(path.composed).inserted else {
                        scan.skipped[path] = "another composition of the letters of a name beside it"
                        continue
                    }
                    scan.items.append(item)
                    if item.isFolder { waiting.append(path) }
                }
            } catch {
                guard let folder else { throw FolderError("read", nil, error.number) }
                // A folder that has vanished since it was listed is deleted. A folder that became a link is not.
                if error.number == ENOENT { continue }
                scan.skipped[folder] = FolderError("read", folder, error.number).reason
            }
        }
        return scan
    }

    /// Examines a file or folder. Nil if it is gone, or if it is left out; then the scan receives the reason.
    private func examine(_ path: LocalPath, _ name: String, _ open: OpenFolder, _ scan: inout FolderScan) -> FolderItem?
    {
        guard !isTooLong(path) else {
            scan.skipped[path] = "its path has \(length(of: path)) bytes, and the system takes \(Self.longestPath)"
            return nil
        }
        do throws(SystemCode) {
            guard let status = try open.status(name) else { return nil }
            let item = FolderItem(path, status)
            guard let special = item.special else { return item }
            scan.skipped[path] = special
        } catch {
            scan.skipped[path] = FolderError("look at", path, error.number).reason
        }
        return nil
    }

    // MARK: Reading

    /// The content of a file, as a digest.
    struct Print: Sendable {
        let digest: String
        let stamp: FileStamp
        let isFresh: Bool
    }

    /// Opens a file for reading. Nil if the file does not exist.
    func file(_ path: LocalPath) throws -> FileHandle? {
        let file: FileHandle? = try calling("read", path) { () throws(SystemCode) in
            guard let (folder, name) = try parent(of: path) else { return nil }
            do throws(SystemCode) { return try folder.open(name) } catch {
                // A socket cannot be opened.
                if error.saysMissing || error.number == ENXIO { return nil }
                throw error
            }
        }
        guard let file else { return nil }
        var status = stat()
        guard fstat(file.fileDescriptor, &status) == 0 else { throw FolderError("look at", path, errno) }
        return status.st_mode & S_IFMT == S_IFREG ? file : nil
    }

    /// Reads a file. Nil if the path is no longer a file, or if the file changed while it was read.
    func print(_ path: LocalPath) throws -> Print? {
        guard let handle = try file(path) else { return nil }
        defer { try? handle.close() }
        let (moment, begin, before) = (clock.now(), clock.instant(), try Self.stamp(handle))
        var hash = SHA256()
        while let bytes = try handle.read(upToCount: 256 * 1024), !bytes.isEmpty {
            try Task.checkCancellation()
            hash.update(data: bytes)
        }
        let after = try Self.stamp(handle)
        guard before == after, try item(path)?.stamp == after else { return nil }
        let isFresh = isFresh(path, after, at: moment, begin)
        return Print(digest: hash.finalize().text, stamp: after, isFresh: isFresh)
    }

    /// Whether a file that was just read may be written again with the same time.
    private func isFresh(_ path: LocalPath, _ stamp: FileStamp, at moment: Int64, _ begin: ContinuousClock.Instant)
        -> Bool
    {
        if stamp.isRecent(at: moment) { return !sightings.record(path, stamp, begin, clock.instant()) }
        sightings.forget(path)
        return false
    }

    static func stamp(_ handle: FileHandle) throws -> FileStamp {
        var status = stat()
        guard fstat(handle.fileDescriptor, &status) == 0 else { throw FolderError("look at", "a file", errno) }
        return FileStamp(status)
    }
}

/// An error of the file system.
struct FolderError: Error, CustomStringConvertible {
    let description: String
    /// The system's description of the error.
    let reason: String
    let code: Int32

    init(_ call: String, _ path: LocalPath?, _ code: Int32) {
        self.code = code
        reason = String(cString: strerror(code))
        description = "cannot \(call) \(path.map { "'\($0)'" } ?? "the folder"): \(reason)"
    }
}

extension Digest {
    /// The digest in hexadecimal.
    var text: String {
        func digit(_ value: UInt8) -> UInt8 { value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10 }
        var digits: [UInt8] = []
        digits.reserveCapacity(2 * Self.byteCount)
        for byte in self {
            digits.append(digit(byte >> 4))
            digits.append(digit(byte & 15))
        }
        return String(decoding: digits, as: UTF8.self)
    }
}
