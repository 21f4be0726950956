/// The progress of a backup or of a compaction.
public struct StoreProgress: Sendable, Hashable {
    /// The number of pages of the file that are done.
    public let completedPages: Int
    /// The number of pages that the work began with, at least ``completedPages``.
    public let totalPages: Int

    init(completedPages: Int, totalPages: Int) {
        self.totalPages = max(totalPages, 0)
        self.completedPages = min(max(completedPages, 0), self.totalPages)
    }

    /// The completed fraction of the work, from 0 to 1.
    public var fraction: Double { totalPages == 0 ? 1 : Double(completedPages) / Double(totalPages) }
}
