import Foundation
public import Strata

/// Models that a package offers to another package: they are public, and some of their members are less visible. The
/// module is compiled with warnings as errors.
@Model(.index("name")) public final class Author {
    /// The full name.
    public var name: String
    public private(set) var bookCount: Int = 0
    var note: String?
    private var secret: String = "s"
    @Relationship(deleteRule: .cascade, inverse: \Book.author) public var books: Many<Book>

    public convenience init(reading text: String) {
        self.init(name: text.trimmingCharacters(in: .whitespaces), note: "read")
    }

    public func countBook() { bookCount += 1 }
    public var hasSecret: Bool { !secret.isEmpty }
}

@Model public final class Book {
    @Attribute(.unique) public var isbn: String
    public var author: Author?
    public var kind: Kind
    public var `default`: Bool = false

    public enum Kind: String, AttributeValue, CaseIterable { case novel, essay }
}

package enum Inner {
    @Model package final class Shelf {
        package var name: String = ""
        fileprivate var place: Place?
        fileprivate enum Place: Int, AttributeValue { case top, bottom }
    }
}

@Model private final class Hidden {
    var name: String?
    private var other: Hidden?
}

/// A private property without a default value makes the memberwise initialiser private as well.
@Model public final class Sealed {
    private var key: String
    public var label: String?

    public convenience init(_ key: String) { self.init(key: key) }
    public func opens(with key: String) -> Bool { key == self.key }
}

/// A model without columns.
@Model public final class Token {}

/// Uses a model that is not visible outside, so that the compiler must accept it.
public func makeHidden() -> String? {
    let hidden = Hidden(name: "h")
    hidden.name = "i"
    return hidden.snapshot.name
}
