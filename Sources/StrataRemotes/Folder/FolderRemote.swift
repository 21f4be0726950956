import Dispatch
public import Foundation

/// A folder of this machine, or a mounted folder, as a remote: objects are files, folders are folders.
///
/// - **Writes are atomic**: bytes go to a file in the remote's hidden folder, `.%strata`. The file gets its final name
///   after all bytes are written.
/// - **Conditions hold** between all processes that use the folder through this type, because they check and write
///   under a lock. Absence also holds against other programs if the file system supports exclusive renames, as all
///   usual ones do.
/// - **Acknowledged writes survive a power failure**, if the disk obeys flush commands: the file and the folder are
///   flushed before the acknowledgement.
/// - **Symbolic links are ignored** below the root: they are neither listed nor followed, so that nothing outside of
///   the root is read or written. An entry that blocks a write throws `occupied`.
/// - **Versions change with every write**, and are the same in all processes and after restarts; see ``ETag``. If a
///   program rewrites a file in place twice, with the same size and within one step of the kernel's clock (some
///   milliseconds), only one change is noticed.
///
/// If the folder is missing, for example because a disk was removed, requests throw `unreachable`. The folder is not
/// created again.
///
/// Isolation: any. File system calls run on separate threads and do not block callers.
public final class FolderRemote: Remote {
    public let name: String
    /// The path of the folder.
    let path: String
    /// Whether files and folders are flushed to the disk before a write is acknowledged.
    let isDurable: Bool

    /// The name of the hidden folder.
    ///
    /// No escaped name equals it, because its `%` is followed by a letter that is not a hexadecimal digit.
    static let workName = ".%strata"
    /// The time, in seconds, that an abandoned upload in parts is kept: 30 days.
    static let uploadLifetime: TimeInterval = 30 * 86400
    /// The number of bytes that are read, or written from a stream, in one visit to another thread: 256 KiB.
    static let blockSize = 256 << 10

    private static let queue = DispatchQueue(label: "strata.folder", attributes: .concurrent)

    /// Creates a remote in a folder.
    ///
    /// The folder is created if it does not exist. Partly written files of killed processes are removed.
    ///
    /// - Parameters:
    ///   - root: the folder.
    ///   - isDurable: whether writes are flushed to the disk. False is faster, but a power failure may lose or damage
    ///     recent writes.
    /// - Throws: ``RemoteError`` with `misconfigured` if a file is in place of the folder, `forbidden` and other codes
    ///   of the file system.
    public init(_ root: URL, isDurable: Bool = true) throws {
        path = root.path
        self.isDurable = isDurable
        // The name is the same whether the folder exists or not.
        name =
            URL(filePath: root.standardizedFileURL.path(percentEncoded: false), directoryHint: .isDirectory)
            .absoluteString
        do {
            try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
            try FolderWork(FolderTree(path: path, name: name)).sweep(
                uploadsBefore: Date(timeIntervalSinceNow: -Self.uploadLifetime)
            )
        } catch let error as SystemError {
            throw RemoteError(error, key: nil, remote: name)
        } catch let error as RemoteError {
            throw error
        } catch {
            throw RemoteError(.misconfigured, "'\(root.path)' cannot be used as a folder.", underlying: error)
        }
    }

    /// All capabilities except marks.
    public func capabilities() -> RemoteCapabilities {
        RemoteCapabilities(listsRecursively: true, minimumPartSize: 1, isLocal: true)
    }

    /// Runs file system calls below the root on a separate thread, so that they do not block callers.
    ///
    /// The body runs to its end once it has begun, even if the task is cancelled meanwhile.
    func run<T: Sendable>(_ key: RemoteKey, _ body: @escaping @Sendable (FolderTree) throws -> T) async throws -> T {
        let (path, name) = (path, name)
        return try await perform(key) {
            try key.requireNames()
            return try body(FolderTree(path: path, name: name))
        }
    }

    /// Runs file system calls on a separate thread, for open files, which do not need the root.
    func perform<T: Sendable>(_ key: RemoteKey, _ body: @escaping @Sendable () throws -> T) async throws -> T {
        try Task.checkCancellation()
        let name = name
        return try await withCheckedThrowingContinuation { continuation in
            Self.queue.async {
                continuation.resume(
                    with: Result {
                        do {
                            return try body()
                        } catch let error as SystemError {
                            throw RemoteError(error, key: key, remote: name)
                        }
                    }
                )
            }
        }
    }
}
