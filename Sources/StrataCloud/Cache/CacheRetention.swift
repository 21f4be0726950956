/// How long a file stays in a ``DiskCache``.
public enum CacheRetention: String, Sendable, Hashable, Codable {
    /// Until there is no room for it any more.
    case evictable
    /// Until somebody removes it.
    case persistent
}
