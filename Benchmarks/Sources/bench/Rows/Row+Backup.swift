import Foundation
import GRDBSQLite

extension Row {
    /// A copy of a store in use.
    ///
    /// Equal: all pages are copied by SQLite's backup functions from a snapshot, and are on the disk at the end. Strata
    /// also gives the copy a fingerprint and a name, and copies in portions, so that other reads are not kept waiting.
    static func backup(_ sizes: Sizes) -> Row {
        Row(
            work: .backup,
            name: "backup of a store of \(sizes.stored) rows",
            unit: .milliseconds,
            target: nil
        ) { round in
            let database = try EntryTable.makeAndReopen(round, count: round.sizes.stored)
            let copy = round.folder.appending(path: "copy.sqlite")
            let watch = Stopwatch()
            try database.copy(to: copy)
            let seconds = watch.seconds
            return Sample(cost: seconds, check: Checksum(try EntryTable.fetch(Database(copy), count: 0)))
        }
    }
}

extension Database {
    /// Copies the whole database to a new file, and waits until it is on the disk.
    fileprivate func copy(to file: URL) throws {
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(file.path, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nil)
        defer { sqlite3_close_v2(opened) }
        guard code == SQLITE_OK, let backup = sqlite3_backup_init(opened, "main", pointer, "main") else {
            throw BenchError("cannot copy to \(file.lastPathComponent)")
        }
        let end = sqlite3_backup_step(backup, -1)
        guard sqlite3_backup_finish(backup) == SQLITE_OK, end == SQLITE_DONE else {
            throw BenchError("the copy is not complete")
        }
    }
}
