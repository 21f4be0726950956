import ArgumentParser
import ExampleFolders
public import Foundation

/// The options of the command line of `mirror`, with the paths and addresses that they name.
public struct MirrorOptions: Sendable {
    public let folder: URL
    public let remote: RemotePlace
    /// The file of the store.
    public let store: URL
    public let host: String
    public let isOnce: Bool
    /// Whether a pull may remove any number of local files.
    public let allowsManyDeletes: Bool
    public let scanInterval: Duration
    public let pullInterval: Duration
    /// The maximum upload rate, in bytes per second.
    public let limit: Int?
    /// The number of days for which files are kept that other clients delete or replace. Nil keeps no files.
    public let trashDays: Int?
    /// A file with certificates that replace the system's trusted certificates.
    public let authorities: URL?

    /// - Throws: `ValidationError` for an invalid command line; ``MirrorError`` if a file or folder that an argument
    ///   names does not exist.
    public init(
        _ arguments: MirrorArguments,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        host: String = ProcessInfo.processInfo.hostName
    ) throws {
        let folder = try Self.folder(arguments.folder)
        let remote = try RemotePlace(arguments.remote, endpoint: arguments.endpoint, region: arguments.region)
        self.folder = folder
        self.remote = remote
        self.host = try Self.host(arguments.host ?? host)
        store = arguments.store.map { Self.real(URL(filePath: $0)) } ?? Self.store(of: folder, remote, environment)
        authorities = try arguments.ca.map { try Self.authorities($0, remote) }
        isOnce = arguments.once
        allowsManyDeletes = arguments.allowManyDeletes
        scanInterval = arguments.scan
        pullInterval = arguments.pull
        limit = arguments.limit
        trashDays = arguments.noTrash ? nil : arguments.trashDays ?? 30
        try check()
    }

    private static func authorities(_ path: String, _ remote: RemotePlace) throws -> URL {
        if case .folder = remote { throw ValidationError("--ca needs a remote with s3:// or webdavs://.") }
        guard FileManager.default.isReadableFile(atPath: path) else {
            throw MirrorError("\(MirrorScreen.printable(path)) cannot be read")
        }
        return URL(filePath: path)
    }

    private static func folder(_ path: String) throws -> URL {
        let folder = real(URL(filePath: path))
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: folder.path, isDirectory: &isFolder) else {
            throw MirrorError("the folder \(MirrorScreen.printable(path)) does not exist")
        }
        guard isFolder.boolValue else { throw MirrorError("\(MirrorScreen.printable(path)) is not a folder") }
        return folder
    }

    /// A host name that can be part of a file name.
    private static func host(_ name: String) throws -> String {
        let first = String(name.prefix { $0 != "." })
        guard !first.isEmpty, first.utf8.count <= 64, !first.utf8.contains(UInt8(ascii: "/")),
            first == MirrorScreen.printable(first)
        else {
            let name = MirrorScreen.printable(name)
            throw ValidationError("The host name \"\(name)\" cannot be part of a file name. Set another with --host.")
        }
        return first
    }

    private func check() throws {
        if case .folder(let other) = remote {
            let other = Self.real(other)
            guard !Self.isWithin(other, folder), !Self.isWithin(folder, other) else {
                throw ValidationError("One of the two folders is inside the other.")
            }
        }
        guard !Self.isWithin(store, folder) else {
            throw ValidationError("The store must not be inside the mirrored folder.")
        }
    }

    private static func isWithin(_ url: URL, _ folder: URL) -> Bool {
        LocalPath(url.path) == LocalPath(folder.path) || LocalPath(url.path).isBelow(LocalPath(folder.path))
            || folder.path == "/"
    }

    static func real(_ url: URL) -> URL {
        // Symbolic links of a path that does not exist are resolved in its deepest existing folder.
        var (rest, url) = ([String](), url.absoluteURL.standardizedFileURL)
        while !FileManager.default.fileExists(atPath: url.path), url.path != "/" {
            rest.append(url.lastPathComponent)
            url.deleteLastPathComponent()
        }
        url = url.resolvingSymlinksInPath()
        for name in rest.reversed() { url.append(path: name) }
        return URL(filePath: url.path)
    }

    /// `$XDG_STATE_HOME/strata-mirror/NAME-HASH.sqlite`, or the same path under `~/.local/state`.
    static func store(of folder: URL, _ remote: RemotePlace, _ environment: [String: String]) -> URL {
        UserFolder.state.url(environment: environment).appending(path: "strata-mirror")
            .appending(
                path: UserFolder.fileName(folder.lastPathComponent, or: "folder", key: "\(folder.path)\n\(remote)")
            )
    }
}
