import Foundation

/// The file beside the destination of a backup, until the backup is complete.
///
/// The process that writes the file holds a lock on it by flock(2). The lock ends with the process, so a file whose
/// lock is free was left by a killed backup. The next backup to the same destination removes it.
///
/// Isolation: used by one thread.
final class TemporaryCopy {
    let path: String
    private let destination: String
    /// The permissions of the complete copy; nil if the store's are unknown.
    private let mode: mode_t?
    /// The file with its lock; -1 when it is closed. SQLite opens the file separately, and must close it first: when a
    /// process closes a file, it loses the locks that SQLite has there.
    private var descriptor: Int32

    /// Creates the file and takes its lock.
    ///
    /// - Parameter source: the store, whose permissions the complete copy gets. Until then, only this user can read and
    ///   write the file, also if the store is write-protected.
    init(for destination: String, like source: String?) throws {
        self.destination = destination
        var info = stat()
        if let source, stat(source, &info) == 0 { mode = info.st_mode & 0o777 } else { mode = nil }
        (path, descriptor) = try Self.lockedFile(for: destination)
    }

    private static func lockedFile(for destination: String) throws -> (path: String, descriptor: Int32) {
        while true {
            let path = prefix(of: destination) + UUID().uuidString
            let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw failure("A file beside it cannot be created") }
            // Another backup may be looking at the file at this moment.
            while flock(descriptor, LOCK_EX) != 0, errno == EINTR {}
            var own = stat()
            // If that backup has removed the file, another one is made.
            if fstat(descriptor, &own) == 0, let named = status(path), named.st_ino == own.st_ino {
                return (path, descriptor)
            }
            close(descriptor)
        }
    }

    deinit { closeFile() }

    /// Waits until the file is on the disk, and gives it the destination's name.
    ///
    /// - Parameter isReplacing: whether the file replaces another one. Otherwise the name must be free.
    func put(replacing isReplacing: Bool) throws {
        if let mode { fchmod(descriptor, mode) }
        guard fsync(descriptor) == 0 else { throw Self.failure("The copy cannot be written to the disk") }
        if isReplacing {
            guard rename(path, destination) == 0 else { throw Self.failure("The copy cannot be put into place") }
        } else {
            try putAtFreeName()
        }
        closeFile()
        try Self.flushFolder(of: destination)
    }

    /// A second name is an error if a file has it, while a renamed file would replace the other one.
    private func putAtFreeName() throws {
        if link(path, destination) == 0 {
            unlink(path)
            return
        }
        guard errno != EEXIST else {
            throw StrataError(
                .cannotOpen,
                "Another file has got the name meanwhile. Name another place, or pass `replacing: true`."
            )
            .because(.fileExists)
        }
        // The file system may not support second names.
        guard Self.status(destination) == nil, rename(path, destination) == 0 else {
            throw Self.failure("The copy cannot be put into place")
        }
    }

    /// Removes the file.
    func discard() {
        Self.remove(path)
        closeFile()
    }

    private func closeFile() {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }

    // MARK: Files of killed backups

    /// Removes the files of backups to a destination whose processes have ended.
    static func removeDead(for destination: String) {
        let url = URL(fileURLWithPath: prefix(of: destination))
        let (folder, mark) = (url.deletingLastPathComponent(), url.lastPathComponent)
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        where name.hasBytePrefix(mark) && UUID(uuidString: name.droppingFirstBytes(mark.utf8.count)) != nil {
            removeIfDead(folder.appendingPathComponent(name).path)
        }
    }

    private static func removeIfDead(_ path: String) {
        guard let info = status(path), info.st_mode & S_IFMT == S_IFREG else { return }
        if info.st_nlink > 1 {
            // The file is complete, and its process has ended between the two steps of ``putAtFreeName()``. A stack of
            // this process may have the file open under its other name, so the file is not opened here.
            unlink(path)
            return
        }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return }
        remove(path)
    }

    /// Removes a file and the files that SQLite has made beside it. The file itself is last, because the others are
    /// found by its name.
    private static func remove(_ path: String) {
        for suffix in ["-journal", "-wal", "-shm", ""] { unlink(path + suffix) }
    }

    /// Applications may call their own backups `….backup-…`, so the mark contains the name of this library.
    private static func prefix(of destination: String) -> String { destination + ".strata-backup-" }

    // MARK: Calls of the system

    /// The status of a file or symbolic link; nil if it does not exist.
    static func status(_ path: String) -> stat? {
        var info = stat()
        return lstat(path, &info) == 0 ? info : nil
    }

    private static func flushFolder(of path: String) throws {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        let descriptor = open(folder, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        // Some file systems do not flush folders.
        guard fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP else {
            throw failure("The file is in place, but its name cannot be written to the disk")
        }
    }

    private static func failure(_ what: String) -> StrataError {
        let code = errno
        return StrataError(
            code == ENOSPC || code == EDQUOT ? .diskFull : .cannotOpen,
            "\(what): \(String(cString: strerror(code)))."
        )
    }
}
