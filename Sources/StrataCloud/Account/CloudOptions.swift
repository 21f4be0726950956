public import Foundation
public import StrataPipeline

/// How an account works.
public struct CloudOptions: Sendable {
    /// How names are told apart; without it as the remote does. It counts when the account is set up, not later.
    public var names: NameRule?
    /// By which keys content is sealed before it leaves the machine, and opened when it comes back; without it, it is not. An account that was opened
    /// with it once is always opened with it.
    public var sealing: ContentSealing?
    /// How many operations run at once at most; nil for any number.
    public var maxConcurrent: Int?
    /// When failed operations are tried again, and how often. The lengths of the pauses also apply while the remote is
    /// away, see ``CloudAccount/outage``; the number of attempts does not.
    public var retry: RetryPolicy
    /// Tells whether there is a network to the remote. Without a network, the account does not ask whether the remote
    /// is back. When the network returns, the account asks at once.
    public var reachability: (any ConstraintObserver)?
    /// In bytes: what has at least two parts of it is sent in parts, where the remote takes them, and resumed. The remote may want larger ones.
    public var partSize: Int64
    /// How many parts of one upload are on their way at once, at least one.
    public var maxConcurrentParts: Int
    /// In bytes a second: how fast all uploads of the account together may go, downloads aside; nil for as fast as they can. What a remote that is
    /// reached without TLS has to be told of a body's hash before it comes is read at the same rate.
    public var maxUploadRate: Int?
    /// When it looks at what others have changed.
    public var pull: PullPolicy
    /// Which marked nodes are downloaded by themselves.
    public var download: DownloadPolicy
    /// Where downloads are kept, with nothing else in it; without it in the user's folder for caches, one of each store.
    public var cacheFolder: URL?
    /// How many bytes the cache may have.
    public var cacheLimit: Int64
    /// Whether it sends nothing until `push.resume()`.
    public var isSuspended: Bool
    /// What tells the time.
    public var clock: any PipelineClock

    /// Eight operations at once, parts of 16 MiB and four of a file at once, a cache of 256 MiB, and nothing sealed, pulled or downloaded by itself; what is named otherwise is so.
    public init(
        names: NameRule? = nil,
        sealing: ContentSealing? = nil,
        maxConcurrent: Int? = 8,
        retry: RetryPolicy = .standard,
        reachability: (any ConstraintObserver)? = nil,
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
        self.sealing = sealing
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
