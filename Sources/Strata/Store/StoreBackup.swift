import CStrataSQLite
import Foundation

/// Copies of a store that are made before a migration.
struct StoreBackup {
    let source: String
    let file: URL
    private let kept: Int

    /// The backup of a store before its next migration; nil if the migration does not want a backup.
    ///
    /// - Parameter migrations: how often the store was migrated so far. The name of the file contains the next number.
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

    /// Makes the backup. A file of the same name is a backup of the same state, and is replaced when the copy is
    /// complete.
    ///
    /// - Parameter progress: receives the copied fraction, from 0 to 1.
    func make(_ cancellation: Cancellation, _ progress: (Double) -> Void) throws {
        let partial = file.path + ".partial"
        // A killed process may have left these files.
        unlink(partial)
        unlink(partial + "-journal")
        do {
            try copy(to: partial, cancellation, progress)
        } catch let error as StrataError {
            unlink(partial)
            throw Self.failure(of: file.path, error)
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

    /// Copies through separate connections. The store's own connection is inside the migration's transaction, whose
    /// changes do not belong into the backup.
    private func copy(to path: String, _ cancellation: Cancellation, _ progress: (Double) -> Void) throws {
        let from = try Self.connect(source, SQLITE_OPEN_READONLY)
        defer { sqlite3_close(from) }
        Self.makeFile(path, like: source)
        let to = try Self.connect(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
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

    private static func failure(of path: String, _ error: StrataError) -> StrataError {
        StrataError(
            error.code,
            "The store was not migrated, because its backup cannot be written to '\(path)'. In the migration, name "
                + "another place for the backup, or turn the backup off. \(error.message)",
            underlying: error
        )
    }

    /// Makes an empty file with the permissions of the store, so that the backup is not readable for more users than
    /// the store. If that fails, SQLite's own attempt reports the reason.
    private static func makeFile(_ path: String, like source: String) {
        var info = stat()
        guard stat(source, &info) == 0 else { return }
        let descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        fchmod(descriptor, info.st_mode & 0o777)
        close(descriptor)
    }

    private static func connect(_ path: String, _ flags: Int32) throws -> OpaquePointer {
        var connection: OpaquePointer?
        let code = sqlite3_open_v2(path, &connection, flags, nil)
        guard code == SQLITE_OK, let connection else {
            defer { sqlite3_close(connection) }
            throw StrataError(sqlite: code, connection: connection)
        }
        return connection
    }

    /// Removes all backups except the newest ones, by date, because the numbers start lower again after a store is
    /// restored. A backup that cannot be removed stays.
    func prune() {
        let files = FileManager.default
        let folder = file.deletingLastPathComponent()
        let prefix = URL(fileURLWithPath: source).lastPathComponent + Self.mark
        var others: [(date: Date, number: Int64, path: String)] = []
        for name in (try? files.contentsOfDirectory(atPath: folder.path)) ?? []
        where name.hasBytePrefix(prefix) && !name.hasSameBytes(as: file.lastPathComponent) {
            guard let number = Int64(name.droppingFirstBytes(prefix.utf8.count)) else { continue }
            let path = folder.appendingPathComponent(name).path
            let date = (try? files.attributesOfItem(atPath: path))?[.modificationDate] as? Date
            others.append((date ?? .distantPast, number, path))
        }
        for other in others.sorted(by: { ($0.date, $0.number) > ($1.date, $1.number) }).dropFirst(kept - 1) {
            try? files.removeItem(atPath: other.path)
        }
    }
}
