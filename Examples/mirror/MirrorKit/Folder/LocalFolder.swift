import CMirrorFiles
import Crypto
import Foundation

/// The mirrored folder, by paths relative to it.
///
/// Its calls of the file system are made where they are called.
struct LocalFolder: Sendable {
    let root: URL

    /// Where names of files begin that are being written, and are nobody's yet.
    static let workPrefix = ".mirror-"

    /// Whether a name is one of those.
    static func isWork(_ name: String) -> Bool {
        name.hasPrefix(workPrefix) && UUID(uuidString: String(name.dropFirst(workPrefix.count))) != nil
    }

    func url(_ path: String) -> URL { root.appending(path: path) }

    /// What is there now; nil where there is nothing.
    func item(_ path: String) throws -> FolderItem? {
        var status = stat()
        guard lstat(url(path).path, &status) == 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw FolderError("look at", path, errno)
        }
        let kind = status.st_mode & S_IFMT
        let isSpecial = kind != S_IFREG && kind != S_IFDIR
        return FolderItem(path: path, isFolder: kind == S_IFDIR, stamp: FileStamp(status), isSpecial: isSpecial)
    }

    // MARK: Scanning

    /// Everything in it, but symbolic links, special files and names that are no text.
    ///
    /// - Throws: ``FolderError`` where it is not there, or cannot be read in part: what cannot be read is not to be taken for deleted.
    func scan() throws -> FolderScan {
        var scan = FolderScan()
        var seen: Set<String> = []
        var waiting = [""]
        while let folder = waiting.popLast() {
            try Task.checkCancellation()
            for name in try names(in: folder, &scan) {
                let path = folder.isEmpty ? name : folder + "/" + name
                var status = stat()
                // What has vanished since it was listed is deleted.
                guard lstat(url(path).path, &status) == 0 else {
                    if errno == ENOENT || errno == ENOTDIR { continue }
                    throw FolderError("look at", path, errno)
                }
                let kind = status.st_mode & S_IFMT
                guard kind == S_IFREG || kind == S_IFDIR else {
                    scan.skipped[path] = kind == S_IFLNK ? "a symbolic link" : "no file and no folder"
                    continue
                }
                guard seen.insert(path).inserted else {
                    scan.skipped[path] = "another composition of the letters of a name beside it"
                    continue
                }
                scan.items.append(FolderItem(path: path, isFolder: kind == S_IFDIR, stamp: FileStamp(status)))
                if kind == S_IFDIR { waiting.append(path) }
            }
        }
        return scan
    }

    private func names(in folder: String, _ scan: inout FolderScan) throws -> [String] {
        guard let stream = opendir(url(folder).path) else {
            // A folder that was deleted since it was seen is empty; the one that is mirrored is not.
            if errno == ENOENT || errno == ENOTDIR, !folder.isEmpty { return [] }
            throw FolderError("read", folder, errno)
        }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                // Its end, or an error.
                guard errno == 0 else { throw FolderError("read", folder, errno) }
                break
            }
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(validating: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard let name else {
                scan.skipped[folder.isEmpty ? "?" : folder + "/?"] = "a name that is no text"
                continue
            }
            if name == "." || name == ".." || Self.isWork(name) { continue }
            names.append(name)
        }
        return names.sorted()
    }

    // MARK: Reading

    /// What a file holds.
    struct Print: Sendable {
        let digest: String
        let stamp: FileStamp
        let isFresh: Bool
    }

    /// Reads a file; nil where it is no file any more, or was changed meanwhile.
    func print(_ path: String) throws -> Print? {
        let handle: FileHandle
        do { handle = try FileHandle(forReadingFrom: url(path)) } catch {
            if try item(path).map(\.isFolder) ?? true { return nil }
            throw FolderError("read", path, EACCES)
        }
        defer { try? handle.close() }
        let (moment, before) = (FileStamp.now, try Self.stamp(handle))
        var hash = SHA256()
        while let bytes = try handle.read(upToCount: 256 * 1024), !bytes.isEmpty {
            try Task.checkCancellation()
            hash.update(data: bytes)
        }
        let after = try Self.stamp(handle)
        guard before == after, try item(path)?.stamp == after else { return nil }
        return Print(digest: hash.finalize().text, stamp: after, isFresh: after.isFresh(at: moment))
    }

    static func stamp(_ handle: FileHandle) throws -> FileStamp {
        var status = stat()
        guard fstat(handle.fileDescriptor, &status) == 0 else { throw FolderError("look at", "a file", errno) }
        return FileStamp(status)
    }
}

/// What the file system has refused.
struct FolderError: Error, CustomStringConvertible {
    let description: String
    let code: Int32

    init(_ call: String, _ path: String, _ code: Int32) {
        self.code = code
        let name = path.isEmpty ? "the folder" : "'\(path)'"
        description = "cannot \(call) \(name): \(String(cString: strerror(code)))"
    }
}

extension Digest {
    /// In hexadecimal.
    var text: String { map { String(format: "%02x", $0) }.joined() }
}
