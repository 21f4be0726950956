import Foundation
import Strata

/// A person who wrote commits, identified by the address.
@Model final class Person {
    @Attribute(.unique) var email: String
    var name: String
    @Relationship(inverse: \Commit.author) var commits: Many<Commit>
}

@Model final class Commit {
    @Attribute(.unique) var hash: String
    /// The position in the order of import, from 1. A commit's parents have smaller numbers.
    @Attribute(.unique) var number: Int
    @Attribute(.indexed) var date: Date
    var subject: String
    var isMerge: Bool
    var author: Person?
    @Relationship(deleteRule: .cascade, inverse: \Change.commit) var changes: Many<Change>

    /// The newest commit first, in the order of import.
    static let newest = Commit.all.sorted { $0.number.descending }
    static let byDate = Commit.all.sorted { $0.date.ascending }
}

/// A file, identified by its path. A renamed file is a new file.
@Model final class File {
    @Attribute(.unique) var path: String
    @Relationship(deleteRule: .cascade, inverse: \Change.file) var changes: Many<Change>

    static let byPath = File.all.sorted { $0.path.ascending }
}

/// The change of a commit to a file, in lines. The counts of a binary file are zero.
@Model final class Change {
    var added: Int
    var deleted: Int
    var isBinary: Bool
    /// The previous path, if the commit renamed the file.
    var oldPath: String?
    var commit: Commit?
    var file: File?
}
