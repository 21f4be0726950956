import Foundation

/// The folders of a cache, with the operations on the files in them.
///
/// - `index.sqlite`: the index of the files.
/// - `files`: the files. Their names are never used twice.
/// - `owners`: a locked file for each open cache, in any process.
/// - `temporary`: a folder for each open cache, with its temporary files.
struct CacheFolder: Sendable {
    let root: URL

    var index: URL { root.appending(path: "index.sqlite") }
    private var files: URL { root.appending(path: "files") }
    private var owners: URL { root.appending(path: "owners") }
    private var temporary: URL { root.appending(path: "temporary") }

    func file(_ name: String) -> URL { files.appending(path: name) }
    func lock(of owner: String) -> URL { owners.appending(path: owner) }
    func temporary(of owner: String) -> URL { temporary.appending(path: owner) }

    /// Creates the missing folders. Only the user may access them.
    func create() throws {
        for folder in [root, files, owners, temporary] {
            try FileManager.default.createDirectory(
                at: folder,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        }
    }

    // MARK: Listing

    var fileNames: [String] { get throws { try Self.names(files) } }
    var ownerNames: [String] { get throws { try Self.names(owners) } }
    var temporaryNames: [String] { get throws { try Self.names(temporary) } }

    private static func names(_ folder: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path)
    }

    /// The size of a file of the cache in bytes; nil if the file does not exist.
    func size(of name: String) -> Int64? { Self.size(file(name)) }

    static func size(_ file: URL) -> Int64? {
        guard let status = FileStatus(at: file.path), status.kind == .file else { return nil }
        return status.size
    }

    // MARK: Changing

    /// Moves a file from anywhere into the cache, in one atomic step.
    ///
    /// A file on another file system is copied, and also stays at its old path.
    func adopt(_ source: URL, as name: String, through owner: String) throws {
        if rename(source.path, file(name).path) == 0 { return }
        guard errno == EXDEV else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        // The file is on another file system. It is copied to the temporary folder first, so that only a sweep can see
        // a partial copy.
        let copy = temporary(of: owner).appending(path: name)
        do {
            try FileManager.default.copyItem(at: source, to: copy)
            guard rename(copy.path, file(name).path) == 0 else {
                throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
            }
        } catch {
            unlink(copy.path)
            throw error
        }
    }

    /// Flushes the bytes of a file to the disk.
    static func synchronize(_ file: URL) throws {
        let handle = try FileHandle(forUpdating: file)
        defer { try? handle.close() }
        try handle.synchronize()
    }

    /// Deletes files without an entry. If a delete fails, the next opening sweeps the file.
    func delete(_ names: [String]) {
        for name in names { unlink(file(name).path) }
    }
}
