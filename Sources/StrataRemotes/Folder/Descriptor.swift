internal import CStrataFiles
import Foundation

/// A failed system call.
struct SystemError: Error, CustomStringConvertible {
    let code: CInt
    let call: String

    var description: String { "\(call): \(String(cString: strerror(code)))" }
}

/// An open file or folder. The descriptor is closed when the last reference is gone.
final class Descriptor: Sendable {
    let raw: CInt

    init(_ raw: CInt) { self.raw = raw }

    deinit { close(raw) }

    /// Opens a folder at a path that may contain symbolic links.
    ///
    /// Only the root may be opened this way, because the user has chosen it.
    static func folder(_ path: String) throws -> Descriptor {
        Descriptor(try check("open", Foundation.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)))
    }

    /// Returns the result of a call, or throws its error. Interrupted calls are repeated.
    @discardableResult
    static func check(_ call: String, _ result: @autoclosure () -> CInt) throws -> CInt {
        while true {
            let value = result()
            if value >= 0 { return value }
            if errno != EINTR { throw SystemError(code: errno, call: call) }
        }
    }

    // MARK: In a folder

    /// Opens an entry directly in this folder. A symbolic link is not followed; it throws `ELOOP` or `ENOTDIR`.
    func open(_ name: String, _ flags: CInt) throws -> Descriptor {
        // The call must not block if the entry is a pipe.
        Descriptor(try Self.check("open", openat(raw, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o666)))
    }

    /// Opens a folder in this folder.
    func folder(_ name: String) throws -> Descriptor { try open(name, O_RDONLY | O_DIRECTORY) }

    /// Opens a folder in this folder, and creates it if it does not exist.
    func madeFolder(_ name: String) throws -> Descriptor {
        do { return try folder(name) } catch let error as SystemError where error.code == ENOENT {
            if mkdirat(raw, name, 0o777) != 0, errno != EEXIST { throw SystemError(code: errno, call: "mkdir") }
            return try folder(name)
        }
    }

    /// The status of an entry, without following a symbolic link; nil if it does not exist.
    func status(_ name: String) throws -> FileStatus? {
        var status = stat()
        do {
            try Self.check("stat", fstatat(raw, name, &status, AT_SYMLINK_NOFOLLOW))
        } catch let error as SystemError where error.code == ENOENT {
            return nil
        }
        return FileStatus(status)
    }

    /// The names in this folder, without names that are not valid UTF-8.
    func names() throws -> [String] {
        // `closedir` closes the descriptor that the stream was opened with, so the stream gets a separate one.
        let copy = try Self.check("open", openat(raw, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC))
        guard let stream = fdopendir(copy) else {
            let code = errno
            close(copy)
            throw SystemError(code: code, call: "opendir")
        }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                if errno != 0 { throw SystemError(code: errno, call: "readdir") }
                return names
            }
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: pointer.pointee)) {
                    String(validatingCString: $0)
                }
            }
            if let name, name != ".", name != ".." { names.append(name) }
        }
    }

    /// Removes a file, or a folder that is empty.
    func remove(_ name: String, isFolder: Bool = false) throws {
        try Self.check("unlink", unlinkat(raw, name, isFolder ? AT_REMOVEDIR : 0))
    }

    /// Moves an entry of this folder to a name in another folder.
    ///
    /// - Parameter replaces: whether a file with that name is replaced. Otherwise the call throws `EEXIST`.
    func rename(_ name: String, to folder: Descriptor, _ newName: String, replaces: Bool) throws {
        if replaces {
            try Self.check("rename", renameat(raw, name, folder.raw, newName))
            return
        }
        do {
            try Self.check("rename", strata_rename_exclusively(raw, name, folder.raw, newName))
        } catch let error as SystemError where error.code == EINVAL || error.code == ENOSYS {
            // This file system does not support exclusive renames. The lock then excludes other users of the remote,
            // but not other programs.
            if try folder.status(newName) != nil { throw SystemError(code: EEXIST, call: "rename") }
            try Self.check("rename", renameat(raw, name, folder.raw, newName))
        }
    }

    // MARK: Of a file

    func status() throws -> FileStatus {
        var status = stat()
        try Self.check("stat", fstat(raw, &status))
        return FileStatus(status)
    }

    func sync() throws { try Self.check("fsync", fsync(raw)) }

    func write(_ data: Data) throws {
        try data.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let part = UnsafeRawBufferPointer(rebasing: rest)
                let count = Foundation.write(raw, part.baseAddress, part.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { throw SystemError(code: count < 0 ? errno : EIO, call: "write") }
                rest = rest.dropFirst(count)
            }
        }
    }

    /// Reads bytes from an offset. It returns fewer bytes than requested only at the end of the file.
    func read(at offset: Int64, count: Int) throws -> Data {
        var data = Data(count: count)
        var filled = 0
        while filled < count {
            let read = data.withUnsafeMutableBytes { bytes in
                pread(raw, bytes.baseAddress.map { $0 + filled }, count - filled, off_t(offset) + off_t(filled))
            }
            if read < 0, errno == EINTR { continue }
            guard read >= 0 else { throw SystemError(code: errno, call: "read") }
            if read == 0 { break }
            filled += read
        }
        return data.prefix(filled)
    }

    /// Appends a whole other file. The file system copies the bytes itself if it can.
    func append(_ other: Descriptor, size: Int64) throws {
        var done: Int64 = 0
        while done < size {
            let count = strata_copy_range(other.raw, raw, Int(clamping: min(size - done, 1 << 30)))
            if count > 0 {
                done += Int64(count)
                continue
            }
            if count < 0, errno == EINTR { continue }
            // The file system cannot copy further, so the rest is read and written.
            while done < size {
                let data = try other.read(at: done, count: Int(min(size - done, 1 << 18)))
                guard !data.isEmpty else { throw SystemError(code: EIO, call: "read") }
                try write(data)
                done += Int64(data.count)
            }
        }
    }

    /// Locks this file. The lock ends when the descriptor is closed.
    ///
    /// - Returns: false if another process or descriptor has the lock and `waits` is false.
    @discardableResult
    func lock(waits: Bool = true) throws -> Bool {
        do {
            try Self.check("flock", flock(raw, LOCK_EX | (waits ? 0 : LOCK_NB)))
            return true
        } catch let error as SystemError where error.code == EWOULDBLOCK {
            return false
        }
    }
}
