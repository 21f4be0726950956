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
            throw StrataError(
                .notAStore,
                "'\(path)' is empty, and was left as it is. Open it without `isReadOnly` first, which creates the store."
            )
        }
        // Without WAL mode, SQLite reads the file alone. See "File format version numbers" in
        // https://www.sqlite.org/fileformat2.html
        guard header[19] == 2 else { return .shared }
        let real = try realPath(of: path)
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
        if info.st_size > 0, isUnfinished(try realPath(of: path)) { return Data() }
        let header = try header(of: path, size: Int64(info.st_size))
        try inspect(header: header, path: path)
        return header
    }

    /// Whether the first transaction on a file has not ended, because its process was killed or the power failed. The
    /// file then has any bytes, and SQLite empties it before the first read.
    ///
    /// The journal of the transaction has the number of pages that the file had before. SQLite overwrites or removes
    /// the beginning of the journal when the transaction ends. See "The Rollback Journal" in
    /// https://www.sqlite.org/fileformat2.html
    private static func isUnfinished(_ path: String) -> Bool {
        guard let journal = FileHandle(forReadingAtPath: path + "-journal") else { return false }
        defer { try? journal.close() }
        guard let header = try? journal.read(upToCount: 20), header.count == 20 else { return false }
        let magic: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]
        return header.starts(with: magic) && header[16..<20].allSatisfy { $0 == 0 }
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

    /// The first hundred bytes of a file, read through SQLite.
    ///
    /// If this process opened the file itself and closed it, the system would drop all locks that the process has on
    /// the file. Other processes could then remove the journal while another stack of this process uses it. See "POSIX
    /// Advisory Locks" in https://www.sqlite.org/howtocorrupt.html
    private static func header(of path: String, size: Int64) throws -> Data {
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
        var bytes = [UInt8](repeating: 0, count: 100)
        let count = Int(min(size, 100))
        if count > 0 {
            let result = methods.pointee.xRead(file, &bytes, Int32(count), 0)
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
        func number(at offset: Int) -> Int64 {
            header[offset..<(offset + 4)].reduce(0) { $0 << 8 | Int64($1) }
        }
        let (version, application) = (number(at: 60), number(at: 68))
        guard application == applicationID else { throw otherProgram(path) }
        guard version <= formatVersion else {
            throw StrataError(
                .newerStore,
                "'\(path)' was written by a newer version of Strata (format \(version), this version supports "
                    + "\(formatVersion)), and was left as it is. Use that version."
            )
        }
        if let fault = fault(of: header, schemaFormat: number(at: 44)) {
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
        let field = Int(header[16]) << 8 | Int(header[17])
        let pageSize = field == 1 ? 65_536 : field
        guard pageSize >= 512, pageSize & (pageSize - 1) == 0 else { return "its page size is \(field)" }
        guard header[18...19].allSatisfy({ (1...2).contains($0) }) else {
            return "its file format is \(header[18]) and \(header[19])"
        }
        guard pageSize - Int(header[20]) >= 480, header[21...23].elementsEqual([64, 32, 32]) else {
            return "its page layout is unknown"
        }
        return schemaFormat > 4 ? "its schema format is \(schemaFormat)" : nil
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
