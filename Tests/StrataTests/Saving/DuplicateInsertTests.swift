import Foundation
import Testing

@testable import Strata

@Suite("Inserted objects that match existing ones") struct DuplicateInsertTests {
    @Model(.unique("first", "last", onConflict: .update))
    final class Contact {
        @Attribute(.unique(onConflict: .update)) var email: String?
        var first: String?
        var last: String?
        var visits: Int = 0
        @Attribute(.externalStorage) var photo: Data?
        @Attribute(.createdAt) var createdAt: Date?
        @Attribute(.updatedAt) var updatedAt: Date?
        @Derived var label: String { "\(first ?? "") \(visits)" }
        var company: Company?
        @Relationship(inverse: \Badge.contact) var badge: Badge?
        @Relationship(deleteRule: .cascade, inverse: \Call.contact, ordered: true) var calls: Many<Call>
        @Relationship(inverse: \Group.contacts, ordered: true) var groups: Many<Group>
    }

    @Model final class Company {
        var name: String
        @Relationship(deleteRule: .deny, inverse: \Contact.company) var contacts: Many<Contact>
    }

    @Model final class Badge {
        var number: Int
        var contact: Contact?
    }

    @Model final class Call {
        var text: String
        var contact: Contact?
    }

    @Model final class Group {
        var name: String
        var contacts: Many<Contact>
    }

    private func open(_ policy: MergePolicy = .error) async throws -> ContextStack {
        try await ContextStack.open(
            .inMemory,
            models: [Contact.self, Company.self, Badge.self, Call.self, Group.self],
            stack: .rootOnly,
            mergePolicy: policy
        )
    }

    @Test("Thousands of inserts merge into existing objects at once, by one column or by two", .timeLimit(.minutes(1)))
    func thousands() async throws {
        let stack = try await open()
        for visits in 1...2 {
            try await stack.background { context in
                for number in 0..<4000 {
                    context.insert(Contact(email: "\(number)", first: "Same", last: "\(number)", visits: visits))
                    context.insert(Contact(email: nil, first: "\(number)", last: "Same", visits: visits))
                }
                try context.commit()
            }
        }
        let counts = try await stack.background { context in
            try [context.count(Contact.all), context.count(Contact.where { $0.visits == 2 })]
        }
        #expect(counts == [8000, 8000])
        try await stack.close()
    }

