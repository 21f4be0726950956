public import Foundation

/// The handling of a downloaded file.
public struct DownloadOptions: Hashable, Sendable {
    /// Whether the file is kept in the cache, and is taken from the cache if the cache has the known version.
    ///
    /// Otherwise it is a temporary file, which is deleted when it is released.
    public var cache: Bool
    /// Whether the cache may evict the file when it needs space.
    public var retention: CacheRetention
    /// The date at which the cache removes the file in any case; nil for never.
    public var expires: Date?

    /// Creates options.
    public init(cache: Bool = false, retention: CacheRetention = .evictable, expires: Date? = nil) {
        self.cache = cache
        self.retention = retention
        self.expires = expires
    }
}

/// Which marked sections are downloaded automatically, as soon as the network is available.
public enum DownloadPolicy: Sendable {
    /// None: the application requests the downloads that it needs. Marks do not count in ``CloudAccount/progress()``.
    case onDemand
    /// None: the application finds marks, downloads the sections, and removes the marks.
    ///
    /// All marks therefore count in ``CloudAccount/progress()`` as remaining downloads.
    case byApplication
    /// All marked sections.
    case all
    /// The marked sections for which this closure returns true.
    case only(@Sendable (CloudNode.Row, ContentSections) -> Bool)

    func wants(_ node: CloudNode.Row, _ section: ContentSections) -> Bool {
        switch self {
        case .onDemand, .byApplication: false
        case .all: true
        case .only(let isWanted): isWanted(node, section)
        }
    }

    /// Whether the account downloads any section automatically.
    var isAutomatic: Bool {
        switch self {
        case .onDemand, .byApplication: false
        case .all, .only: true
        }
    }

    /// Whether a marked section counts as a remaining download, by the account or by the application.
    func counts(_ node: CloudNode.Row, _ section: ContentSections) -> Bool {
        if case .byApplication = self { true } else { wants(node, section) }
    }
}
