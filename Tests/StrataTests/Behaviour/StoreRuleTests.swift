import Foundation
import TestHomeTraits
import Testing

@testable import Strata

@Suite("Unique values, order, merged rows, chains and ids", .timeLimit(.minutes(1)))
struct StoreRuleTests {
    @Test("A save checks unique values in the parent's view and a commit in the store, and one commit can swap them")
    func unique() async throws {
        try await withStack(.memory) { stack in
            try await stack.background { context in
                let (one, two) = (Article(slug: "1", title: "1"), Article(slug: "2", title: "2"))
                context.insert(one)
                context.insert(two)
                try context.commit()
                (one.slug, two.slug) = ("2", "1")
                try context.commit()
                #expect(try context.first(Article.where { $0.slug == "1" }) === two)
                context.insert(Article(slug: "1", title: "3"))
                let error = #expect(throws: StrataError.self) { try context.save() }
                #expect(error?.code == .notUnique && error?.details.contains { $0.column == "slug" } == true)
                context.rollback()
            }
            // The holder is gone in the parent's view, but not in the store.
            try await stack.on(.main) { context in
                context.delete(try #require(try context.first(Article.where { $0.slug == "1" })))
            }
            try await stack.background { context in
                context.insert(Article(slug: "1", title: "4"))
                try context.save()
                let error = #expect(throws: StrataError.self) { try context.commit() }
                #expect(error?.code == .notUnique)
                #expect(error.map { "\($0)".contains("'main'") } == true, "\(String(describing: error))")
            }
            try await stack.commit(.main)
            #expect(try await stack.on(.root) { try $0.fetch(Article.where { $0.slug == "1" }).map(\.title) } == ["4"])
        }
    }

    @Test("An ordered relationship merges moves of different members without a conflict")
    func ordered() async throws {
        try await withStack(.memory) { stack in
            let id = try await stack.background { context in
                let writer = context.insert(Writer(name: "w"))
                for name in ["1", "2", "3", "4"] { writer.spouses.insert(Spouse(name: name)) }
                try context.commit()
                return writer.id
            }
            try stack.create(.private, named: .network)
            try await stack.on(.network) { context in
                let writer = try #require(try context.find(id))
                let members = try writer.spouses.fetch()
                try writer.spouses.move(members[3], before: members[0])
                #expect(try writer.spouses.fetch().map(\.name) == ["4", "1", "2", "3"])
            }
            try await stack.background { context in
                let writer = try #require(try context.find(id))
                let members = try writer.spouses.fetch()
                try writer.spouses.move(members[0], before: nil)
                try context.commit()
                #expect(try writer.spouses.fetch().map(\.name) == ["2", "3", "4", "1"])
            }
            try await stack.commit(.network)
            #expect(try await stack.on(.root) { try $0.find(id)?.spouses.fetch().map(\.name) } == ["4", "2", "3", "1"])
        }
    }

    @Test("A row that is merged from two writers keeps the changes of both")
    func mergedRow() async throws {
        try await withStack(.memory) { stack in
            let id = try await stack.background { context in
                let writer = context.insert(Writer(name: "w", fee: 1))
                try context.commit()
                return writer.id
            }
            try stack.create(.private, named: .network)
            try await stack.on(.network) { try #require(try $0.find(id)).fee = 12 }
            try await stack.background(parent: .named(.root)) { context in
                try #require(try context.find(id)).name = "other"
                try context.commit()
            }
            try await stack.commit(.network)
            let row = try await stack.on(.root) { try $0.find(id)?.snapshot }
            #expect(row?.name == "other" && row?.fee == 12)
        }
    }

    @Test("A chain that fails at the store leaves every layer as it was")
    func chain() async throws {
        try await withStack(.memory) { stack in
            try await stack.background { context in
                context.insert(Article(slug: "s", title: "1"))
                try context.commit()
            }
            try await stack.on(.main) { _ = $0.insert(Author(name: "main's")) }
            try stack.push(.private, named: .network)
            try await stack.on(.network) { _ = $0.insert(Article(slug: "s", title: "2")) }
            await expect(.notUnique) { try await stack.save() }
            #expect(try await stack.on(.main) { try $0.count(Article.all) } == 1)
            #expect(try await stack.on(.network) { $0.hasChanges })
            #expect(try await stack.on(.root) { try $0.count(Author.all) } == 0)
            try await stack.on(.network) { try #require(try $0.first(Article.where { $0.title == "2" })).slug = nil }
            try await stack.save()
            #expect(try await stack.on(.root) { try $0.count(Article.all) + $0.count(Author.all) } == 3)
        }
    }

    @Test("An id of another store throws an error, also after conversion to text or JSON")
    func idOfOtherStore() async throws {
        try await withStack(.memory) { stack in
            let id = try await stack.background { $0.insert(Author(name: "a")).id }
            try await withStack(.memory) { other in
                let text = try #require(ObjectID<Author>(id.description))
                let coded = try JSONDecoder().decode([ObjectID<Author>].self, from: JSONEncoder().encode([id]))
                #expect(text == id && coded == [id] && ObjectID<Article>(id.description) == nil)
                await expect(.idOfOtherStore) { try await other.background { _ = try $0.find(text) } }
            }
        }
    }

    @Test(
        "Rows inserted with SQL take their ids from the stack, and are objects like any other",
        .aboutTheFile("changes rows of the file from outside")
    )
    func rawRows() async throws {
        let folder = try StoreFolder()
        let stack = try openItems(.standard, at: folder.location)
        let id = try stack.newID(for: Item.self)
        let raw = try DiskLock(folder.file)
        try raw.run("INSERT INTO Item (id, number) VALUES (\(id.rawValue), 4)")
        try raw.run("COMMIT")
        #expect(try await stack.background { try $0.find(id)?.number } == 4)
        #expect(try await stack.background { $0.insert(Item(number: 5)).id } != id)
        try await stack.close()
    }
}