    @Test("Values, members and references go to the existing object, which keeps its id and creation time")
    func everything() async throws {
        let stack = try await open()
        let (id, time) = try await stack.background { context in
            let contact = context.insert(Contact(email: "a", first: "Old", visits: 1, photo: Data([1])))
            contact.company = Company(name: "One")
            contact.badge = Badge(number: 1)
            contact.calls.insert(Call(text: "first"))
            contact.groups.insert(Group(name: "shared"))
            try context.commit()
            return (contact.id, contact.createdAt)
        }
        try await stack.background { context in
            let shared = try #require(try context.first(Group.all))
            let contact = context.insert(Contact(email: "a", first: "New", visits: 2, photo: Data([2, 3])))
            contact.company = Company(name: "Two")
            contact.badge = Badge(number: 2)
            for text in ["second", "third"] { contact.calls.insert(Call(text: text)) }
            contact.groups.insert(shared)
            contact.groups.insert(Group(name: "new"))
            try context.commit()
            #expect(contact.isDeleted)
            let all = try context.fetch(Contact.all)
            #expect(all.map(\.id) == [id] && all[0].createdAt == time)
        }
        // A new context reads the store.
        try await stack.background { context in
            let contact = try #require(try context.find(id))
            #expect(
                contact.email == "a" && contact.first == "New" && contact.visits == 2 && contact.photo == Data([2, 3])
            )
            #expect(contact.createdAt == time && contact.label == "New 2" && contact.company?.name == "Two")
            #expect(contact.badge?.number == 2)
            let calls = try contact.calls.fetch().map(\.text)
            #expect(calls == ["first", "second", "third"])
            let groups = try contact.groups.fetch().map(\.name)
            #expect(groups == ["shared", "new"])
            let labels = try context.count(Contact.where { $0.label == "New 2" })
            #expect(labels == 1)
            let badges = try context.fetch(Badge.sorted { $0.number }).map { $0.contact?.id }
            #expect(badges == [nil, id])
            let calls2 = try context.count(Call.all)
            #expect(calls2 == 3)
        }
        try await stack.close()
    }

    @Test("The earliest of several equal inserts stays, also by a combination of values; nil never matches")
    func several() async throws {
        let stack = try await open()
        try await stack.background { context in
            let values: [(String?, String?, String?)] = [
                ("a", "A", "Z"), ("b", "A", "Z"), (nil, "B", nil), (nil, "B", nil), ("a", nil, nil),
            ]
            let contacts = values.map { context.insert(Contact(email: $0.0, first: $0.1, last: $0.2)) }
            try context.commit()
            let left = try context.fetch(Contact.all)
            // The second object merges into the first by its names and gives it its address, so the last one matches no
            // other.
            #expect(left.map(\.id) == [contacts[0], contacts[2], contacts[3], contacts[4]].map(\.id))
            #expect(left.map(\.email) == ["b", nil, nil, "a"])
        }
        try await stack.close()
    }

    @Test(
        "An insert merges into a parent's unsaved object at the save, and into a stored object at the parent's commit"
    )
    func levels() async throws {
        let stack = try await open()
        try stack.push(.private, named: .network)
        let id = try await stack.on(.network) { context in context.insert(Contact(email: "a", first: "parent")).id }
        try await stack.background { context in
            context.insert(Contact(email: "a", first: "child", visits: 7))
            try context.save()
            let all = try context.fetch(Contact.all)
            #expect(all.map(\.id) == [id] && all[0].first == "child")
        }
        // Another context commits the same address before the parent does.
        let stored = try await stack.background(parent: .named(.root)) { context in
            let contact = context.insert(Contact(email: "a", first: "other"))
            try context.commit()
            return contact.id
        }
        try await stack.on(.network) { context in
            try context.commit()
            let all = try context.fetch(Contact.all)
            #expect(all.map(\.id) == [stored] && all[0].first == "child" && all[0].visits == 7)
        }
        try await stack.close()
    }

    @Test("A failed save leaves the inserted object as it was, and the next successful save merges it")
    func failure() async throws {
        let stack = try await open()
        let id = try await stack.background { context in
            let contact = context.insert(Contact(email: "a", visits: 1))
            context.insert(Contact(email: "busy", visits: 1))
            try context.commit()
            return contact.id
        }
        try await stack.background { context in
            let busy = try #require(try context.first(Contact.where { $0.email == "busy" }))
            busy.visits = 5
            try await stack.background(parent: .named(.root)) { other in
                try #require(try other.first(Contact.where { $0.email == "busy" })).visits = 6
                try other.commit()
            }
            let contact = context.insert(Contact(email: "a", visits: 9))
            contact.calls.insert(Call(text: "mine"))
            for _ in 0..<2 {
                let error = #expect(throws: StrataError.self) { try context.commit() }
                #expect(error?.code == .conflict)
                #expect(!contact.isDeleted && contact.isInserted && contact.email == "a")
                let old = try #require(try context.find(id))
                #expect(old.visits == 1)
                let calls = try contact.calls.fetch().map(\.text)
                #expect(calls == ["mine"])
            }
            context.rollback([busy])
            try context.commit()
            let merged = try #require(try context.find(id))
            #expect(contact.isDeleted && merged.visits == 9)
            let calls = try merged.calls.fetch().map(\.text)
            #expect(calls == ["mine"])
        }
        try await stack.close()
    }

    @Test("Others' changes of the existing object in the meantime count as older, under every policy")
    func older() async throws {
        for policy in [MergePolicy.error, .mine, .theirs] {
            let stack = try await open(policy)
            let id = try await stack.background { context in
                let contact = context.insert(Contact(email: "a", visits: 1))
                try context.commit()
                return contact.id
            }
            try stack.create(.private, named: .other)
            try await stack.on(.other) { context in
                _ = try context.find(id)?.visits
                context.insert(Contact(email: "a", visits: 9))
                try await stack.background { other in
                    try #require(try other.find(id)).visits = 6
                    try other.commit()
                }
                try context.commit()
                let visits = try context.find(id)?.visits
                #expect(visits == 9)
            }
            try await stack.close()
        }
    }

    @Test("Every context of a chain merges its own inserts")
    func chain() async throws {
        let stack = try await open()
        let id = try await stack.background { context in
            let contact = context.insert(Contact(email: "a", visits: 1))
            try context.commit()
            return contact.id
        }
        try stack.push(.private, named: .network)
        try await stack.on(.network) { _ = $0.insert(Contact(email: "a", visits: 2)) }
        try stack.push(.private, named: .other)
        try await stack.on(.other) { _ = $0.insert(Contact(email: "b", visits: 3)) }
        try await stack.save()
        try await stack.background { context in
            let all = try context.fetch(Contact.all)
            #expect(all.map(\.visits) == [2, 3] && all[0].id == id)
        }
        try await stack.close()
    }
}
