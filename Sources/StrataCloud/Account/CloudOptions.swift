public import Foundation
public import StrataPipeline

/// The settings of an account.
public struct CloudOptions: Sendable {
    /// How names are compared; nil for the rule of the remote.
    ///
    /// The value takes effect when the account is set up, not later.
    public var names: NameRule?
    /// The keys that encrypt content before it leaves the machine, and decrypt it when it returns.
    ///
    /// With nil, content is uploaded unencrypted. An account that was once opened with keys must always be opened with
    /// keys.
    public var encryption: ContentEncryption?
    /// The maximum number of concurrent operations; nil for any number.
    public var maxConcurrent: Int?
    /// When and how often failed operations are retried.
    ///
    /// The lengths of the pauses also apply while the remote is away, see ``CloudAccount/outage``. The number of
    /// attempts does not.
    public var retry: RetryPolicy
    /// Reports whether there is a network to the remote.
    ///
    /// Without a network, the account does not ask whether the remote is back. When the network returns, the account
    /// asks at once.
    public var reachability: (any ConstraintSource)?
    /// The size of a part in bytes.
    ///
    /// Files of two or more parts are uploaded in parts, and resumed, if the remote supports this. The remote may
    /// require larger parts.
    public var partSize: Int64
    /// The maximum number of concurrent parts of one upload, at least one.
    public var maxConcurrentParts: Int
    /// The maximum rate of all uploads of the account together, in bytes per second; nil for no limit.
    ///
    /// Downloads are not limited. A remote that is reached without TLS may need the hash of a body before the body. The
    /// body is then read for the hash at the same rate.
    public var maxUploadRate: Int?
    /// When the account pulls the changes of other clients.
    public var pull: PullPolicy
    /// Which marked nodes are downloaded automatically.
    public var download: DownloadPolicy
    /// The folder for downloaded files, which must not contain other files.
    ///
    /// With nil, the account uses a folder for this store in the user's caches folder.
    public var cacheFolder: URL?
    /// The maximum size of the cache in bytes.
    public var cacheLimit: Int64
    /// Whether the account starts with suspended uploads, until `uploads.resume()`.
    public var isSuspended: Bool
    /// The clock.
    public var clock: any PipelineClock

    /// Creates options with these defaults, except for the named parameters.
    ///
    /// By default, eight operations run at once. Parts are 16 MiB, four of a file at once. The cache is 256 MiB.
    /// Content is not encrypted, and nothing is pulled or downloaded automatically.
    public init(
        names: NameRule? = nil,
        encryption: ContentEncryption? = nil,
        maxConcurrent: Int? = 8,
        retry: RetryPolicy = .standard,
        reachability: (any ConstraintSource)? = nil,
        partSize: Int64 = 16 << 20,
        maxConcurrentParts: Int = 4,
        maxUploadRate: Int? = nil,
        pull: PullPolicy = .manual,
        download: DownloadPolicy = .onDemand,
        cacheFolder: URL? = nil,
        cacheLimit: Int64 = DiskCache.defaultLimit,
        isSuspended: Bool = false,
        clock: any PipelineClock = .system
    ) {
        self.names = names
        self.encryption = encryption
        self.maxConcurrent = maxConcurrent
        self.retry = retry
        self.reachability = reachability
        self.partSize = partSize
        self.maxConcurrentParts = maxConcurrentParts
        self.maxUploadRate = maxUploadRate
        self.pull = pull
        self.download = download
        self.cacheFolder = cacheFolder
        self.cacheLimit = cacheLimit
        self.isSuspended = isSuspended
        self.clock = clock
    }
}
