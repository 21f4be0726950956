import Foundation

/// The files of a remote as of one moment of its root. Every way in goes folder by folder, without symbolic links.
struct FolderTree {
    let root: Descriptor
    let name: String

    /// - Throws: `unreachable` where the root is gone.
    init(_ root: URL, name: String) throws {
        self.name = name
        do {
            self.root = try Descriptor.folder(root.path)
        } catch let error as SystemError where error.code == ENOENT || error.code == ENOTDIR {
            throw RemoteError(.unreachable, "The folder \(name) is not there.", underlying: error)
        }
    }

    /// The folder of a key.
    ///
    /// - Throws: the error of the system, `ENOENT`, `ENOTDIR` or `ELOOP` where it is not there.
    func folder(_ key: RemoteKey) throws -> Descriptor {
        if key.segments.contains(FolderRemote.workName) {
            throw RemoteError(.invalidKey, "'\(FolderRemote.workName)' is the remote's own.", key: key)
        }
        return try key.segments.reduce(root) { try $0.folder($1) }
    }

    /// The folder that holds an object, for writing, and the object's name in it.
    ///
    /// - Throws: `parentMissing`; `invalidKey` for the root.
    func parent(_ key: RemoteKey) throws -> (folder: Descriptor, name: String) {
        guard let parent = key.parent, let name = key.last else {
            throw RemoteError(.invalidKey, "The root is no object.", key: key)
        }
        do {
            let folder = try folder(parent)
            if name == FolderRemote.workName { _ = try self.folder(key) }
            return (folder, name)
        } catch let error as SystemError where Self.saysMissing(error) {
            throw RemoteError(
                .parentMissing,
                "There is no folder '\(parent)' in \(self.name).",
                key: key,
                underlying: error
            )
        }
    }

    /// What lies under a key; nil for nothing, and for what is neither file nor folder.
    func object(_ key: RemoteKey) throws -> RemoteObject? {
        if key == .root { return try root.status().object(key) }
        do {
            let (folder, name) = try parent(key)
            return try folder.status(name)?.object(key)
        } catch let error as RemoteError where error.code == .parentMissing {
            return nil
        }
    }

    /// Opens a file for reading.
    ///
    /// - Throws: `notFound`.
    func file(_ key: RemoteKey) throws -> (file: Descriptor, status: FileStatus) {
        do {
            let (folder, name) = try parent(key)
            let file = try folder.open(name, O_RDONLY)
            let status = try file.status()
            if status.kind == .file { return (file, status) }
        } catch let error as SystemError where Self.saysMissing(error) || error.code == ENXIO {
            // Not there, or a symbolic link, or a socket.
        } catch let error as RemoteError where error.code == .parentMissing {
            // Then it is not there either.
        }
        throw RemoteError(.notFound, "There is no file '\(key)' in \(name).", key: key)
    }

    /// Runs while nobody else writes to the remote, in this process or another one.
    func locked<T>(_ body: () throws -> T) throws -> T {
        let lock = try root.madeFolder(FolderRemote.workName).open("lock", O_RDWR | O_CREAT)
        try lock.lock()
        return try withExtendedLifetime(lock) { try body() }
    }

    static func saysMissing(_ error: SystemError) -> Bool { [ENOENT, ENOTDIR, ELOOP].contains(error.code) }
}
