import CStrataSQLite
import Foundation

/// Checks of a file before SQLite opens it as a store. Opening may change a file; these checks do not.
enum StoreFile {
    /// `Stra` in ASCII, in the header field that SQLite reserves for the id of an application.
    static let applicationID: Int64 = 0x5374_7261
    /// The version of Strata's own tables.
    static let formatVersion: Int64 = 2

    /// Checks the file at a URL. Returns whether the file must still be created.
    ///
    /// - Throws: ``StrataError`` if the path leads to something that is not a store. It must stay unchanged.
    static func inspect(_ url: URL) throws -> Bool {
        let path = try path(of: url)
        var info = stat()
        guard stat(path, &info) == 0 else {
            let (code, reason) = (errno, String(cString: strerror(errno)))
            let folder = url.deletingLastPathComponent().path
            var isFolder: ObjCBool = false
            guard code == ENOENT else { throw StrataError(.cannotOpen, "'\(path)' cannot be opened: \(reason).") }
            guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else {
                throw StrataError(
                    .cannotOpen,
                    "The folder '\(folder)' does not exist. Create it, or name another place."
                )
            }
            try requireWritable(folder, of: path)
            return true
        }
        let header = try checkedHeader(of: path, info)
        try requireWritable(path, of: path)
        // The journal is beside the file itself, not beside a symbolic link to it.
        try requireWritable(folder(ofReal: try realPath(of: path)), of: path)
        return header.isEmpty
    }

    /// The way to open a file that is only read.
    enum ReadingMode {
        /// Together with the files beside it. If the index of the journal is missing, SQLite builds it.
        case shared
        /// Without a journal, because no process can change the file.
        case unchangeable
        /// With an empty journal and its index, which SQLite creates and removes when the connection is closed.
        case temporaryJournal
    }

    /// Checks the file at a URL, which is opened to be read only.
    ///
    /// SQLite cannot read a file in WAL mode without the journal and its index, and would create them. They exist while
    /// a process has the store open for writing.
    ///
    /// - Parameter mayCreateJournal: whether missing files may be created.
    /// - Throws: ``StrataError`` if the file is not a store, or cannot be read without creating other files.
    static func inspectForReading(_ url: URL, mayCreateJournal: Bool = false) throws -> ReadingMode {
        let path = try path(of: url)
        var info = stat()
        guard stat(path, &info) == 0 else {
            let reason = String(cString: strerror(errno))
            throw StrataError(
                .cannotOpen,
                "'\(path)' cannot be opened: \(reason). A read-only stack does not create a store: name an existing "
                    + "file, or open it without `isReadOnly` first."
            )
        }
        let header = try checkedHeader(of: path, info)
        guard !header.isEmpty else {
            let error = StrataError(
                .notAStore,
                "'\(path)' is empty, and was left as it is. Open it without `isReadOnly` first, which creates the store."
            )
            throw info.st_size == 0 ? error : error.because(.unfinishedTransaction)
        }
        // Without WAL mode, SQLite reads the file alone. See "File format version numbers" in
        // https://www.sqlite.org/fileformat2.html
        guard header[19] == 2 else { return .shared }
        let real = try realPath(of: path)
        // The header may be that of a change to WAL mode that has not ended.
        guard UnfinishedTransaction(on: real) == nil else { throw StrataError.unfinishedTransaction }
        let (hasJournal, hasIndex) = (access(real + "-wal", F_OK) == 0, access(real + "-shm", F_OK) == 0)
        if hasJournal, hasIndex { return .shared }
        if !hasJournal, info.st_mode & 0o222 == 0 { return .unchangeable }
        if mayCreateJournal, access(folder(ofReal: real), W_OK) == 0 {
            // The files were copied without the index, or their process has ended. Only a connection that cannot write
            // keeps the journal: the last one that can write moves the commits into the file when it closes.
            if hasJournal { return .shared }
            // An index without a journal was left by a process that has ended. SQLite builds it again.
            if access(real, W_OK) == 0 { return .temporaryJournal }
        }
        let advice =
            hasJournal
            ? "Open it without `isReadOnly` once, which moves the commits of '-wal' into it"
            : "Open it while another process has it open for writing. If it is a backup that does not change any more, "
                + "take away all write permissions from the file (chmod a-w)"
        throw StrataError(
            .cannotOpen,
            "'\(path)' cannot be read without creating '\(hasJournal ? "-shm" : "-wal")' beside it, and was left as it "
                + "is. \(advice)."
        )
        .because(hasJournal ? .missingJournalIndex : .missingJournal)
    }

    private static func path(of url: URL) throws -> String {
        guard url.isFileURL else {
            throw StrataError(.cannotOpen, "'\(url)' is not a file URL. Name a file: .sqlite(path: …).")
        }
        return url.path
    }

