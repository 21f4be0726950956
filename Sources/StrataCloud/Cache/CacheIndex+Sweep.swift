import Foundation
import GRDB
import Strata

extension CacheIndex {
    /// Repairs the index and the files after a process was killed: discards the holds of dead caches, and removes
    /// entries without a file and files without an entry.
    mutating func sweep(at now: Date, owner: String) throws {
        try forgetTheDead(but: owner)
        try removeAll(where: "expires <= ?", [now.timeIntervalSinceReferenceDate])
        var known: Set<UTF8Text> = []
        for row in try Row.fetchAll(database, sql: "SELECT id, name, size FROM entry") {
            let name: String = row["name"]
            if folder.size(of: name) == row["size"] as Int64 {
                known.insert(UTF8Text(name))
            } else {
                // The file was never written completely, or is gone, so no cache can hold it.
                try database.execute(sql: "DELETE FROM retain WHERE entry = ?", arguments: [row["id"] as Int64])
                try remove(row["id"])
            }
        }
        folder.delete(try folder.fileNames.filter { !known.contains(UTF8Text($0)) && !garbage.containsBytes(of: $0) })
    }

    /// Discards the holds and temporary files of caches whose processes have ended.
    ///
    /// A lock that can be taken does not have a living owner.
    mutating func forgetTheDead(but owner: String) throws {
        var living: Set = [UTF8Text(owner)]
        for name in try folder.ownerNames where !name.hasSameBytes(as: owner) {
            if let lock = CacheLock(folder.lock(of: name), creating: false) {
                unlink(folder.lock(of: name).path)
                _ = consume lock
            } else {
                living.insert(UTF8Text(name))
            }
        }
        for name in try String.fetchAll(database, sql: "SELECT DISTINCT owner FROM retain")
        where !living.contains(UTF8Text(name)) {
            try releaseAll(by: name)
        }
        for name in try folder.temporaryNames where !living.contains(UTF8Text(name)) {
            try? FileManager.default.removeItem(at: folder.temporary(of: name))
        }
    }
}
