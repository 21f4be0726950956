/// How long a file stays in a ``DiskCache``.
public enum CacheRetention: String, Sendable, Hashable, Codable {
    /// Until the cache needs the space.
    case evictable
    /// Until the application removes it.
    case persistent
}
