import Foundation

/// Admits one process at a time to the opening of a working copy, from the first look at the file to the open store.
///
/// Without the lock, two processes that start at the same moment could both rename the file, and the second one would
/// rename the new copy of the first. SQLite's exclusive mode is not enough: it concerns a file and not its name, and two
/// connections that wait for it keep each other out.
///
/// It is a lock by flock(2) on an empty file beside the copy, and ends with the process. Processes with different files
/// would not see each other's lock, so Strata does not delete the file.
///
/// Isolation: used by one thread.
final class CopyLock {
    /// The file beside the copy; -1 if it is closed.
    private var descriptor: Int32

    private init(beside path: String) {
        descriptor = open(path + "-lock", O_RDONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o644)
    }

    deinit { end() }

    /// Waits for the lock. If the file system does not support such locks, the copy is opened without one.
    ///
    /// - Parameters:
    ///   - path: the path of the copy.
    ///   - limit: the seconds to wait.
    ///   - cancellation: ends the wait.
    /// - Throws: `busy` if other processes have had the lock for the whole time; `CancellationError`.
    static func take(for path: String, within limit: TimeInterval, _ cancellation: Cancellation) throws -> CopyLock {
        let lock = CopyLock(beside: path)
        let end = ContinuousClock.now + .seconds(min(max(limit, 0), 1e9))
        while flock(lock.descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK || errno == EINTR {
            guard ContinuousClock.now < end else {
                throw StrataError(
                    .busy,
                    "Other processes have been opening the working copy '\(path)' for \(limit) seconds. Try again when "
                        + "they have opened it."
                )
            }
            try cancellation.check()
            usleep(10_000)
        }
        return lock
    }

    /// Frees the lock.
    func end() {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }
}
