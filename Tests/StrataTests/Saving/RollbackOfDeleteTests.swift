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
    @Relationship(deleteRule: .cascade, inverse: \Volume.shelf, ordered: true) var volumes: Many<Volume>
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

@Suite("Rolling back a delete and the effects of its delete rules", .timeLimit(.minutes(1)))
struct RollbackOfDeleteTests {
    private func withLibrary(
        _ body: @Sendable (SavingContext, Library) throws -> Void
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

    @Test("A rolled back delete restores everything and leaves nothing to save")
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

    @Test("After a denied save, a rollback restores the denied object, and the other changes are saved")
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

    @Test("A rolled back delete leaves references set since and other objects' own edits in place")
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

    @Test("A rolled back delete restores members that were never saved")
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

    @Test("A rolled back delete restores objects that were inserted here and deleted with it")
    func unsavedMembers() async throws {
        try await withLibrary { context, library in
            let shelf = context.insert(Shelf(label: "B", library: library))
            for title in ["three", "four"] { shelf.volumes.insert(Volume(title: title)) }
            try shelf.volumes.move(try #require(try shelf.volumes.last), before: try shelf.volumes.first)
            context.delete(library)
            context.rollback([library])
            #expect(try library.shelves.fetch().map(\.label) == ["A", "B"])
            #expect(try shelf.volumes.fetch().map(\.title) == ["four", "three"] && !shelf.isDeleted)
            try context.commit()
            #expect(try shelf.volumes.fetch().map(\.title) == ["four", "three"])
            context.delete(library)
            context.rollback([library, shelf])
            try expectWhole(context, library)
        }
    }

    @Test(
        "A rolled back delete restores a member only if the delete of the member's other end is rolled back too",
        arguments: [false, true]
    )
    func otherEnd(isSaved: Bool) async throws {
        try await withLibrary { context, library in
            let topic = context.insert(Topic(name: "sun"))
            if isSaved { try context.commit() }
            library.topics.insert(topic)
            context.delete(library)
            if isSaved { context.delete(topic) }
            context.rollback(isSaved ? [library] : [library, topic])
            #expect(try library.topics.count == 3)
            if isSaved {
                context.rollback([topic])
                #expect(try library.topics.count == 4)
            }
            try context.commit()
        }
    }

    @Test("A rolled back delete restores the reference that an object had just before the delete")
    func ledElsewhere() async throws {
        try await withLibrary { context, library in
            let other = context.insert(Library(name: "other"))
            try context.commit()
            let ada = try #require(try context.first(Reader.all))
            ada.library = other
            context.delete(other)
            context.rollback([other])
            #expect(ada.library === other)
            try context.commit()
            #expect(try other.readers.count == 1)
        }
    }

    @Test("A rolled back delete keeps edits of a member brought back earlier, and forgets the member's failures")
    func broughtBack() async throws {
        try await withLibrary { context, library in
            let shelf = try #require(try library.shelves.first)
            context.delete(library)
            shelf.label = "late"
            #expect(throws: StrataError.self) { try context.save() }
            context.rollback([library])
            try context.save()
            context.delete(library)
            context.rollback([shelf])
            shelf.library = nil
            shelf.label = "new"
            context.rollback([library])
            #expect(shelf.label == "new" && shelf.library == nil)
            try context.commit()
            #expect(try context.count(Shelf.where { $0.label == "new" }) == 1)
        }
    }

    @Test("A reference to a deleted object is refused until one of both, or the other context's delete, is rolled back")
    func related() async throws {
        try await withLibrary { context, library in
            context.delete(library)
            let reader = context.insert(Reader(name: "Eve", library: library))
            #expect(throws: StrataError.self) { try context.save() }
            context.rollback([reader])
            try context.save()
            context.rollback(includingSaved: true)
        }
        let stack = try await ContextStack.open(
            .inMemory,
            models: [Library.self, Shelf.self, Volume.self, Reader.self, Topic.self, Loan.self]
        )
        let child = try stack.create(.private, named: "child")
        try await stack.on(.main) { context in
            context.insert(Library(name: "city"))
            context.insert(Reader(name: "Ada"))
            try context.commit()
        }
        try await child.perform { context in
            context.state[Held.self] = try context.first(Library.all)
        }
        try await stack.on(.main) { context in context.delete(try #require(try context.first(Library.all))) }
        try await child.perform { context in
            let library = try #require(context.state[Held.self])
            #expect(library.isDeleted)
            try #require(try context.first(Reader.all)).library = library
        }
        try await stack.on(.main) { $0.rollback() }
        try await child.perform { context in
            try context.commit()
            #expect(try context.first(Reader.all)?.library?.name == "city")
        }
        try await stack.close()
    }

    @Test("A rollback does not take back a delete that was saved or committed", arguments: [false, true])
    func saved(isCommitted: Bool) async throws {
        try await withLibrary { context, library in
            let reader = try #require(try context.first(Reader.all))
            let other = context.insert(Library(name: "other"))
            try context.commit()
            context.delete(library)
            func save() throws { if isCommitted { try context.commit() } else { try context.save() } }
            try save()
            reader.library = other
            try save()
            reader.library = nil
            context.rollback([library])
            #expect(library.isDeleted && reader.library == nil)
            try context.commit()
            #expect(try context.count(Topic.all) == 3 && context.count(Shelf.all) == 0 && other.readers.isEmpty)
        }
    }
}

private enum Held: ContextStateKey { typealias Value = Library }
