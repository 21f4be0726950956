import CMirrorFiles
import Foundation

/// An error number of the file system.
struct SystemCode: Error {
    let number: CInt

    /// Whether the error means that a name does not exist, or that a part of the path is not a folder.
    var saysMissing: Bool { [ENOENT, ENOTDIR, ELOOP].contains(number) }
}

/// An open folder, closed with its last reference. All operations are relative to it and do not follow symbolic links.
final class OpenFolder: Sendable {
    let raw: CInt

    private init(_ raw: CInt) { self.raw = raw }

    deinit { close(raw) }

    /// Opens a folder by its whole path, including symbolic links. Only the root is opened in this way, because the
    /// user has chosen it.
    static func root(_ folder: URL) throws(SystemCode) -> OpenFolder {
        OpenFolder(try check { Foundation.open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) })
    }

    @discardableResult
    private static func check(_ call: () -> CInt) throws(SystemCode) -> CInt {
        while true {
            let value = call()
            if value >= 0 { return value }
            if errno != EINTR { throw SystemCode(number: errno) }
        }
    }

    /// Opens a subfolder. A symbolic link is refused.
    func folder(_ name: String) throws(SystemCode) -> OpenFolder {
        OpenFolder(try Self.check { openat(raw, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) })
    }

    /// Opens a subfolder, and creates it if the name is free.
    func madeFolder(_ name: String, mode: mode_t) throws(SystemCode) -> OpenFolder {
        if mkdirat(raw, name, mode) != 0, errno != EEXIST { throw SystemCode(number: errno) }
        return try folder(name)
    }

    func makeFolder(_ name: String) throws(SystemCode) { try Self.check { mkdirat(raw, name, 0o777) } }

    /// Opens a file. A symbolic link is refused. The call does not wait for the other end of a FIFO.
    func open(_ name: String, _ flags: CInt = O_RDONLY, mode: mode_t = 0o666) throws(SystemCode) -> FileHandle {
        let file = try Self.check { openat(raw, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, mode) }
        return FileHandle(fileDescriptor: file, closeOnDealloc: true)
    }

    /// The status of the file, folder or symbolic link with a name. Nil if the name is free.
    func status(_ name: String) throws(SystemCode) -> stat? {
        var status = stat()
        do throws(SystemCode) {
            try Self.check { fstatat(raw, name, &status, AT_SYMLINK_NOFOLLOW) }
        } catch {
            if error.number == ENOENT { return nil }
            throw error
        }
        return status
    }

    /// The names in the folder, in the order of their bytes. Nil for a name that is not UTF-8.
    func names() throws(SystemCode) -> [String?] {
        // The stream closes the descriptor that it receives.
        let copy = try Self.check { openat(raw, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        guard let stream = fdopendir(copy) else {
            let number = errno
            close(copy)
            throw SystemCode(number: number)
        }
        defer { closedir(stream) }
        var names: [String?] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                // The end, or an error.
                if errno != 0 { throw SystemCode(number: errno) }
                break
            }
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(validating: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name == "." || name == ".." { continue }
            names.append(name)
        }
        return names.sorted { ($0 ?? "").utf8.lexicographicallyPrecedes(($1 ?? "").utf8) }
    }

    /// Deletes a file, or an empty folder.
    func remove(_ name: String, isFolder: Bool = false) throws(SystemCode) {
        try Self.check { unlinkat(raw, name, isFolder ? AT_REMOVEDIR : 0) }
    }

    /// Moves a file or folder of this folder to another folder. The new name must be free.
    ///
    /// - Throws: `EEXIST` if the name is taken.
    func rename(_ name: String, to folder: OpenFolder, _ newName: String) throws(SystemCode) {
        do throws(SystemCode) {
            try Self.check { mirror_rename_exclusively(raw, name, folder.raw, newName) }
        } catch {
            guard Self.cannot(error) else { throw error }
            // The check and the renaming are not atomic.
            if try folder.status(newName) != nil { throw SystemCode(number: EEXIST) }
            try Self.check { renameat(raw, name, folder.raw, newName) }
        }
    }

    /// Moves a file of this folder to another folder, and replaces a file that has the new name.
    func replace(_ name: String, in folder: OpenFolder, _ newName: String) throws(SystemCode) {
        try Self.check { renameat(raw, name, folder.raw, newName) }
    }

    /// Exchanges a file in this folder with one in another folder.
    ///
    /// - Returns: false if the file system cannot exchange files.
    func exchange(_ name: String, with folder: OpenFolder, _ other: String) throws(SystemCode) -> Bool {
        do throws(SystemCode) {
            try Self.check { mirror_exchange(raw, name, folder.raw, other) }
            return true
        } catch {
            if Self.cannot(error) { return false }
            throw error
        }
    }

    private static func cannot(_ code: SystemCode) -> Bool { [EINVAL, ENOSYS, ENOTSUP].contains(code.number) }
}
