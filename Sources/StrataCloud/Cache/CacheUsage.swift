/// The usage of a ``DiskCache``.
public struct CacheUsage: Hashable, Sendable {
    /// The bytes of files that may be evicted.
    public var evictable: Int64
    /// The bytes of persistent files.
    public var persistent: Int64
    /// The number of files.
    public var count: Int

    /// The bytes of all files together.
    public var total: Int64 { evictable + persistent }
}
