extension CloudError.Code {
    /// The folder of the cache cannot be read or written to: it is not there, nobody may write to it, the disk is full, or somebody else holds it.
    public static let cacheUnavailable = CloudError.Code("cacheUnavailable")
    /// The index of the cache is damaged, or of a later version. Delete the folder; what was in it can be downloaded again.
    public static let cacheDamaged = CloudError.Code("cacheDamaged")
    /// The cache was closed.
    public static let cacheClosed = CloudError.Code("cacheClosed")
    /// A file that is to be taken into the cache cannot be read.
    public static let fileUnreadable = CloudError.Code("fileUnreadable")
}
