import Foundation

/// A file or folder that a scan found.
struct FolderItem: Hashable, Sendable {
    let path: LocalPath
    let isFolder: Bool
    let stamp: FileStamp
    /// The kind of an item that is neither a file nor a folder: `a symbolic link`, `a FIFO`. Otherwise nil.
    var special: String?

    /// Whether the item is neither a file nor a folder.
    var isSpecial: Bool { special != nil }
}

extension FolderItem {
    init(_ path: LocalPath, _ status: stat) {
        self.path = path
        stamp = FileStamp(status)
        isFolder = status.st_mode & S_IFMT == S_IFDIR
        special =
            switch status.st_mode & S_IFMT {
            case S_IFREG, S_IFDIR: nil
            case S_IFLNK: "a symbolic link"
            case S_IFIFO: "a FIFO"
            case S_IFSOCK: "a socket"
            default: "a device"
            }
    }
}

/// The result of a scan of the folder.
struct FolderScan: Equatable, Sendable {
    /// A folder precedes its contents.
    var items: [FolderItem] = []
    /// The paths that are left out, with the reasons. The scan knows nothing about these paths and everything below
    /// them.
    var skipped: [LocalPath: String] = [:]

    /// Whether the scan knows nothing about a path, because the path or a folder above it is left out.
    func isUnknown(_ path: LocalPath) -> Bool {
        !skipped.isEmpty && (skipped[path] != nil || path.folders.contains { skipped[$0] != nil })
    }
}
