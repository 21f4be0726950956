public import Foundation

/// What becomes of a download.
public struct DownloadOptions: Hashable, Sendable {
    /// Whether it is kept in the cache, and taken from there where that has the version that is known. Otherwise it is a temporary file, which is
    /// deleted when it is released.
    public var cache: Bool
    /// Whether the cache may let it go when it needs room.
    public var retention: CacheRetention
    /// When the cache lets it go in any case; never where it is nil.
    public var expires: Date?

    /// What becomes of a download.
    public init(cache: Bool = false, retention: CacheRetention = .evictable, expires: Date? = nil) {
        self.cache = cache
        self.retention = retention
        self.expires = expires
    }
}

/// Which marked nodes are downloaded by themselves, as soon as the network is there.
public enum DownloadPolicy: Sendable {
    /// None: the application asks for what it needs. Marks do not count in ``CloudAccount/progress()``.
    case onDemand
    /// None either: the application looks for marks, downloads, and removes the marks by itself. So all marks count in
    /// ``CloudAccount/progress()`` as left to download.
    case byApplication
    /// All that are marked.
    case all
    /// Those that are marked and that this says yes to.
    case only(@Sendable (CloudNode.Row, ContentSections) -> Bool)

    func wants(_ node: CloudNode.Row, _ section: ContentSections) -> Bool {
        switch self {
        case .onDemand, .byApplication: false
        case .all: true
        case .only(let isWanted): isWanted(node, section)
        }
    }

    /// Whether anything is downloaded by the account itself.
    var isAutomatic: Bool {
        switch self {
        case .onDemand, .byApplication: false
        case .all, .only: true
        }
    }

    /// Whether a marked section counts as left to download, by the account or by the application.
    func counts(_ node: CloudNode.Row, _ section: ContentSections) -> Bool {
        if case .byApplication = self { true } else { wants(node, section) }
    }
}
