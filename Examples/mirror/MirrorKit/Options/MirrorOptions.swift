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

        Keeps a folder and a remote the same until you press ^C. Changes made while mirror does not run, or while the
        remote cannot be reached, are mirrored later. If both sides have changed a file, both versions stay. At the
        remote, all files are in the folder `home`.

          FOLDER                a folder of this machine
          REMOTE                a folder, s3://BUCKET/PREFIX, webdav://HOST/PATH (http) or webdavs://HOST/PATH (https)
          --once                end when both are the same; waits while the remote cannot be reached
          --allow-many-deletes  delete files that are gone at the remote, even more than half of them or 1,000
          --endpoint URL        the server of s3://, if it is not AWS
          --region NAME         its region
          --ca FILE             the certificates (PEM) of the server's authority, if this machine does not trust it
          --store FILE          the file of the mirror's state
                                (default: in ~/.local/state/strata-mirror, one for each FOLDER and REMOTE)
          --host NAME           the name of this machine in the names of conflicts (default: the host name)
          --scan SECONDS        the pause between scans of the folder (default: 1)
          --pull SECONDS        the pause between pulls from the remote (default: 5)
          --limit BYTES         the upload limit in bytes per second, such as 500k or 2M
          --trash-days DAYS     the days to keep files that other machines delete or replace (default: 30)
          --no-trash            delete these files immediately
          --help                show this help

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
        guard words.count >= 2 else { throw UsageError("pass a folder and a remote") }
        let more = words.dropFirst(2)
        guard let first = more.first else { return }
        let excess = more.count == 1 ? "is one argument too many" : "and the arguments after it are too many"
        throw UsageError("\"\(first)\" \(excess): pass a folder and a remote")
    }

    private static func trashDays(_ text: String?, isOff: Bool) throws -> Int? {
        guard !isOff else {
            if text != nil { throw UsageError("--no-trash and --trash-days contradict each other") }
            return nil
        }
        guard let text else { return 30 }
        guard let days = Int(text), (1...36_500).contains(days) else {
            throw UsageError("--trash-days must be a number of days from 1 to 36500, not \"\(text)\"")
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
            throw UsageError("\"\(name)\" cannot be part of a file name; use --host")
        }
        return first
    }

    private func check() throws {
        if case .folder(let other) = remote {
            let other = Self.real(other)
            guard !Self.isWithin(other, folder), !Self.isWithin(folder, other) else {
                throw UsageError("one of the two folders is in the other")
            }
        }
        guard !Self.isWithin(store, folder) else {
            throw UsageError("the store would be in the mirrored folder")
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
