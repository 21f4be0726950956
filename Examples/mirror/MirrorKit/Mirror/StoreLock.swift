import Foundation

/// An exclusive lock on a store for this process. The system releases the lock when the process ends, for whatever
/// reason.
final class StoreLock: Sendable {
    private let descriptor: Int32

    /// - Throws: ``MirrorError`` if another process has the lock.
    init(_ store: URL) throws {
        try Self.make(store.deletingLastPathComponent())
        descriptor = open(store.path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw FolderError("lock", LocalPath(store.path), errno) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw MirrorError("another mirror is using \(store.path)")
        }
    }

    deinit { close(descriptor) }

    /// Creates the store's folder with access only for its owner, because the store contains the names of all files.
    /// The permissions of an existing folder stay as they are.
    private static func make(_ folder: URL) throws {
        guard !FileManager.default.fileExists(atPath: folder.path) else { return }
        try FileManager.default.createDirectory(
            at: folder.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        guard mkdir(folder.path, 0o700) == 0 || errno == EEXIST else {
            throw FolderError("make", LocalPath(folder.path), errno)
        }
    }
}
