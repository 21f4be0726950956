import Testing

@testable import Strata

@Model private final class Library {
    var name: String
    @Relationship(deleteRule: .cascade, inverse: \Shelf.library) var shelves: Many<Shelf>
    @Relationship(inverse: \Reader.library) var readers: Many<Reader>
    @Relationship(inverse: \Topic.libraries, ordered: true) var topics: Many<Topic>
    @Relationship(deleteRule: .deny, inverse: \Loan.library) var loans: Many<Loan>
}

@Model private final class Shelf {
    var label: String
    var library: Library?
    @Relationship(deleteRule: .cascade, inverse: \Volume.shelf) var volumes: Many<Volume>
}

@Model private final class Volume {
    var title: String
    var shelf: Shelf?
}

@Model private final class Reader {
    var name: String
    var library: Library?
}

@Model private final class Topic {
    var name: String
    var libraries: Many<Library>
}

@Model private final class Loan {
    var number: Int
    var library: Library?
}

@Suite("What delete rules did is taken back with the delete", .timeLimit(.minutes(1)))
struct RollbackOfDeleteTests {
    private func withLibrary(
        _ body: @Sendable (ObjectContext, Library) throws -> Void
    ) async throws {
        let stack = try await ContextStack.open(
            .inMemory,
            models: [Library.self, Shelf.self, Volume.self, Reader.self, Topic.self, Loan.self]
        )
        try await stack.background { context in
            let library = context.insert(Library(name: "city"))
            let shelf = context.insert(Shelf(label: "A", library: library))
            for title in ["one", "two"] { context.insert(Volume(title: title, shelf: shelf)) }
            context.insert(Reader(name: "Ada", library: library))
            for name in ["sea", "air", "ice"] { library.topics.insert(Topic(name: name)) }
            let last = try #require(try library.topics.last)
            try library.topics.move(last, before: try library.topics.first)
            try context.commit()
            try body(context, library)
        }
        try await stack.close()
    }

    private func expectWhole(_ context: ObjectContext, _ library: Library) throws {
        #expect(!library.isDeleted)
        #expect(try library.topics.fetch().map(\.name) == ["ice", "sea", "air"])
        #expect(try library.readers.fetch().map(\.name) == ["Ada"])
        #expect(try library.shelves.first?.volumes.fetch().map(\.title) == ["one", "two"])
    }

    @Test("C10 C18 everything is as it was, and nothing is left to save")
    func whole() async throws {
        try await withLibrary { context, library in
            let reader = try #require(try context.first(Reader.all))
            for _ in 0..<2 {
                context.delete(library)
                #expect(try reader.library == nil && context.count(Volume.all) == 0)
                context.rollback([library])
                #expect(reader.library === library)
                try expectWhole(context, library)
                #expect(!context.hasChanges)
            }
            try context.commit()
            try expectWhole(context, library)
        }
    }

    @Test("C18 after a denied save the others are saved, and what was denied is whole")
    func denied() async throws {
        try await withLibrary { context, library in
            context.insert(Loan(number: 1, library: library))
            try context.commit()
            context.delete(library)
            context.insert(Reader(name: "Eve"))
            let error = #expect(throws: StrataError.self) { try context.commit() }
            #expect(error?.code == .deleteDenied)
            context.rollback([library])
            try context.commit()
            try expectWhole(context, library)
            #expect(try context.count(Reader.all) == 2)
        }
    }

    @Test("C18 what others were given since stays, and so do their own edits")
    func changedSince() async throws {
        try await withLibrary { context, library in
            let other = context.insert(Library(name: "other"))
            let ada = try #require(try context.first(Reader.all))
            let eve = context.insert(Reader(name: "Eve", library: library))
            try context.commit()
            ada.name = "Ada L."
            context.delete(library)
            eve.library = other
            let topic = try #require(try context.first(Topic.all))
            other.topics.insert(topic)
            context.rollback([library])
            #expect(ada.name == "Ada L." && ada.library === library)
            #expect(eve.library === other)
            #expect(try other.topics.ids == [topic.id] && library.topics.count == 3)
            try context.commit()
            #expect(try library.readers.ids == [ada.id])
        }
    }

    @Test("C18 members that were never saved are members again")
    func unsaved() async throws {
        try await withLibrary { context, library in
            library.topics.insert(Topic(name: "sun"))
            let reader = context.insert(Reader(name: "Eve", library: library))
            context.delete(library)
            context.rollback([library])
            #expect(try library.topics.fetch().map(\.name) == ["ice", "sea", "air", "sun"])
            #expect(reader.library === library)
            try context.commit()
            #expect(try library.topics.count == 4)
        }
    }

    @Test("C18 a delete that was saved or committed is not taken back")
    func saved() async throws {
        try await withLibrary { context, library in
            let reader = try #require(try context.first(Reader.all))
            context.delete(library)
            try context.save()
            reader.name = "Eve"
            context.rollback([library])
            #expect(library.isDeleted && reader.library == nil && reader.name == "Eve")
            try context.commit()
            #expect(try context.count(Topic.all) == 3 && context.count(Shelf.all) == 0)
        }
    }
}
