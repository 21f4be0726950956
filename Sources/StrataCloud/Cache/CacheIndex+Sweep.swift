import Foundation
import GRDB

extension CacheIndex {
    /// Forgets caches that are no more, and brings index and files together: what a process that was killed has left.
    mutating func sweep(at now: Date, owner: String) throws {
        try forgetTheDead(but: owner)
        try removeAll(where: "expires <= ?", [now.timeIntervalSinceReferenceDate])
        var known: Set<String> = []
        for row in try Row.fetchAll(database, sql: "SELECT id, name, size FROM entry") {
            let name: String = row["name"]
            if folder.size(of: name) == row["size"] as Int64 {
                known.insert(name)
            } else {
                // Never written to the end, or gone: there is nothing that anybody could hold.
                try database.execute(sql: "DELETE FROM retain WHERE entry = ?", arguments: [row["id"] as Int64])
                try remove(row["id"])
            }
        }
        folder.delete(try folder.fileNames.filter { !known.contains($0) && !garbage.contains($0) })
    }

    /// Forgets what the caches hold whose processes are gone. A lock that can be had is nobody's any more.
    mutating func forgetTheDead(but owner: String) throws {
        var living: Set<String> = [owner]
        for name in try folder.ownerNames where name != owner {
            if let lock = CacheLock(folder.lock(of: name), creating: false) {
                unlink(folder.lock(of: name).path)
                _ = consume lock
            } else {
                living.insert(name)
            }
        }
        for name in try String.fetchAll(database, sql: "SELECT DISTINCT owner FROM retain") where !living.contains(name)
        {
            try releaseAll(by: name)
        }
        for name in try folder.temporaryNames where !living.contains(name) {
            try? FileManager.default.removeItem(at: folder.temporary(of: name))
        }
    }
}
