import Foundation

/// What the system knows of a file or a folder.
struct FileStatus: Sendable {
    enum Kind: Sendable {
        case file, folder
        /// A symbolic link, a pipe, a device: nothing of a remote's.
        case other
    }

    let kind: Kind
    let size: Int64
    let links: Int
    let modified: timespec
    private let inode: UInt64

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

    /// The version of a file: which inode, when it was written, to the nanosecond, and how long it is.
    ///
    /// Each write of a remote makes a new file with a time of its own, so another one gets another version also where the inode is used
    /// again. The same is told after restarts and by other processes, and moving, linking or changing rights changes nothing, which is why
    /// the time of the last change of the inode is not part of it. A program that rewrites a file in place is noticed by the time that
    /// the kernel sets, whose steps are some milliseconds: of two such within one step and of one size, the second is not.
    var eTag: ETag {
        let parts = [inode, UInt64(bitPattern: Int64(modified.tv_sec)), UInt64(bitPattern: Int64(modified.tv_nsec))]
        return ETag((parts + [UInt64(bitPattern: size)]).map { String($0, radix: 36) }.joined(separator: "-"))
    }

    var modifiedAt: Date {
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
