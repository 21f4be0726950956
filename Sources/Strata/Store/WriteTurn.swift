import Foundation

/// Makes the processes that write to one store take turns.
///
/// SQLite does not queue the processes that wait for its write lock: each one tries again after a pause. A process that
/// has just committed begins its next transaction within microseconds, so the others would find the lock free only by
/// luck. A second lock, the *turnstile*, prevents this. A process takes the turnstile before it waits for SQLite's
/// lock, and releases it when its transaction has begun. From then on, its turn lasts for ``length``.
///
/// - During its turn, a process begins transactions without the turnstile, unless another process is writing.
/// - Only the process that holds the turnstile waits for SQLite's lock. So it writes as soon as the current turn has
///   ended.
///
/// The turnstile is a lock by flock(2) on an empty file beside the store. The lock ends with the process, unless a
/// child that it forked without exec still has the file. Processes with different files would not see each other's
/// lock, so Strata does not delete the file.
///
/// Isolation: used inside the database's writer, one access at a time.
final class WriteTurn {
    /// The time for which a process may begin transactions after it has passed the turnstile.
    static let length = Duration.milliseconds(20)

    /// The seconds that the running thread has already waited to begin a transaction. The wait for SQLite's lock is
    /// shorter by this time.
    @TaskLocal static var waited: TimeInterval = 0

    private let limit: Duration
    private let length: Duration
    /// The longest time for the next wait. After a wait that reached the limit, the holder may be a stopped process.
    /// The next waits are then short, until the turnstile is free again.
    private(set) var patience: Duration
    /// The end of this process's turn.
    private var end = ContinuousClock.now
    /// The file beside the store; -1 if it is closed.
    private var descriptor: Int32

    /// Opens the file beside a store, or creates it.
    ///
    /// - Parameters:
    ///   - path: the path of the store, without symbolic links.
    ///   - limit: the longest time to wait for the turnstile. Then the transaction begins without it.
    ///   - length: the length of a turn. Tests set another one.
    /// - Returns: nil if the file cannot be opened. Processes then write without turns.
    init?(beside path: String, limit: Duration, length: Duration = WriteTurn.length) {
        descriptor = Self.file(beside: path)
        (self.limit, self.length, patience) = (limit, length, limit)
        guard descriptor >= 0 else { return nil }
    }

    deinit { stop() }

    /// Opens the file beside a store. A new file gets the store's permissions, as SQLite's own files do. A named pipe
    /// in its place does not block.
    ///
    /// Complexity: one system call if the file exists.
    private static func file(beside store: String) -> Int32 {
        let path = store + "-turn"
        let existing = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard existing < 0, errno == ENOENT else { return existing }
        var info = stat()
        guard stat(store, &info) == 0 else { return -1 }
        let mode = info.st_mode & 0o777
        let created = open(path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NONBLOCK, mode)
        // Another process may have created the file meanwhile.
        guard created >= 0 else { return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
        // Other users of the store must be able to open the file, whatever this process's umask is.
        if geteuid() == 0 { fchown(created, info.st_uid, info.st_gid) }
        fchmod(created, mode)
        return created
    }

    /// Begins a transaction when it is this process's turn. Afterwards the turnstile is free, also after an error.
    ///
    /// Complexity: two system calls at most, unless another process writes.
    ///
    /// - Parameter transaction: begins the transaction. It waits for SQLite's lock if necessary. During a turn it is
    ///   called twice if another process is writing.
    func begin(_ transaction: () throws -> Void) throws {
        guard descriptor >= 0 else { return try transaction() }
        if ContinuousClock.now < end, try beginsAtOnce(transaction) { return }
        let start = ContinuousClock.now
        let isHeld = takeTurnstile()
        defer { if isHeld { flock(descriptor, LOCK_UN) } }
        try Self.$waited.withValue(start.duration(to: .now) / .seconds(1)) { try transaction() }
        end = ContinuousClock.now + length
    }

    /// Begins a transaction without waiting. Returns false if another process is writing.
    private func beginsAtOnce(_ transaction: () throws -> Void) throws -> Bool {
        do {
            try Self.$waited.withValue(.infinity) { try transaction() }
            return true
        } catch let error as StrataError where error.code == .busy {
            return false
        }
    }

    /// Waits for the turnstile. Returns whether this process holds it.
    private func takeTurnstile() -> Bool {
        let start = ContinuousClock.now
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR else {
                // The system may have no memory for the lock now. Other errors last: some file systems do not support
                // these locks.
                if errno != ENOLCK { stop() }
                return false
            }
            guard start.duration(to: .now) < patience else {
                patience = min(limit, length)
                return false
            }
            // Processes with equal pauses could keep trying in the same order.
            usleep(.random(in: 500...1500))
        }
        patience = limit
        return true
    }

    /// Closes the file. From then on, transactions begin without turns.
    func stop() {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }
}
