import Foundation
import GRDB
import StrataTesting

@testable import StrataCloud

/// A folder for caches, which is deleted when this object is released.
final class CacheFixture: Sendable {
    let folder: URL
    let clock = VirtualClock()

    init() { folder = FileManager.default.temporaryDirectory.appending(path: "cache-\(UUID().uuidString)") }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func open(limit: Int64 = DiskCache.defaultLimit) async throws -> DiskCache {
        try await DiskCache.open(folder, limit: limit, clock: clock)
    }

    static func key(_ node: Int64, account: String = "alice", sections: ContentSections = .data) -> CacheKey {
        CacheKey(account: account, node: node, sections: sections)
    }

    /// The names of the files on disk, with or without an entry in the index.
    var files: Set<String> {
        Set((try? FileManager.default.contentsOfDirectory(atPath: folder.appending(path: "files").path)) ?? [])
    }
}

extension DiskCache {
    /// Adopts a new file of `size` bytes.
    func add(
        _ node: Int64,
        size: Int = 10,
        eTag: String = "1",
        retention: CacheRetention = .evictable,
        expires: Date? = nil
    ) async throws -> DownloadedFile {
        let place = try temporaryPlace()
        try Data(repeating: UInt8(truncatingIfNeeded: node), count: size).write(to: place)
        return try await adopt(
            place,
            as: CacheFixture.key(node),
            eTag: ETag(eTag),
            retention: retention,
            expires: expires
        )
    }

    /// Adopts a new file and releases it at once.
    func put(
        _ node: Int64,
        size: Int = 10,
        eTag: String = "1",
        retention: CacheRetention = .evictable,
        expires: Date? = nil
    ) async throws {
        try await add(node, size: size, eTag: eTag, retention: retention, expires: expires).release()
        try await settle()
    }

    /// Leaves the cache as a killed process does: no one holds its lock, and nothing is cleaned up.
    func abandon() { _ = lock.withLock { $0.lock.take() } }

    /// Waits until all releases so far have taken effect.
    func settle() async throws { _ = try await usage() }

    /// The nodes that the index can find. The query does not count as a use.
    func nodes() async throws -> [Int64] {
        try await transaction { index in
            try Int64.fetchAll(index.database, sql: "SELECT node FROM entry WHERE isRemoved = 0 ORDER BY node")
        }
    }

    /// The inconsistencies between the index and the files. The result is empty if there are none.
    func faults() async throws -> [String] {
        try await transaction { index in
            var faults: [String] = []
            var names: Set<String> = []
            for row in try Row.fetchAll(index.database, sql: "SELECT name, size FROM entry") {
                names.insert(row["name"])
                if index.folder.size(of: row["name"]) != row["size"] as Int64 { faults.append("no file: \(row)") }
            }
            for name in try index.folder.fileNames where !names.contains(name) { faults.append("no entry: \(name)") }
            let lost = try Int.fetchOne(
                index.database,
                sql:
                    "SELECT count(*) FROM entry WHERE isRemoved = 1 AND NOT EXISTS (SELECT 1 FROM retain WHERE entry = entry.id)"
            )
            if lost != 0 { faults.append("\(lost ?? -1) entries that nobody holds or finds") }
            let nothing = try Int.fetchOne(
                index.database,
                sql: "SELECT count(*) FROM retain WHERE entry NOT IN (SELECT id FROM entry)"
            )
            if nothing != 0 { faults.append("\(nothing ?? -1) times nothing is held") }
            return faults
        }
    }
}
