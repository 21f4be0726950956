import Foundation

/// That a store is this process's. It goes with the process, however that ends.
final class StoreLock: Sendable {
    private let descriptor: Int32

    /// - Throws: ``MirrorError`` where another process has it.
    init(_ store: URL) throws {
        try Self.make(store.deletingLastPathComponent())
        descriptor = open(store.path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw FolderError("lock", LocalPath(store.path), errno) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw MirrorError("another mirror is at work with \(store.path)")
        }
    }

    deinit { close(descriptor) }

    /// The store has the names of all files in it, so a folder that is made for it is nobody else's. One that is there is as its owner wants it.
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
