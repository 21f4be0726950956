import Foundation

/// A lock on a file that ends with the process that holds it, however that ends: flock(2).
struct CacheLock: ~Copyable {
    private let descriptor: Int32

    /// Takes the lock, without waiting.
    ///
    /// - Returns: nil where somebody has it, or where the file cannot be opened.
    init?(_ file: URL, creating: Bool) {
        let flags = creating ? O_RDWR | O_CREAT | O_CLOEXEC : O_RDWR | O_CLOEXEC
        descriptor = open(file.path, flags, 0o600)
        guard descriptor >= 0 else { return nil }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return nil }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }
}
