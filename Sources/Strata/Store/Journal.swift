import Foundation

/// The file beside the store in which commits lie until they are copied into it (SQLite's write-ahead log).
///
/// It can restart only if all of it is copied into the store and all readers have newer snapshots: see ``Checkpoints``. A pinned context
/// that merges takes one snapshot after another, so a large journal is copied between two of them: see
/// ``StoreWriter/copyJournalIfLarge()``.
///
/// Isolation: any.
struct Journal: Sendable {
    /// It stands beside the file itself, not beside a link to it.
    let path: String

    /// How large it may stay, in bytes. It is copied once it has a thousand pages, which most often are half of this.
    static let limit = 8 << 20

    init(of storePath: String) {
        path = URL(fileURLWithPath: storePath).resolvingSymlinksInPath().path + "-wal"
    }

    /// How large it is, in bytes; 0 where there is none. Complexity: O(1).
    var size: Int {
        var info = stat()
        return stat(path, &info) == 0 ? Int(info.st_size) : 0
    }
}
