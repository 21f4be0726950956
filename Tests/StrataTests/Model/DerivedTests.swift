import Foundation
import Testing

@testable import Strata

@Model(.unique("code", "last")) final class Person {
    enum Rank: String, AttributeValue { case low, high }

    var first: String
    var last: String = ""
    var points: Int = 0
    var bonus: Int = 0
    @Attribute(.updatedAt) var updatedAt: Date?
    var home: Homestead?

    @Derived(.indexed, .notEmpty) var fullName: String { [first, last].filter { !$0.isEmpty }.joined(separator: " ") }
    /// Derived from a property of another object.
    @Derived var code: String? {
        get {
            let name = fullName
            return name.isEmpty ? nil : Person.code(of: name)
        }
    }
    @Derived var best: Int { max(points, bonus) }
    @Derived var rank: Rank { self.best > 9 ? .high : .low }
    @Derived var isHomeless: Bool { home == nil }
    @Derived var isSaved: Bool { updatedAt != nil }

    static func code(of name: String) -> String { String(name.prefix(2)).uppercased() + "\(name.count)" }
}

@Model final class Homestead {
    var name: String
    @Relationship(inverse: \Person.home) var people: Many<Person>
}

@Suite("Derived attributes", .timeLimit(.minutes(1)))
struct DerivedTests {
    private func open(_ setUp: StackSetUp = .rootOnly, mergePolicy: MergePolicy = .error) async throws -> ContextStack {
        try await ContextStack.open(
            .inMemory,
            models: [Person.self, Homestead.self],
            stack: setUp,
            mergePolicy: mergePolicy
        )
    }

    /// The value of the column in the store, which only a query of the committed state shows.
    private func stored(_ stack: ContextStack) async throws -> [String] {
        let committed = try stack.create(.private, reads: .committed)
        return try await committed.perform { context in
            try context.column(Person.all, \.fullName)
        }
    }

    @Test(
        "Queries find, sort and count by derived attributes, and saves check them, pending and stored",
        arguments: [false, true]
    )
    func queries(isCommitted: Bool) async throws {
        let stack = try await open()
        try await stack.background { context in
            let ada = context.insert(Person(first: "Ada", last: "King", points: 3))
            context.insert(Person(first: "Bob", bonus: 12))
            #expect(ada.fullName == "Ada King" && ada.snapshot.fullName == "Ada King" && ada.code == "AD8")
            if isCommitted { try context.commit() }
            #expect(try context.first(Person.where { $0.fullName == "Ada King" }) === ada)
            #expect(try context.fetch(Person.where { $0.rank == .high }).map(\.first) == ["Bob"])
            #expect(try context.fetch(Person.sorted { $0.best.descending }).map(\.best) == [12, 3])
            #expect(try context.maximum(Person.all, \.best) == 12)
            #expect(try context.count(Person.where { $0.isHomeless }) == 2)
            ada.last = ""
            #expect(ada.fullName == "Ada")
            #expect(ada.changedValues["fullName"]?.new == (.text("Ada")))
            #expect(try context.column(Person.all, \.fullName) == ["Ada", "Bob"])
            try context.commit()
            #expect(try context.count(Person.where { $0.isSaved }) == 2)
            ada.first = ""
            let error = #expect(throws: StrataError.self) { try context.commit() }
            #expect(error?.details.map(\.description) == ["Person \(ada.id.rawValue).fullName must not be empty"])
            ada.first = "Bob"
            let double = #expect(throws: StrataError.self) { try context.commit() }
            #expect(double?.code == .notUnique)
            context.rollback()
            #expect(ada.fullName == "Ada")
        }
        #expect(try await stored(stack) == ["Ada", "Bob"])
    }

    @Test("Two writers of a derived attribute's sources do not conflict, and the stored value combines both")
    func merged() async throws {
        let stack = try await open(.standard)
        let id = try await stack.background { context in
            let person = context.insert(Person(first: "A", last: "B", points: 1, bonus: 5))
            try context.commit()
            return person.id
        }
        let (one, two) = (try stack.create(.private), try stack.create(.private))
        try await one.perform { context in
            let person = try #require(try context.find(id))
            person.first = "X"
            person.bonus = 0
        }
        // This edit changes no derived value by itself, but does once both edits are combined.
        try await two.perform { context in
            let person = try #require(try context.find(id))
            person.last = "Y"
            person.points = 2
        }
        try await one.commit()
        try await two.commit()
        #expect(try await stored(stack) == ["X Y"])
        try await stack.background { context in
            let person = try #require(try context.first(Person.where { $0.fullName == "X Y" && $0.best == 2 }))
            #expect(person.fullName == "X Y" && person.best == 2)
        }
    }

