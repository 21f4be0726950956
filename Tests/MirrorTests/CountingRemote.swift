import StrataCloud
import Synchronization

/// A folder remote that counts the downloads from it.
final class CountingRemote: Remote {
    private let remote: FolderRemote
    private let count = Mutex(0)

    init(_ remote: FolderRemote) { self.remote = remote }

    /// The number of downloads so far.
    var downloads: Int { count.withLock { $0 } }

    var name: String { remote.name }
    func capabilities() async throws -> RemoteCapabilities { remote.capabilities() }
    func head(_ key: RemoteKey) async throws -> RemoteObject? { try await remote.head(key) }

    func get(_ key: RemoteKey, range: Range<Int64>?, if condition: RemoteCondition) async throws -> RemoteDownload {
        count.withLock { $0 += 1 }
        return try await remote.get(key, range: range, if: condition)
    }

    func list(_ folder: RemoteKey, isRecursive: Bool, after next: String?) async throws -> RemoteListing {
        try await remote.list(folder, isRecursive: isRecursive, after: next)
    }

    func put(_ body: RemoteBody, at key: RemoteKey, if condition: RemoteCondition) async throws -> RemoteObject {
        try await remote.put(body, at: key, if: condition)
    }

    func createFolder(_ key: RemoteKey) async throws -> Bool { try await remote.createFolder(key) }

    func delete(_ key: RemoteKey, isFolder: Bool, if condition: RemoteCondition) async throws -> Bool {
        try await remote.delete(key, isFolder: isFolder, if: condition)
    }
}
