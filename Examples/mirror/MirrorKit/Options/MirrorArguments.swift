public import ArgumentParser

/// The command line of `mirror`, as the user wrote it. ``MirrorOptions`` gives it a meaning on this machine.
public struct MirrorArguments: ParsableArguments, Sendable {
    @Argument(help: "A folder of this machine.")
    public var folder: String

    @Argument(
        help: "A folder, s3://BUCKET/PREFIX, webdav://HOST/PATH (over HTTP) or webdavs://HOST/PATH (over HTTPS)."
    )
    public var remote: String

    @Flag(help: "End when both sides are the same. Until then, wait for the remote as long as needed.")
    public var once = false

    @Flag(
        help: """
            Delete the local files that the remote no longer has, even if they are more than half of the files or more \
            than 1,000.
            """
    )
    public var allowManyDeletes = false

    @Option(help: ArgumentHelp("The server of s3://, if it is not AWS.", valueName: "url"))
    public var endpoint: String?

    @Option(help: ArgumentHelp("The region of the server of s3://.", valueName: "name"))
    public var region: String?

    @Option(
        help: ArgumentHelp(
            "The certificates (PEM) of the server's certificate authority, if this machine does not trust it.",
            valueName: "file"
        )
    )
    public var ca: String?

    @Option(
        help: ArgumentHelp(
            """
            The file that stores the known state. By default each pair of FOLDER and REMOTE has a file in \
            ~/.local/state/strata-mirror.
            """,
            valueName: "file"
        )
    )
    public var store: String?

    @Option(
        help: ArgumentHelp(
            "The name of this machine in the names of conflict copies. By default it is the host name.",
            valueName: "name"
        )
    )
    public var host: String?

    @Option(
        help: ArgumentHelp(
            "The pause between scans of the folder. The default is 1 second. A scan of very many files is followed by "
                + "a longer pause, of at most a minute.",
            valueName: "seconds"
        ),
        transform: { try MirrorArguments.duration($0) }
    )
    public var scan: Duration = .seconds(1)

    @Option(
        help: ArgumentHelp(
            "The pause between pulls from the remote. The default is 5 seconds. A pull that takes long is followed by "
                + "a longer pause, of at most a minute.",
            valueName: "seconds"
        ),
        transform: { try MirrorArguments.duration($0) }
    )
    public var pull: Duration = .seconds(5)

    @Option(
        help: ArgumentHelp("The maximum upload rate per second, such as 500k or 2M.", valueName: "bytes"),
        transform: { try MirrorArguments.bytes($0) }
    )
    public var limit: Int?

    @Option(
        help: ArgumentHelp(
            "The number of days for which files are kept that other machines delete or replace. The default is 30.",
            valueName: "days"
        )
    )
    public var trashDays: Int?

    @Flag(help: "Delete these files at once.")
    public var noTrash = false

    public init() {}

    public func validate() throws {
        let texts = [
            ("--endpoint", endpoint), ("--region", region), ("--ca", ca), ("--store", store), ("--host", host),
        ]
        for (name, value) in texts where value == "" { throw ValidationError("\(name) needs a value.") }
        guard let trashDays else { return }
        guard !noTrash else { throw ValidationError("--no-trash and --trash-days contradict each other.") }
        guard (1...36_500).contains(trashDays) else {
            throw ValidationError("--trash-days must be a number of days from 1 to 36500, not \(trashDays).")
        }
    }

    private static func duration(_ text: String) throws -> Duration {
        guard let seconds = Double(text), seconds >= 0.01, seconds <= 86_400 else {
            throw ValidationError("Write a number of seconds from 0.01 to 86400 (a day).")
        }
        return .seconds(seconds)
    }

    /// Parses a number of bytes such as `500k`, `2M` or `1G`, in decimal units.
    private static func bytes(_ text: String) throws -> Int {
        let factors: [Character: Int] = ["k": 1_000, "K": 1_000, "M": 1_000_000, "G": 1_000_000_000]
        let factor = text.last.flatMap { factors[$0] }
        guard let number = Int(factor == nil ? text : String(text.dropLast())), number > 0,
            case (let bytes, false) = number.multipliedReportingOverflow(by: factor ?? 1)
        else { throw ValidationError("Write a number of bytes, such as 500k or 2M.") }
        return bytes
    }
}