    /// The header of a file that may be a store; empty if the file is empty, or SQLite will empty it.
    private static func checkedHeader(of path: String, _ info: stat) throws -> Data {
        guard info.st_mode & S_IFMT != S_IFDIR else {
            throw StrataError(.cannotOpen, "'\(path)' is a folder. Name a file in it.")
        }
        // Reading a pipe waits for a writer, perhaps forever.
        guard info.st_mode & S_IFMT == S_IFREG else {
            throw StrataError(.cannotOpen, "'\(path)' is a pipe or a device. Name a file.")
        }
        let header = try header(of: path, size: Int64(info.st_size))
        let unfinished = header.isEmpty ? nil : UnfinishedTransaction(on: try realPath(of: path))
        guard let unfinished, unfinished.pagesBefore == 0 else {
            try inspect(header: header, path: path)
            return header
        }
        // SQLite will empty the file. The first transaction of a store writes one page. After a loss of power, the file
        // may have its size and none of its bytes.
        if info.st_size <= unfinished.pageSize, header.allSatisfy({ $0 == 0 }) { return Data() }
        try inspect(header: header, path: path)
        guard info.st_size <= unfinished.pageSize, header[18] == 1 else {
            throw StrataError(
                .cannotOpen,
                "'\(path)' is a store, and '-journal' beside it says that the file was empty. SQLite would empty it again, "
                    + "so it was left as it is. If the store was copied to this place, remove the file '-journal'."
            )
        }
        return Data()
    }

    /// A transaction that has not ended, because its process was killed, the power failed, or it still runs. SQLite takes
    /// the transaction of an ended process back before the first read.
    ///
    /// In WAL mode, transactions do not have such a journal. SQLite removes the journal or overwrites its beginning
    /// when the transaction ends. See "The Rollback Journal" in https://www.sqlite.org/fileformat2.html
    private struct UnfinishedTransaction {
        /// The number of pages that the file had before.
        let pagesBefore: Int64
        /// The size of pages in bytes.
        let pageSize: Int64

