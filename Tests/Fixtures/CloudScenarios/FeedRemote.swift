import Foundation
import StrataCloud

/// A folder remote with a change feed. A cursor contains the whole listing, so the remote does not store anything else.
struct FeedRemote: Remote {
    private let folder: FolderRemote

    init(_ folder: FolderRemote) { self.folder = folder }

    var name: String { folder.name }

    func capabilities() -> RemoteCapabilities {
        RemoteCapabilities(copies: false, moves: false, hasChangeFeed: true, isLocal: true)
    }

    /// The number of changes in one page.
    private static let portion = 100
    /// The version of folders.
    private static let isFolder = "/"

    func changes(since cursor: String?) async throws -> RemoteChanges {
        var known = try cursor.map { try JSONDecoder().decode([String: String].self, from: Data($0.utf8)) } ?? [:]
        var there: [String: RemoteObject] = [:]
        for object in try await folder.list(.root, isRecursive: true, after: nil).objects {
            there[object.key.path] = object
        }
        var page = RemoteChanges(changed: [], removed: [], cursor: "")
        for path in Set(known.keys).union(there.keys).sorted() {
            let (object, before) = (there[path], known[path])
            let now = object.map { $0.isFolder ? Self.isFolder : $0.eTag?.header ?? "" }
            guard now != before else { continue }
            if page.changed.count + page.removed.count == Self.portion {
                page.hasMore = true
                break
            }
            known[path] = now
            if let object {
                page.changed.append(object)
            } else if let key = RemoteKey(found: path.split(separator: "/").map(String.init)) {
                page.removed.append(key)
            }
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        page.cursor = String(decoding: try encoder.encode(known), as: UTF8.self)
        return page
    }

    // MARK: Forwarded to the folder

    func head(_ key: RemoteKey) async throws -> RemoteObject? { try await folder.head(key) }

    func get(_ key: RemoteKey, range: Range<Int64>?, if condition: RemoteCondition) async throws -> RemoteDownload {
        try await folder.get(key, range: range, if: condition)
    }

    func list(_ key: RemoteKey, isRecursive: Bool, after next: String?) async throws -> RemoteListing {
        try await folder.list(key, isRecursive: isRecursive, after: next)
    }

    func put(_ body: RemoteBody, at key: RemoteKey, if condition: RemoteCondition) async throws -> RemoteObject {
        try await folder.put(body, at: key, if: condition)
    }

    func createFolder(_ key: RemoteKey) async throws -> Bool { try await folder.createFolder(key) }

    func delete(_ key: RemoteKey, isFolder: Bool, if condition: RemoteCondition) async throws -> Bool {
        try await folder.delete(key, isFolder: isFolder, if: condition)
    }
}
