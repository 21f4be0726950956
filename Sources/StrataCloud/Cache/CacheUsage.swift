/// What a ``DiskCache`` holds.
public struct CacheUsage: Hashable, Sendable {
    /// How many bytes of files may go when there is no room.
    public var evictable: Int64
    /// How many bytes of files stay.
    public var persistent: Int64
    /// How many files there are.
    public var count: Int

    /// How many bytes there are together.
    public var total: Int64 { evictable + persistent }
}
