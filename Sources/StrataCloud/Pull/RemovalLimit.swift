/// How many local files a pull may remove without confirmation.
///
/// A remote that was emptied by mistake, or a folder that another program has replaced, looks like many deletes. A pull
/// that exceeds the limit throws ``CloudError`` with `tooManyRemovals` and changes nothing.
public struct RemovalLimit: Hashable, Sendable {
    /// The largest removable share of the account's files, from 0 to 1.
    public var share: Double
    /// The largest number of removable files.
    public var count: Int

    /// Creates a limit. A pull exceeds the limit if it exceeds either value.
    public init(share: Double, count: Int) {
        self.share = share
        self.count = count
    }

    /// Half of the files, and at most 1,000 files.
    public static let standard = RemovalLimit(share: 0.5, count: 1_000)

    func isExceeded(by removed: Int, of all: Int) -> Bool {
        removed > count || Double(removed) > share * Double(all)
    }
}
