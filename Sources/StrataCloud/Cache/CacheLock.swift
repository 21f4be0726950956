import Foundation

/// A lock on a file, by flock(2). The lock ends with the process that holds it, no matter how the process ends.
struct CacheLock: ~Copyable {
    private let descriptor: Int32

    /// Takes the lock without waiting.
    ///
    /// - Returns: nil if another cache has the lock, or if the file cannot be opened.
    init?(_ file: URL, creating: Bool) {
        let flags = creating ? O_RDWR | O_CREAT | O_CLOEXEC : O_RDWR | O_CLOEXEC
        descriptor = open(file.path, flags, 0o600)
        guard descriptor >= 0 else { return nil }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return nil }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }
}
