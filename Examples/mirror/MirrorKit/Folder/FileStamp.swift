import Foundation
import Strata

/// What tells that a file is still the one that was read: as long as nothing of this has changed, its content is not read again.
struct FileStamp: Codable, Hashable, Sendable, AttributeValue {
    var inode: UInt64
    var size: Int64
    /// When it was written, and when anything about it has changed, in nanoseconds since 1970.
    var modified: Int64
    var changed: Int64
}

extension FileStamp {
    /// That of nothing that is there yet.
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

    /// Whether the content is the same as far as can be told: moving a file, and changing its rights, changes the rest.
    func hasContent(of other: FileStamp) -> Bool {
        inode == other.inode && size == other.size && modified == other.modified
    }

    /// Whether the file was changed so shortly before a moment, or after it, that another write may have the same time.
    /// Programs set the time of writing as they like, also to one in the future; the time of the last change is the
    /// file system's.
    func isRecent(at moment: Int64) -> Bool { changed > moment - Self.step }

    /// More than a step of the kernel's clock, which is 10 ms at most. In nanoseconds.
    static let step: Int64 = 100_000_000

    /// The time of day in nanoseconds since 1970, by the clock of files.
    static var now: Int64 {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
    }
}
