extension CloudError.Code {
    /// The cache folder cannot be read or written. It does not exist, this process may not write to it, the disk is
    /// full, or another owner has the cache open.
    public static let cacheUnavailable = CloudError.Code("cacheUnavailable")
    /// The cache's index is damaged, or a later version of Strata has written it. Delete the folder. Its content can be
    /// downloaded again.
    public static let cacheDamaged = CloudError.Code("cacheDamaged")
    /// The cache was closed.
    public static let cacheClosed = CloudError.Code("cacheClosed")
    /// A file that is being added to the cache cannot be read.
    public static let fileUnreadable = CloudError.Code("fileUnreadable")
}
