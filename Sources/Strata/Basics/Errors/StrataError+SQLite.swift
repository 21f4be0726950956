import CStrataSQLite
import Foundation
import GRDB

extension StrataError {
    /// The error that SQLite reported for a connection.
    init(sqlite code: Int32, connection: OpaquePointer?) {
        let text = connection.flatMap { sqlite3_errmsg($0) } ?? sqlite3_errstr(code)
        let extended = connection.map { sqlite3_extended_errcode($0) } ?? code
        self.init(
            sqlite: extended == 0 ? code : extended,
            text: text.map { String(cString: $0) } ?? "",
            isReadOnly: connection.map { sqlite3_db_readonly($0, "main") == 1 } ?? false
        )
        if let file = connection.flatMap({ sqlite3_db_filename($0, "main") }) { self = naming(String(cString: file)) }
    }

    /// A `StrataError` for an error of GRDB. A `StrataError` stays as it is.
    init(grdb error: any Error) {
        switch error {
        case let error as StrataError: self = error
        case let error as DatabaseError:
            self.init(sqlite: error.extendedResultCode.rawValue, text: error.message ?? "")
            underlying = error
        default: self.init(.database, "The database layer failed: \(error)", underlying: error)
        }
    }

    /// - Parameter isReadOnly: whether the connection was opened to read only.
    private init(sqlite code: Int32, text: String, isReadOnly: Bool = false) {
        let reason = "SQLite says: \(text) (\(code))."
        switch Self.primaryCode(of: code) {
        // SQLITE_PROTOCOL: other processes have taken the locks of the journal again and again.
        case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL:
            self.init(
                .busy,
                "Another process has locked the store. Try again, or end that process's long transaction. \(reason)"
            )
        case SQLITE_FULL where isReadOnly && code & 0xFF == SQLITE_FULL:
            // A connection that reads writes nothing else. The index of the journal has another code.
            self.init(
                .diskFull,
                "The disk of temporary files is full, so that SQLite cannot sort the results of a query. Free some space "
                    + "there (SQLITE_TMPDIR, or else TMPDIR, names the folder), and run the query again. \(reason)"
            )
        case SQLITE_FULL:
            self.init(
                .diskFull,
                "The disk is full; nothing was written. Free some space and \(Self.nextStep). \(reason)"
            )
        case SQLITE_TOOBIG:
            self.init(
                .database,
                "A value or row exceeds SQLite's size limit. Keep such large data in a file. \(reason)"
            )
        case SQLITE_CORRUPT:
            self.init(.damagedStore, "The file is damaged. Restore a backup of it. \(reason)")
        case SQLITE_NOTADB:
            // Opening has found the header of a store in the file.
            self.init(.damagedStore, "The header of the file is damaged. Restore a backup of the file. \(reason)")
        // SQLITE_READONLY_ROLLBACK
        case SQLITE_READONLY where code == SQLITE_READONLY | (3 << 8): self = Self.unfinishedTransaction
        case SQLITE_READONLY:
            self.init(
                .readOnly,
                "The store cannot be written. Check the permissions of the file and its folder. \(reason)"
            )
        case SQLITE_CANTOPEN where Self.areDescriptorsUsedUp:
            self.init(
                .cannotOpen,
                "This process has reached its limit of open files. Each block that reads uses one connection, which "
                    + "opens two files: run fewer blocks at a time, or raise the limit (ulimit -n). \(reason)"
            )
        case SQLITE_CANTOPEN:
            self.init(.cannotOpen, "The file cannot be opened. Check the path and the permissions. \(reason)")
        case SQLITE_IOERR:
            self.init(.database, "Reading or writing the file failed. Check the disk. \(reason)")
        default:
            if let limit = Self.limits.first(where: { text.contains($0.text) }) {
                self.init(.invalidQuery, "\(limit.advice) \(reason)")
            } else {
                self.init(.database, reason)
            }
        }
        resultCode = code
    }

    /// SQLite's code without the details that do not change what a person must do.
    private static func primaryCode(of code: Int32) -> Int32 {
        // Swift does not see the macros of the extended codes.
        switch code {
        // SQLITE_IOERR_SHMSIZE: the index of the journal could not grow. A full disk is the only reason.
        case SQLITE_IOERR | (19 << 8): SQLITE_FULL
        // SQLITE_IOERR_SHORT_READ, _DATA and _CORRUPTFS: the file has ended too early, a checksum is wrong, or the file
        // system is damaged.
        case SQLITE_IOERR | (2 << 8), SQLITE_IOERR | (32 << 8), SQLITE_IOERR | (33 << 8): SQLITE_CORRUPT
        default: code & 0xFF
        }
    }

