import Foundation
import Strata

/// Identifies the version of a file that was read. As long as nothing in the stamp changes, the content is not read
/// again.
struct FileStamp: Codable, Hashable, Sendable, AttributeValue {
    var inode: UInt64
    var size: Int64
    /// The times of the last modification and of the last status change, in nanoseconds since 1970.
    var modified: Int64
    var changed: Int64
}

extension FileStamp {
    /// The stamp of a file that does not exist yet.
    static let none = FileStamp(inode: 0, size: 0, modified: 0, changed: 0)

    init(_ status: stat) {
        (inode, size) = (UInt64(status.st_ino), Int64(status.st_size))
        #if canImport(Darwin)
            let (modified, changed) = (status.st_mtimespec, status.st_ctimespec)
        #else
            let (modified, changed) = (status.st_mtim, status.st_ctim)
        #endif
        self.modified = Int64(modified.tv_sec) * 1_000_000_000 + Int64(modified.tv_nsec)
        self.changed = Int64(changed.tv_sec) * 1_000_000_000 + Int64(changed.tv_nsec)
    }

    /// Whether the content is the same, as far as the stamp shows. Moving a file or changing its permissions changes
    /// only the rest of the stamp.
    func hasContent(of other: FileStamp) -> Bool {
        inode == other.inode && size == other.size && modified == other.modified
    }

    /// Whether the file was changed so shortly before a moment, or after it, that another write may get the same time.
    /// Programs can set the modification time, even to a future time. Only the file system sets the time of the last
    /// status change.
    func isRecent(at moment: Int64) -> Bool { changed > moment - Self.step }

    /// More than a tick of the kernel's clock, which is at most 10 ms. In nanoseconds.
    static let step: Int64 = 100_000_000

    /// The time of day in nanoseconds since 1970, by the clock that file times use.
    static var now: Int64 {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
    }
}
