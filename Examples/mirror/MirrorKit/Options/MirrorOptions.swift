import ExampleArguments
public import Foundation

/// The options of the command line of `mirror`.
public struct MirrorOptions: Sendable {
    public var folder = URL(filePath: "/")
    public var remote = RemotePlace.folder(URL(filePath: "/"))
    /// The file of the store.
    public var store = URL(filePath: "/")
    public var host = "here"
    public var isOnce = false
    /// Whether a pull may remove any number of local files.
    public var allowsManyDeletes = false
    public var scanInterval = Duration.seconds(1)
    public var pullInterval = Duration.seconds(5)
    /// The maximum upload rate, in bytes per second.
    public var limit: Int?
    /// The number of days for which files are kept that other clients delete or replace. Nil keeps no files.
    public var trashDays: Int? = 30
    /// A file with certificates that replace the system's trusted certificates.
    public var authorities: URL?
    public var help = false

    public static let usage = """
        usage: mirror FOLDER REMOTE [options]

        Keeps a folder and a remote the same, until it is ended by ^C. What is changed while it does not run, or while the remote cannot be
        reached, is made up for later. Where both have changed a file, both versions stay. At the remote all of it lies in the folder `home`.

          FOLDER                a folder of this machine
          REMOTE                a folder, s3://BUCKET/PREFIX, webdav://HOST/PATH (http) or webdavs://HOST/PATH (https)
          --once                end when both are the same, however long the remote cannot be reached
          --allow-many-deletes  delete here what is gone at the remote, even if that is more than half of the files, or more than 1,000
          --endpoint URL        the server of s3://, if it is not AWS
          --region NAME         its region
          --ca FILE             the certificates (PEM) of who vouches for the server, if it is not one that this machine knows
          --store FILE          where it is kept what is known (default: in ~/.local/state/strata-mirror, one for each FOLDER and REMOTE)
          --host NAME           what this machine is called in the names of conflicts (default: its name)
          --scan SECONDS        how long to rest between looks at the folder (default: 1)
          --pull SECONDS        how long to rest between looks at the remote (default: 5)
          --limit BYTES         send no more than so many bytes a second, as 500k or 2M
          --trash-days DAYS     how long files are kept that others delete or replace (default: 30)
          --no-trash            delete them at once
          --help                show this

        Credentials are read from the environment: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or ~/.aws/credentials) for s3://,
        MIRROR_USER and MIRROR_PASSWORD for webdav:// and webdavs://.
        """

    /// Parses the arguments, without the program's name.
    ///
    /// - Throws: ``UsageError``; ``MirrorError`` if a file or folder that an argument names does not exist.
    public init(
        arguments: [String],
        environment: [String: String] = ProcessInfo.processInfo.environment,
        host: String = ProcessInfo.processInfo.hostName
    ) throws {
        let arguments = try Arguments(
            arguments,
            options: [
                "--endpoint", "--region", "--ca", "--store", "--host", "--scan", "--pull", "--limit", "--trash-days",
            ],
            flags: ["--once", "--allow-many-deletes", "--no-trash"]
        )
        help = arguments.isHelp
        isOnce = arguments.flags.contains("--once")
        allowsManyDeletes = arguments.flags.contains("--allow-many-deletes")
        scanInterval = try arguments.seconds("--scan") ?? scanInterval
        pullInterval = try arguments.seconds("--pull") ?? pullInterval
        limit = try arguments.bytes("--limit")
        trashDays = try Self.trashDays(arguments.text("--trash-days"), isOff: arguments.flags.contains("--no-trash"))
        self.host = try Self.host(arguments.text("--host") ?? host)
        if help { return }
        try Self.check(arguments.words)
        folder = try Self.folder(arguments.words[0])
        remote = try RemotePlace(
            arguments.words[1],
            endpoint: arguments.text("--endpoint"),
            region: arguments.text("--region")
        )
        authorities = try arguments.text("--ca").map { try Self.authorities($0, remote) }
        store =
            arguments.text("--store").map { Self.real(URL(filePath: $0)) }
            ?? Self.store(of: folder, remote, environment)
        try check()
    }

    private static func check(_ words: [String]) throws {
        guard words.count >= 2 else { throw UsageError("a folder and a remote are needed") }
        let more = words.dropFirst(2)
        guard let first = more.first else { return }
        let excess = more.count == 1 ? "is one too many" : "and what comes behind it are too many"
        throw UsageError("\"\(first)\" \(excess): a folder and a remote are needed")
    }

    private static func trashDays(_ text: String?, isOff: Bool) throws -> Int? {
        guard !isOff else {
            if text != nil { throw UsageError("--no-trash and --trash-days contradict each other") }
            return nil
        }
        guard let text else { return 30 }
        guard let days = Int(text), (1...36_500).contains(days) else {
            throw UsageError("--trash-days is a number of days from 1 to 36500, not \"\(text)\"")
        }
        return days
    }

    private static func authorities(_ path: String, _ remote: RemotePlace) throws -> URL {
        if case .folder = remote { throw UsageError("--ca is for s3:// and webdavs://") }
        guard FileManager.default.isReadableFile(atPath: path) else {
            throw MirrorError("\(MirrorScreen.printable(path)) cannot be read")
        }
        return URL(filePath: path)
    }

    private static func folder(_ path: String) throws -> URL {
        let folder = real(URL(filePath: path))
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: folder.path, isDirectory: &isFolder) else {
            throw MirrorError("there is no folder \(MirrorScreen.printable(path))")
        }
        guard isFolder.boolValue else { throw MirrorError("\(MirrorScreen.printable(path)) is no folder") }
        return folder
    }

    /// A host name that can be part of a file name.
    private static func host(_ name: String) throws -> String {
        let first = String(name.prefix { $0 != "." })
        guard !first.isEmpty, first.utf8.count <= 64, !first.utf8.contains(UInt8(ascii: "/")),
            first == MirrorScreen.printable(first)
        else {
            throw UsageError("\"\(name)\" cannot stand in the name of a file; use --host")
        }
        return first
    }

    private func check() throws {
        if case .folder(let other) = remote {
            let other = Self.real(other)
            guard !Self.isWithin(other, folder), !Self.isWithin(folder, other) else {
                throw UsageError("one of the two folders lies in the other")
            }
        }
        guard !Self.isWithin(store, folder) else {
            throw UsageError("the store would lie in the folder that is mirrored")
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