    @Test("A save to a parent with another edit does not conflict, and both contexts show the combined value")
    func savedToParent() async throws {
        let stack = try await open(.standard)
        let id = try await stack.on(.main) { context in
            let person = context.insert(Person(first: "A", last: "B"))
            try context.commit()
            return person.id
        }
        let child = try stack.create(.private)
        try await child.perform { try $0.find(id)?.first = "X" }
        try await stack.on(.main) { try $0.find(id)?.last = "Y" }
        try await child.save()
        #expect(try await stack.on(.main) { try $0.count(Person.where { $0.fullName == "X Y" }) } == 1)
        try await stack.save()
        #expect(try await stored(stack) == ["X Y"])
    }

    @Test("A child's commit under a parent's unsaved edit stores the value derived from the row in the store")
    func committedUnderParent() async throws {
        let stack = try await open(.standard)
        let id = try await stack.on(.main) { context in
            let person = context.insert(Person(first: "A", last: "B"))
            try context.commit()
            return person.id
        }
        try await stack.on(.main) { try $0.find(id)?.last = "Y" }
        try await stack.background { context in
            let person = try #require(try context.find(id))
            #expect(person.fullName == "A Y")
            person.first = "X"
            try context.commit()
            #expect(try context.column(Person.all, \.fullName) == ["X Y"])
        }
        #expect(try await stored(stack) == ["X B"])
        #expect(try await stack.on(.main) { try $0.count(Person.where { $0.fullName == "X Y" }) } == 1)
        try await stack.commit(.main)
        #expect(try await stored(stack) == ["X Y"])
    }

    @Test("A delete rule that a commit applies in the store updates derived attributes too")
    func nullified() async throws {
        let stack = try await open(.standard)
        let house = try await stack.background { context in
            let house = context.insert(Homestead(name: "h"))
            context.insert(Person(first: "A", home: house))
            try context.commit()
            return house.id
        }
        let blind = try stack.create(.private)
        try await blind.perform { context in context.delete(try #require(try context.find(house))) }
        try await stack.background { context in
            context.insert(Person(first: "B", home: try context.find(house)))
            try context.commit()
        }
        try await blind.commit()
        try await stack.background { context in
            let names = try context.fetch(Person.where { $0.isHomeless }).map(\.first)
            #expect(names == ["A", "B"])
        }
    }

    @Test("Two objects can swap a unique derived value")
    func swapped() async throws {
        let stack = try await open()
        try await stack.background { context in
            let one = context.insert(Person(first: "Ann"))
            let two = context.insert(Person(first: "Bob"))
            try context.commit()
            (one.first, two.first) = (two.first, one.first)
            try context.commit()
        }
        #expect(try await stored(stack) == ["Bob", "Ann"])
    }

    @Test("With .theirs, discarded values do not contribute to the derived value")
    func theirs() async throws {
        let stack = try await open(.rootOnly, mergePolicy: .theirs)
        let id = try await stack.background { context in
            let person = context.insert(Person(first: "A", last: "B"))
            try context.commit()
            return person.id
        }
        let (one, two) = (try stack.create(.private), try stack.create(.private))
        try await one.perform { try $0.find(id)?.first = "One" }
        try await two.perform { context in
            let person = try #require(try context.find(id))
            person.first = "Two"
            person.last = "C"
        }
        try await one.commit()
        try await two.commit()
        #expect(try await stored(stack) == ["One C"])
    }

    @Test("Derived attributes follow the rest of a parent's edits after a child has committed its own")
    func leftBehind() async throws {
        let stack = try await open(.standard)
        let id = try await stack.on(.root) { context in
            let person = context.insert(Person(first: "a", points: 1, bonus: 1))
            try context.commit()
            return person.id
        }
        try await stack.on(.main) { try #require(try $0.find(id)).points = 20 }
        try await stack.background { context in
            try #require(try context.find(id)).bonus = 5
            try context.commit()
        }
        let committed = try stack.create(.private, reads: .committed)
        #expect(try await committed.perform { try $0.column(Person.all, \.best) } == [5])
        try await stack.commit(.main)
        #expect(try await committed.perform { try $0.column(Person.all, \.best) } == [20])
        try await stack.close()
    }
}