    /// The same error, if it is an error of a statement that writes nothing, not even temporary files.
    ///
    /// SQLite reports a full disk if it is asked for a page beyond the greatest possible size of a file, also for
    /// reading. Its tables check the numbers of pages before. Its module `dbstat` does not, so a damaged page makes it
    /// report a full disk.
    var ofPureReading: StrataError {
        guard let resultCode, resultCode & 0xFF == SQLITE_FULL else { return self }
        var error = StrataError(
            .damagedStore,
            "The file is damaged: a page refers to a page that cannot exist. Restore a backup of the file.",
            underlying: underlying
        )
        error.resultCode = SQLITE_CORRUPT
        return error
    }

    /// A file that is only read has a transaction whose process has ended.
    static var unfinishedTransaction: StrataError {
        StrataError(
            .cannotOpen,
            "A process has ended in the middle of a transaction. Taking it back changes the file: open it once for "
                + "writing, without `isReadOnly`."
        )
        .because(.unfinishedTransaction)
    }

    /// The advice for a full disk once space is available.
    private static let nextStep = "save again"

    /// The same error, with the file's name and advice for a failure to open the store.
    func whileOpening(_ file: String?) -> StrataError {
        let error = naming(file)
        guard code == .diskFull else { return error }
        return error.saying(message.replacing(Self.nextStep, with: "open the store again"))
    }

    /// The same error, with the name of the backup that was not made.
    func whileBackingUp(to file: String) -> StrataError {
        let error = located("The backup '\(file)' was not made")
        guard code == .diskFull else { return error }
        return error.saying(error.message.replacing(Self.nextStep, with: "make the backup again"))
    }

    /// The same error, with the name of the file if the error concerns the file.
    func naming(_ file: String?) -> StrataError {
        let isOfFile = [.damagedStore, .notAStore, .readOnly, .cannotOpen].contains(code)
        guard let file, isOfFile, !file.isEmpty, !message.contains(file) else { return self }
        return located("'\(file)'")
    }

    /// The same error, with a message that begins with the place of the failure.
    func located(_ place: String) -> StrataError { saying("\(place): \(message)") }

    private func saying(_ message: String) -> StrataError {
        var error = StrataError(code, message, details: details, underlying: underlying, file: file, line: line)
        (error.resultCode, error.reason) = (resultCode, reason)
        return error
    }

    /// Whether SQLite refused a violation of a table constraint.
    var isOfConstraint: Bool { resultCode.map { $0 & 0xFF == SQLITE_CONSTRAINT } ?? false }

    /// Whether the store could not be read or written at that moment, regardless of the request. The same request may
    /// succeed later.
    package var isAccessFailure: Bool {
        if code == .unreachable { return true }
        let codes = [
            SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL, SQLITE_FULL, SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_READONLY,
        ]
        return code != .damagedStore && (resultCode.map { codes.contains($0 & 0xFF) } ?? false)
    }

    /// Whether this process cannot open further files.
    private static var areDescriptorsUsedUp: Bool {
        let descriptor = open("/dev/null", O_RDONLY)
        guard descriptor >= 0 else { return errno == EMFILE || errno == ENFILE }
        close(descriptor)
        return false
    }

    /// SQLite's messages for statements beyond its limits, and the advice for each. See
    /// https://www.sqlite.org/limits.html
    private static let limits: [(text: String, advice: String)] = [
        (
            "parser stack overflow",
            "The query is nested too deeply for SQLite: relationships in a predicate (any, all, none, count) may be nested about eight "
                + "levels deep, and less deep with || between them. Fetch the ids of the inner objects first, and compare with in(_:)."
        ),
        (
            "Expression tree is too large",
            "The query is too large for SQLite: expressions may be 1,000 levels deep. Write fewer conditions, or compare with in(_:)."
        ),
        (
            "tables in a join",
            "The query follows too many to-one relationships for SQLite, which joins at most 64 tables. Use several "
                + "queries."
        ),
    ]
}
