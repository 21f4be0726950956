import Foundation

/// A new folder for a store that lives as long as its stack. The folder is in memory if the system has a folder for
/// that.
///
/// The next process removes the folders of killed processes. A file in the folder is locked while the folder is in use,
/// because a process may see the folder but not its owner. Containers that share their memory are an example.
final class TemporaryFolder: Sendable {
    let url: URL
    private let descriptor: Int32

    init() throws {
        let memory = "/dev/shm"
        let files = FileManager.default
        let base = files.isWritableFile(atPath: memory) ? URL(fileURLWithPath: memory) : files.temporaryDirectory
        Self.sweep(base)
        let name = UUID().uuidString
        url = base.appendingPathComponent("\(Self.prefix)\(getpid())-\(name)")
        // The folder has another name until it is locked, so that another process does not remove it as abandoned.
        let unlocked = base.appendingPathComponent(".\(Self.prefix)\(name)")
        do {
            try files.createDirectory(
                at: unlocked,
                withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700]
            )
            descriptor = open(Self.lock(in: unlocked), O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
            flock(descriptor, LOCK_EX | LOCK_NB)
            try files.moveItem(at: unlocked, to: url)
        } catch {
            try? files.removeItem(at: unlocked)
            throw StrataError(.cannotOpen, "No temporary folder can be made in '\(base.path)'.", underlying: error)
        }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    func remove() { try? FileManager.default.removeItem(at: url) }

    private static let prefix = "strata-"

    private static func lock(in folder: URL) -> String { folder.appendingPathComponent("lock").path }

    /// Removes folders that killed processes have left.
    static func sweep(_ base: URL) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: base.path)) ?? []
        for name in names where name.hasBytePrefix(prefix) {
            let folder = base.appendingPathComponent(name)
            let parts = name.droppingFirstBytes(prefix.utf8.count).split(atBytes: "-", maxSplits: 1)
            // Other programs may put a number into the names of their files, but not a process id and a UUID.
            guard parts.count == 2, let process = pid_t(parts[0]), UUID(uuidString: parts[1]) != nil,
                kill(process, 0) == -1, errno == ESRCH, !isLocked(folder)
            else { continue }
            try? FileManager.default.removeItem(at: folder)
        }
    }

    private static func isLocked(_ folder: URL) -> Bool {
        let descriptor = open(lock(in: folder), O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return flock(descriptor, LOCK_EX | LOCK_NB) != 0
    }
}
