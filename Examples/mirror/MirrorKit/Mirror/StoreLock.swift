import Foundation

/// That a store is this process's. It goes with the process, however that ends.
final class StoreLock: Sendable {
    private let descriptor: Int32

    /// - Throws: ``MirrorError`` where another process has it.
    init(_ store: URL) throws {
        let folder = store.deletingLastPathComponent()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        descriptor = open(store.path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw FolderError("lock", store.path, errno) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw MirrorError("another mirror is at work with \(store.path)")
        }
    }

    deinit { close(descriptor) }
}
