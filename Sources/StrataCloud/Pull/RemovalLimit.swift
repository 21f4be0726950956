/// How many files a pull may remove here without a question.
///
/// A remote that was emptied by mistake, or a folder that another program has replaced, looks like many deletes. A pull that exceeds the limit
/// throws ``CloudError`` with `tooManyRemovals` and changes nothing.
public struct RemovalLimit: Hashable, Sendable {
    /// The part of the account's files, from 0 to 1.
    public var share: Double
    /// The number of files.
    public var count: Int

    /// A limit, which is exceeded if either value is.
    public init(share: Double, count: Int) {
        self.share = share
        self.count = count
    }

    /// Half of the files, and 1,000 files.
    public static let standard = RemovalLimit(share: 0.5, count: 1_000)

    func isExceeded(by removed: Int, of all: Int) -> Bool {
        removed > count || Double(removed) > share * Double(all)
    }
}
