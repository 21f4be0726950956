import Foundation

/// One commit as the log tells it.
public struct GitCommit: Sendable, Equatable {
    /// 40 hexadecimal digits, or 64 in a repository that uses SHA-256.
    public var hash: String
    /// The hashes of the parents: none for a root, two or more for a merge.
    public var parents: [String]
    public var authorName: String
    /// May be empty: git does not ask for one.
    public var authorEmail: String
    /// When the author wrote it, which need not be in the order of the commits.
    public var date: Date
    /// The whole message, without the line feed at its end.
    public var message: String
    /// What was changed against the only parent. Empty for merges.
    public var changes: [GitChange]

    /// The first line of the message.
    public var subject: String {
        String(message.prefix { !$0.isNewline })
    }
}

/// What a commit did to one file.
public struct GitChange: Sendable, Equatable {
    public var path: String
    /// The name before, if the commit renamed the file.
    public var oldPath: String?
    /// Lines added and deleted. Nil for a binary file.
    public var added: Int?
    public var deleted: Int?

    public init(path: String, oldPath: String? = nil, added: Int?, deleted: Int?) {
        self.path = path
        self.oldPath = oldPath
        self.added = added
        self.deleted = deleted
    }
}
