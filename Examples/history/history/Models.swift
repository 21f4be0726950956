import Foundation
import Strata

/// Somebody who wrote commits, known by the address.
@Model final class Person {
    @Attribute(.unique) var email: String
    var name: String
    @Relationship(inverse: \Commit.author) var commits: Many<Commit>
}

@Model final class Commit {
    @Attribute(.unique) var hash: String
    /// The place in the order of import, from 1: a commit's parents have smaller numbers.
    @Attribute(.unique) var number: Int
    @Attribute(.indexed) var date: Date
    var subject: String
    var isMerge: Bool
    var author: Person?
    @Relationship(deleteRule: .cascade, inverse: \Change.commit) var changes: Many<Change>

    /// The newest one first, in the order of import.
    static let newest = Commit.all.sorted { $0.number.descending }
    static let byDate = Commit.all.sorted { $0.date.ascending }
}

/// A file, known by its path. A rename makes another file of it.
@Model final class File {
    @Attribute(.unique) var path: String
    @Relationship(deleteRule: .cascade, inverse: \Change.file) var changes: Many<Change>

    static let byPath = File.all.sorted { $0.path.ascending }
}

/// What a commit did to a file, in lines: zero for a binary file.
@Model final class Change {
    var added: Int
    var deleted: Int
    var isBinary: Bool
    /// The name before, if the commit renamed the file.
    var oldPath: String?
    var commit: Commit?
    var file: File?
}
