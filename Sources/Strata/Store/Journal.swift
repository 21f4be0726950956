import Foundation

/// The file beside the store that holds commits until they are copied into the store (SQLite's write-ahead log).
///
/// The file can restart only if all of it is copied into the store and all readers have newer snapshots: see
/// ``Checkpoints``. A pinned context that merges takes one snapshot after another, so a large journal is copied between
/// two of them: see ``StoreWriter/copyJournalIfLarge()``.
///
/// Isolation: any.
struct Journal: Sendable {
    /// The journal is beside the file itself, not beside a symbolic link to it.
    let path: String

    /// The size that the journal may keep, in bytes. A checkpoint runs at a thousand pages, which are usually half of
    /// this.
    static let limit = 8 << 20

    /// - Parameter storePath: the path of the store, without symbolic links. ``Connection/path`` is such a path.
    init(of storePath: String) { path = storePath + "-wal" }

    /// The journal's size in bytes; 0 if the file does not exist. Complexity: O(1).
    var size: Int {
        var info = stat()
        return stat(path, &info) == 0 ? Int(info.st_size) : 0
    }
}
