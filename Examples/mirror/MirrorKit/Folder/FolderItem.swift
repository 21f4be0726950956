/// A file or a folder that was found.
struct FolderItem: Hashable, Sendable {
    /// Names with slashes between them.
    let path: String
    let isFolder: Bool
    let stamp: FileStamp
    /// Whether it is neither a file nor a folder: a link, a socket.
    var isSpecial = false
}

/// What was found in a folder.
struct FolderScan: Sendable {
    /// Folders before what lies in them.
    var items: [FolderItem] = []
    /// What is left out, with the reason.
    var skipped: [String: String] = [:]
}
