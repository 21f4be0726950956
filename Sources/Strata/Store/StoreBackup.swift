import CStrataSQLite
import Foundation

/// Copies of a store that are made before a migration.
struct StoreBackup {
    let source: String
    let file: URL
    private let kept: Int

    /// Where the backup of a store goes that was migrated so many times; nil where none is wanted.
    init?(of source: String, migrations: Int64, _ backup: Migration.Backup) {
        let store = URL(fileURLWithPath: source)
        let folder: URL
        switch backup.place {
        case .none: return nil
        case .beside: folder = store.deletingLastPathComponent()
        case .folder(let url): folder = url
        }
        self.source = source
        file = folder.appendingPathComponent("\(store.lastPathComponent)\(Self.mark)\(migrations + 1)")
        kept = backup.kept
    }

    private static let mark = ".before-migration-"

    /// Makes it. What is there under its name is of the same state of the store, and is replaced once the copy is whole.
    ///
    /// - Parameter progress: told how much has been copied, from 0 to 1.
    func make(_ cancellation: Cancellation, _ progress: (Double) -> Void) throws {
        let partial = file.path + ".partial"
        // What a process that was killed has left behind.
        unlink(partial)
        unlink(partial + "-journal")
        do {
            try copy(to: partial, cancellation, progress)
        } catch {
            unlink(partial)
            throw error
        }
        guard rename(partial, file.path) == 0 else {
            let reason = String(cString: strerror(errno))
            unlink(partial)
            throw StrataError(.cannotOpen, "The backup '\(file.path)' cannot be put into place: \(reason).")
        }
    }

    /// By connections of its own: the store's own one is in the middle of the transaction, whose changes do not belong here.
    private func copy(to path: String, _ cancellation: Cancellation, _ progress: (Double) -> Void) throws {
        let from = try Self.open(source, SQLITE_OPEN_READONLY)
        defer { sqlite3_close(from) }
        let to: OpaquePointer
        do {
            to = try Self.open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
        } catch let error as StrataError {
            throw StrataError(
                error.code,
                "The store was not migrated, since no backup of it can be made at '\(path)'. Name another place, or none, by "
                    + "the migration's backup. \(error.message)",
                underlying: error
            )
        }
        defer { sqlite3_close(to) }
        guard let backup = sqlite3_backup_init(to, "main", from, "main") else {
            throw StrataError(sqlite: sqlite3_errcode(to), connection: to)
        }
        var code = SQLITE_OK
        while code == SQLITE_OK, !cancellation.isCancelled {
            code = sqlite3_backup_step(backup, 2000)
            let count = sqlite3_backup_pagecount(backup)
            if count > 0 { progress(1 - Double(sqlite3_backup_remaining(backup)) / Double(count)) }
        }
        sqlite3_backup_finish(backup)
        try cancellation.check()
        guard code == SQLITE_DONE else { throw StrataError(sqlite: code, connection: nil) }
    }

    private static func open(_ path: String, _ flags: Int32) throws -> OpaquePointer {
        var connection: OpaquePointer?
        let code = sqlite3_open_v2(path, &connection, flags, nil)
        guard code == SQLITE_OK, let connection else {
            defer { sqlite3_close(connection) }
            throw StrataError(sqlite: code, connection: connection)
        }
        return connection
    }

    /// Removes all but the newest ones. What cannot be removed stays.
    func prune() {
        let folder = file.deletingLastPathComponent()
        let prefix = URL(fileURLWithPath: source).lastPathComponent + Self.mark
        let numbers = ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).compactMap { name in
            name.hasPrefix(prefix) ? Int64(name.dropFirst(prefix.count)) : nil
        }
        for number in numbers.sorted(by: >).dropFirst(kept) {
            try? FileManager.default.removeItem(at: folder.appendingPathComponent("\(prefix)\(number)"))
        }
    }
}
