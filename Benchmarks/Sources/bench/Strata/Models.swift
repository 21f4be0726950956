import Strata

/// The model of ten columns; the key is the object's id.
@Model final class Entry {
    var serial: Int
    var quantity: Int
    var flags: Int
    var price: Double
    var weight: Double
    var code: String
    var title: String
    var note: String
    var place: String
}

/// What handlers count in.
@Model final class Tally {
    @Attribute(.unique) var number: Int
    var count: Int
}

@Model final class Parent {
    var number: Int
    var name: String
    @Relationship(inverse: \Child.parent) var children: Many<Child>
}

@Model final class Child {
    var position: Int
    var weight: Double
    var label: String
    var parent: Parent?
}

@Model final class GitAuthor {
    var name: String
    @Attribute(.unique) var email: String
    @Relationship(inverse: \GitRevision.author) var revisions: Many<GitRevision>
}

@Model final class GitPath {
    @Attribute(.unique) var name: String
    @Relationship(inverse: \GitChange.path) var changes: Many<GitChange>
}

@Model final class GitRevision {
    @Attribute(.unique) var hash: String
    var time: Int
    var message: String
    var author: GitAuthor?
    @Relationship(inverse: \GitChange.revision) var changes: Many<GitChange>
}

@Model final class GitChange {
    var added: Int
    var removed: Int
    var revision: GitRevision?
    var path: GitPath?
}

extension Child {
    func hash(parent: Int) -> RowHash {
        ChildValues.hash(parent: parent, position: position, weight: weight, label: label)
    }
}

extension Entry {
    convenience init(_ values: EntryValues) {
        self.init(
            serial: values.serial,
            quantity: values.quantity,
            flags: values.flags,
            price: values.price,
            weight: values.weight,
            code: values.code,
            title: values.title,
            note: values.note,
            place: values.place
        )
    }

    var hash: RowHash {
        RowHash(
            serial: serial,
            quantity: quantity,
            flags: flags,
            price: price,
            weight: weight,
            code: code,
            title: title,
            note: note,
            place: place
        )
    }
}
