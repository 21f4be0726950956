import Foundation

/// The files of a remote, below the root folder as it was opened at one moment.
///
/// Each path is opened folder by folder, without following symbolic links.
struct FolderTree {
    let root: Descriptor
    let name: String

    /// - Throws: `unreachable` if the root does not exist.
    init(path: String, name: String) throws {
        self.name = name
        do {
            root = try Descriptor.folder(path)
        } catch let error as SystemError where error.code == ENOENT || error.code == ENOTDIR {
            throw RemoteError(.unreachable, "The folder \(name) does not exist.", underlying: error)
        }
    }

    /// Opens the folder of a key.
    ///
    /// - Throws: the error of the system: `ENOENT`, `ENOTDIR` or `ELOOP` if the folder does not exist.
    func folder(_ key: RemoteKey) throws -> Descriptor {
        if key.segments.contains(FolderRemote.workName) {
            throw RemoteError(.invalidKey, "The name '\(FolderRemote.workName)' is reserved for the remote.", key: key)
        }
        return try key.segments.reduce(root) { try $0.folder($1) }
    }

    /// Opens the folder that contains an object, for writing, and returns it with the object's name.
    ///
    /// - Throws: `parentMissing`; `invalidKey` for the root.
    func parent(_ key: RemoteKey) throws -> (folder: Descriptor, name: String) {
        guard let parent = key.parent, let name = key.last else {
            throw RemoteError(.invalidKey, "The root is not an object.", key: key)
        }
        do {
            let folder = try folder(parent)
            if name == FolderRemote.workName { _ = try self.folder(key) }
            return (folder, name)
        } catch let error as SystemError where Self.saysMissing(error) {
            throw RemoteError(
                .parentMissing,
                "The folder '\(parent)' does not exist in \(self.name).",
                key: key,
                underlying: error
            )
        }
    }

    /// The metadata of the entry of a key; nil if there is neither a file nor a folder.
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
            // The file does not exist, or is a symbolic link or a socket.
        } catch let error as RemoteError where error.code == .parentMissing {
            // Without the parent folder, the file does not exist.
        }
        throw RemoteError(.notFound, "The file '\(key)' does not exist in \(name).", key: key)
    }

    static func saysMissing(_ error: SystemError) -> Bool { [ENOENT, ENOTDIR, ELOOP].contains(error.code) }
}
