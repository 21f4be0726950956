import Foundation

/// A commit as the log describes it.
public struct GitCommit: Sendable, Equatable {
    /// 40 hexadecimal digits, or 64 in a repository that uses SHA-256.
    public var hash: String
    /// The hashes of the parents: none for a root commit, two or more for a merge.
    public var parents: [String]
    public var authorName: String
    /// May be empty, because git does not require an address.
    public var authorEmail: String
    /// The author's date. Dates may be out of order.
    public var date: Date
    /// The whole message, without the final line feed.
    public var message: String
    /// The changes relative to the only parent. Empty for merges.
    public var changes: [GitChange]

    /// The first line of the message.
    public var subject: String {
        String(message.prefix { !$0.isNewline })
    }
}

/// The change of a commit to one file.
public struct GitChange: Sendable, Equatable {
    public var path: String
    /// The previous path, if the commit renamed the file.
    public var oldPath: String?
    /// The numbers of added and deleted lines. Nil for a binary file.
    public var added: Int?
    public var deleted: Int?

    public init(path: String, oldPath: String? = nil, added: Int?, deleted: Int?) {
        self.path = path
        self.oldPath = oldPath
        self.added = added
        self.deleted = deleted
    }
}
