import Dispatch
public import Foundation

/// A folder of this machine, or one that it has mounted, as a remote: objects are files, folders are folders.
///
/// - **Writes are whole**: bytes go to a file in a hidden folder of the remote's, `.%strata`, and get their name when all are there.
/// - **Conditions hold** between all processes that use the folder by this type: they check and write under a lock. Absence holds against other
///   programs too, where the file system renames exclusively, as all usual ones do.
/// - **What was acknowledged survives a power failure**, as far as the disk does what it is told: file and folder are flushed before.
/// - **Symbolic links are not there**: they are neither listed nor followed, below the root, so that nothing outside of it is read or written.
///   What stands in the way of a write is `occupied`.
/// - Versions change with every write, and are the same in all processes and after restarts; see ``ETag``. A program that rewrites a file
///   in place, twice within a step of the kernel's clock of some milliseconds and with as many bytes, is noticed once.
///
/// A folder that is gone, since a disk was taken away say, is `unreachable`; it is not made again.
///
/// Isolation: any. Calls of the file system run on threads of their own and keep nobody else waiting.
public final class FolderRemote: Remote {
    public let name: String
    let root: URL
    /// Whether files and folders are flushed to the disk before a write is acknowledged.
    let isDurable: Bool

    /// What no name is escaped to: a `%` with a letter behind it that is no digit.
    static let workName = ".%strata"
    /// How long an upload in parts is kept that nobody goes on with.
    static let uploadLifetime: TimeInterval = 30 * 86400

    private static let queue = DispatchQueue(label: "strata.folder", attributes: .concurrent)

    /// A remote in a folder, which is made where it is not there. What processes that were killed have left half written is removed.
    ///
    /// - Parameter isDurable: false saves flushing to the disk: faster, and a power failure may lose or damage what was just written.
    /// - Throws: ``RemoteError``: `misconfigured` where there is a file, `forbidden` and others of the file system.
    public init(_ root: URL, isDurable: Bool = true) throws {
        self.root = root
        self.isDurable = isDurable
        // The same whether it is there yet or not.
        name =
            URL(filePath: root.standardizedFileURL.path(percentEncoded: false), directoryHint: .isDirectory)
            .absoluteString
        do {
            try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
            try FolderWork(FolderTree(root, name: name)).sweep(
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

    /// Everything but marks, records and a feed.
    public func capabilities() -> RemoteCapabilities {
        RemoteCapabilities(listsRecursively: true, minimumPartSize: 1, isLocal: true)
    }

    /// Carries out calls of the file system where nobody waits for them.
    func run<T: Sendable>(_ key: RemoteKey, _ body: @escaping @Sendable (FolderTree) throws -> T) async throws -> T {
        try Task.checkCancellation()
        let (root, name) = (root, name)
        return try await withCheckedThrowingContinuation { continuation in
            Self.queue.async {
                continuation.resume(
                    with: Result {
                        do {
                            try key.requireNames()
                            return try body(FolderTree(root, name: name))
                        } catch let error as SystemError {
                            throw RemoteError(error, key: key, remote: name)
                        }
                    }
                )
            }
        }
    }
}