        /// Reads the journal beside a file; nil without such a transaction.
        init?(on path: String) {
            let journal = path + "-journal"
            var info = stat()
            // SQLite ignores shorter journals. Opening a pipe waits for a writer, perhaps forever.
            guard stat(journal, &info) == 0, info.st_mode & S_IFMT == S_IFREG, info.st_size >= 512,
                let file = FileHandle(forReadingAtPath: journal)
            else { return nil }
            defer { try? file.close() }
            guard let header = try? file.read(upToCount: 28), header.count == 28 else { return nil }
            let magic: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]
            let sectorSize = StoreFile.number(at: 20, in: header)
            let pageSize = StoreFile.number(at: 24, in: header)
            guard header.starts(with: magic), (32...65_536).contains(sectorSize), sectorSize & (sectorSize - 1) == 0,
                (512...65_536).contains(pageSize), pageSize & (pageSize - 1) == 0
            else { return nil }
            pagesBefore = StoreFile.number(at: 16, in: header)
            self.pageSize = pageSize
        }
    }

    /// The four bytes at an offset, as a number with the most significant byte first.
    private static func number(at offset: Int, in header: Data) -> Int64 {
        header[offset..<(offset + 4)].reduce(0) { $0 << 8 | Int64($1) }
    }

    /// The path without symbolic links.
    private static func realPath(of path: String) throws -> String {
        guard let real = realpath(path, nil) else {
            throw StrataError(.cannotOpen, "'\(path)' cannot be opened: \(String(cString: strerror(errno))).")
        }
        defer { free(real) }
        return String(cString: real)
    }

    private static func folder(ofReal path: String) -> String {
        path.splitAtLast("/").map { $0.before.isEmpty ? "/" : $0.before } ?? "."
    }

    /// The first hundred bytes of a file, read through SQLite; none if the file is empty.
    ///
    /// If this process opened the file itself and closed it, the system would drop all locks that the process has on
    /// the file. Other processes could then remove the journal while another stack of this process uses it. See "POSIX
    /// Advisory Locks" in https://www.sqlite.org/howtocorrupt.html
    ///
    /// - Parameter size: the size that the system has reported.
    private static func header(of path: String, size reported: Int64) throws -> Data {
        var connection: OpaquePointer?
        let code = sqlite3_open_v2(path, &connection, SQLITE_OPEN_READONLY, nil)
        // SQLite itself has read nothing and taken no lock, so closing changes nothing.
        defer { sqlite3_close(connection) }
        guard code == SQLITE_OK else { throw StrataError(sqlite: code, connection: connection) }
        var file: UnsafeMutablePointer<sqlite3_file>?
        let result = sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &file)
        guard result == SQLITE_OK, let file, let methods = file.pointee.pMethods else {
            throw StrataError(sqlite: result, connection: connection)
        }
        var size: Int64 = 0
        let sizing = methods.pointee.xFileSize(file, &size)
        guard sizing == SQLITE_OK else { throw StrataError(sqlite: sizing, connection: nil) }
        var bytes = [UInt8](repeating: 0, count: 100)
        // SQLite takes a file of one byte for an empty one.
        let count = Int(min(max(size, min(reported, 1)), 100))
        if count > 0 {
            let result = methods.pointee.xRead(file, &bytes, Int32(count), 0)
            // SQLITE_IOERR_SHORT_READ: another process has emptied the file meanwhile.
            guard result != SQLITE_IOERR | (2 << 8) else {
                throw StrataError(.busy, "'\(path)' was emptied while it was opened. Open it again.")
            }
            guard result == SQLITE_OK else { throw StrataError(sqlite: result, connection: nil) }
        }
        return Data(bytes.prefix(count))
    }

    private static func requireWritable(_ place: String, of path: String) throws {
        guard access(place, W_OK) == 0 else {
            let reason = String(cString: strerror(errno))
            let cause = place == path ? "" : ", since its folder '\(place)' cannot"
            throw StrataError(
                .readOnly,
                "'\(path)' cannot be written\(cause): \(reason). A store writes its file and, beside it, "
                    + "a journal. Check the permissions of the file and its folder."
            )
        }
    }

    /// Checks the header of a file.
    ///
    /// - Parameter header: the first hundred bytes. See "The Database Header" in
    ///   https://www.sqlite.org/fileformat2.html
    private static func inspect(header: Data, path: String) throws {
        if header.isEmpty { return }
        guard header.count == 100, header.starts(with: Data("SQLite format 3\0".utf8)) else {
            throw StrataError(
                .notAStore,
                "'\(path)' is not an SQLite database, and was left as it is. Name another file."
            )
        }
        let (version, application) = (number(at: 60, in: header), number(at: 68, in: header))
        guard application == applicationID else { throw otherProgram(path) }
        guard version <= formatVersion else {
            throw StrataError(
                .newerStore,
                "'\(path)' was written by a newer version of Strata (format \(version), this version supports "
                    + "\(formatVersion)), and was left as it is. Use that version."
            )
        }
        if let fault = fault(of: header, schemaFormat: number(at: 44, in: header)) {
            throw StrataError(
                .damagedStore,
                "The header of '\(path)' is damaged (\(fault)), and the file was left as it is. Restore a backup of it."
            )
        }
    }

    static func otherProgram(_ path: String) -> StrataError {
        StrataError(
            .notAStore,
            "'\(path)' is a database of another program, and was left as it is. Name another file, or pass a "
                + "DatabasePool to keep Strata's tables beside your own."
        )
        .because(.otherProgram)
    }

    /// A field of a store's header that SQLite does not accept; nil if SQLite accepts all fields.
    ///
    /// SQLite reports such files as no database, or with an error that does not say that the file is damaged.
    private static func fault(of header: Data, schemaFormat: Int64) -> String? {
        let pageSize = pageSize(of: header)
        guard pageSize >= 512, pageSize & (pageSize - 1) == 0 else { return "its page size is \(pageSize)" }
        guard header[18...19].allSatisfy({ (1...2).contains($0) }) else {
            return "its file format is \(header[18]) and \(header[19])"
        }
        guard pageSize - Int(header[20]) >= 480, header[21...23].elementsEqual([64, 32, 32]) else {
            return "its page layout is unknown"
        }
        return schemaFormat > 4 ? "its schema format is \(schemaFormat)" : nil
    }

    /// The size of pages that a header gives, in bytes.
    private static func pageSize(of header: Data) -> Int {
        let field = Int(header[16]) << 8 | Int(header[17])
        return field == 1 ? 65_536 : field
    }

    /// The place of ``StoreLocation/userData``.
    ///
    /// - Parameter isCreated: whether the folder is created if it does not exist.
    static func userDataURL(creatingFolder isCreated: Bool = true) throws -> URL {
        let program = ProcessInfo.processInfo.processName
        do {
            let folder = try FileManager.default
                .url(for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil, create: isCreated)
                .appendingPathComponent(program, isDirectory: true)
            if isCreated { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }
            return folder.appendingPathComponent("\(program).sqlite")
        } catch {
            throw StrataError(
                .cannotOpen,
                "The system has no folder for the user's data. Name a place: .sqlite(url).",
                underlying: error
            )
        }
    }
}
