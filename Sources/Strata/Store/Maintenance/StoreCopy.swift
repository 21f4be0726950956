import CStrataSQLite
import Foundation

/// A consistent copy of a store, made in portions while other connections read and write.
///
/// The connection that is copied stays in one read transaction from the first portion to the last. Commits of other
/// connections are then invisible to it. Otherwise SQLite would begin the copy again after each commit of another
/// connection. See "sqlite3_backup_step()" in https://www.sqlite.org/c3ref/backup_finish.html
///
/// The pages go into a ``TemporaryCopy``, which gets the destination's name when it is complete and on the disk.
struct StoreCopy: Sendable {
    let destination: URL
    /// Whether an existing file at the destination is replaced.
    let isReplacing: Bool
    /// The statements of engines that free the copy from the processes that work on the original.
    let statements: [String]
    let cancellation: Cancellation
    let progress: (@Sendable (StoreProgress) -> Void)?
    /// Changes the copy before it gets its name, in a transaction. By default, the copy becomes a separate store.
    var finish: @Sendable (Connection) throws -> Void = { _ = try StoreIdentity.read(on: $0, ifCopied: .record) }

    /// The number of pages in a portion. Cancellation and progress take effect between portions.
    private static let pagesAtOnce: Int32 = 500

    /// Copies the snapshot of a connection, whose read transaction has begun.
    func make(from source: Connection) throws {
        do {
            try checkDestination(of: source)
            TemporaryCopy.removeDead(for: destination.path)
            let file = try TemporaryCopy(for: destination.path, like: source.path)
            do {
                try copy(source, to: file.path)
                try cancellation.check()
                // A stack may have opened the destination meanwhile.
                try checkDestination(of: source)
                try file.put(replacing: isReplacing)
            } catch {
                file.discard()
                throw error
            }
        } catch let error as StrataError {
            throw error.whileBackingUp(to: destination.path)
        }
    }

    private func copy(_ source: Connection, to path: String) throws {
        let pointer = try Self.connect(path)
        defer { sqlite3_close(pointer) }
        let target = Connection(pointer, fingerprint: 0)
        defer { target.finalize() }
        // A damaged temporary file is discarded, so it needs neither a journal nor flushes.
        try target.execute("PRAGMA journal_mode = OFF")
        try target.execute("PRAGMA synchronous = OFF")
        try copyPages(from: source.pointer, to: pointer)
        // The first page says that the file is in WAL mode. Outside of this mode, the copy is one file that can be read
        // alone.
        guard try target.value("PRAGMA journal_mode = DELETE") == .text("delete") else {
            throw StrataError(.database, "SQLite has not ended the WAL mode of the copy.")
        }
        try target.execute("PRAGMA journal_mode = MEMORY")
        try target.execute("BEGIN IMMEDIATE")
        try finish(target)
        for statement in statements { try target.execute(statement) }
        try target.execute("COMMIT")
    }

    private func copyPages(from source: OpaquePointer, to target: OpaquePointer) throws {
        guard let backup = sqlite3_backup_init(target, "main", source, "main") else {
            throw StrataError(sqlite: sqlite3_errcode(target), connection: target)
        }
        var code = SQLITE_OK
        while code == SQLITE_OK, !cancellation.isCancelled {
            code = sqlite3_backup_step(backup, Self.pagesAtOnce)
            guard code == SQLITE_OK || code == SQLITE_DONE else { break }
            let (total, rest) = (Int(sqlite3_backup_pagecount(backup)), Int(sqlite3_backup_remaining(backup)))
            progress?(StoreProgress(completedPages: total - rest, totalPages: total))
        }
        sqlite3_backup_finish(backup)
        try cancellation.check()
        guard code == SQLITE_DONE else { throw StrataError(sqlite: code, connection: nil) }
    }

    /// Opens a database for writing. The caller closes it.
    static func connect(_ path: String) throws -> OpaquePointer {
        var connection: OpaquePointer?
        let code = sqlite3_open_v2(path, &connection, SQLITE_OPEN_READWRITE, nil)
        guard code == SQLITE_OK, let connection else {
            defer { sqlite3_close(connection) }
            throw StrataError(sqlite: code, connection: connection)
        }
        return connection
    }

    // MARK: The destination

    private func checkDestination(of source: Connection) throws {
        guard destination.isFileURL else { throw Self.refused("The URL is not a file URL. Name a file.") }
        let path = destination.path
        if let store = source.path, Self.isBeside(store, path) {
            throw Self.refused("The store itself uses this file. Name another place.")
        }
        // SQLite would apply such a journal to the copy.
        for suffix in ["-wal", "-journal"] where TemporaryCopy.status(path + suffix) != nil {
            throw Self.refused(
                "'\(path)\(suffix)' exists, so a database there is open or was not closed. Name another place."
            )
        }
        guard let info = TemporaryCopy.status(path) else { return }
        var original = stat()
        if let store = source.path, stat(store, &original) == 0, original.st_dev == info.st_dev,
            original.st_ino == info.st_ino
        {
            throw Self.refused("This is the store itself. Name another place.")
        }
        guard isReplacing else {
            throw Self.refused("The file exists. Name another place, or pass `replacing: true`.").because(.fileExists)
        }
        guard info.st_mode & S_IFMT == S_IFREG else { throw Self.refused("This is not a file. Name another place.") }
    }

    /// Whether a path is that of a file beside the store that SQLite or Strata uses, or may create later.
    ///
    /// - Parameter store: the path of the store, without symbolic links.
    static func isBeside(_ store: String, _ path: String) -> Bool {
        let url = URL(fileURLWithPath: path)
        let folder = url.deletingLastPathComponent().resolvingSymlinksInPath()
        let real = folder.appendingPathComponent(url.lastPathComponent).path
        return ["-wal", "-shm", "-journal", "-turn"].contains { real.hasSameBytes(as: store + $0) }
    }

    private static func refused(_ reason: String) -> StrataError { StrataError(.cannotOpen, reason) }
}

extension Store {
    /// Makes a copy of the newest committed state.
    func make(_ copy: StoreCopy) throws {
        let reader = try borrowReader()
        defer { giveBack(reader) }
        do {
            try reader.beginStreaming()
            _ = try reader.begin()
            try copy.make(from: reader.connection)
        } catch let error as PassedError {
            throw error.error
        } catch {
            throw StrataError(grdb: error)
        }
    }
}
