import Foundation

/// The metadata that the system has of a file or a folder.
package struct FileStatus: Sendable {
    package enum Kind: Sendable {
        case file, folder
        /// A symbolic link, a pipe or a device. A remote does not show these.
        case other
    }

    package let kind: Kind
    /// The size in bytes.
    package let size: Int64
    let links: Int
    let modified: timespec
    private let inode: UInt64

    /// The metadata of what is at a path, without following a symbolic link; nil if nothing can be found there.
    ///
    /// `FileManager` also looks up the names of the owner and the group, which takes several times as long.
    package init?(at path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    init(_ status: stat) {
        kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .file
            case S_IFDIR: .folder
            default: .other
            }
        size = Int64(status.st_size)
        links = Int(status.st_nlink)
        inode = UInt64(status.st_ino)
        #if canImport(Darwin)
            modified = status.st_mtimespec
        #else
            modified = status.st_mtim
        #endif
    }

    /// The version of a file: its inode, its modification time in nanoseconds, and its size.
    ///
    /// Each write by a remote creates a new file with a unique time, so its version differs even if the inode number is
    /// reused. The version is the same after restarts and in other processes. Moving the file, linking it, or changing
    /// its permissions does not change the version. For that reason the change time of the inode is not part of it.
    ///
    /// If a program rewrites a file in place, the modification time from the kernel shows it. The kernel's clock
    /// advances in steps of some milliseconds. Of two such rewrites within one step and with the same size, the second
    /// is not noticed.
    var eTag: ETag {
        let parts = [inode, UInt64(bitPattern: Int64(modified.tv_sec)), UInt64(bitPattern: Int64(modified.tv_nsec))]
        return ETag((parts + [UInt64(bitPattern: size)]).map { String($0, radix: 36) }.joined(separator: "-"))
    }

    package var modifiedAt: Date {
        Date(timeIntervalSince1970: Double(modified.tv_sec) + Double(modified.tv_nsec) / 1e9)
    }

    func object(_ key: RemoteKey) -> RemoteObject? {
        switch kind {
        case .file: RemoteObject(key: key, eTag: eTag, size: size, modifiedAt: modifiedAt)
        case .folder: RemoteObject(key: key, isFolder: true, modifiedAt: modifiedAt)
        case .other: nil
        }
    }
}
