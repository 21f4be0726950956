import Foundation
import Testing

@testable import Strata

extension Author {
    static func dearer(than fee: Double) -> Query<Author> { Author.where { $0.fee > fee } }
}

@Suite("Behaviour tables: objects", .timeLimit(.minutes(1)))
struct ObjectBehaviourTests {
    @Test("A model offers queries: all, where, sorted, and scopes with and without an argument")
    func queries() async throws {
        try await withStack(.memory) { stack in
            try await stack.background { context in
                for fee in [3.0, 1, 2] { context.insert(Author(name: "n\(4 - fee)", fee: fee)) }
                try context.save()
                #expect(try context.count(Author.all) == 3)
                #expect(try context.fetch(Author.where { $0.fee == 1 }).map(\.fee) == [1])
                #expect(try context.fetch(Author.sorted { $0.fee.ascending }).map(\.fee) == [1, 2, 3])
                #expect(try context.fetch(Author.expensive).map(\.fee) == [3])
                #expect(try context.fetch(Author.named).map(\.fee) == [3, 2, 1])
                #expect(try context.fetch(Author.dearer(than: 1.5).named).map(\.fee) == [3, 2])
            }
        }
    }

    @Test("Two models can each have a scope of the same name")
    func scopes() async throws {
        try await withStack(.memory) { stack in
            try await stack.background { context in
                context.insert(Writer(name: "zoe", fee: 1))
                context.insert(Writer(name: "ann", fee: 20))
                context.insert(Spouse(name: "zoe"))
                context.insert(Spouse(name: "ann"))
                try context.save()
                #expect(try context.fetch(Writer.clashing).map(\.name) == ["ann"])
                #expect(try context.fetch(Spouse.clashing).map(\.name) == ["zoe"])
            }
        }
    }

    @Test("An unsaved object is found, and is gone once it is deleted", arguments: StoreKind.allCases)
    func unsaved(_ kind: StoreKind) async throws {
        try await withStack(kind) { stack in
            try await stack.background { context in
                let author = context.insert(Author(name: "a"))
                #expect(try context.first(Author.all) === author)
                #expect(try context.fetch(Author.all).count == 1)
                context.delete(author)
                #expect(try context.first(Author.all) == nil)
                #expect(try context.find(author.id) == nil)
                // The object was inserted and deleted, so the commit has no changes to write.
                try context.commit()
                #expect(!context.hasChanges)
            }
        }
    }

    @Test("A model names its attributes, and an object returns all of its values")
    func attributes() {
        #expect(Writer._$schema.columns.map(\.name) == ["name", "fee"])
        let row = Writer(name: "w", fee: 0.1).snapshot
        #expect(row.name == "w" && abs(row.fee - 0.1) < 1e-9)
    }

    @Test("A Bool is stored as 1 or 0 and read as true or false", arguments: StoreKind.allCases)
    func bool(_ kind: StoreKind) async throws {
        try await withStack(kind) { stack in
            try await stack.background { context in
                context.insert(Article(title: "1", published: true))
                context.insert(Article(title: "0", published: false))
                try context.commit()
            }
            let reader = try stack.core.engine.borrowReader()
            defer { stack.core.engine.giveBack(reader) }
            var stored: [StoredValue] = []
            try reader.connection.statement("SELECT published FROM Article ORDER BY id").run([]) {
                stored.append($0.value(at: 0))
            }
            #expect(stored == [.integer(1), .integer(0)])
            let titles = try await stack.background {
                try $0.fetch(Article.where { $0.published == true }).map(\.title)
            }
            #expect(titles == ["1"])
        }
    }

    @Test("One value or several values of an object can be changed, and setting an equal value is not a change")
    func updating() async throws {
        try await withStack(.memory) { stack in
            try await stack.background { context in
                let author = context.insert(Author(name: "a", fee: 1))
                try context.commit()
                author.name = "a"
                author.fee = 1
                #expect(!context.hasChanges)
                author.name = "b"
                #expect(try context.first(Author.where { $0.name == "b" }) === author)
                (author.name, author.fee) = ("c", 2)
                #expect(try context.first(Author.where { $0.name == "c" && $0.fee == 2 }) === author)
                try context.commit()
                #expect(author.name == "c" && author.fee == 2)
            }
        }
    }

    @Test("A change of several values is saved as a whole or not at all")
    func atomicUpdate() async throws {
        try await withStack(.memory) { stack in
            let id = try await stack.background { context in
                let writer = context.insert(Writer(name: "w", fee: 1))
                try context.commit()
                return writer.id
            }
            try await stack.background { context in
                let writer = try #require(try context.find(id))
                writer.fee = 2
                writer.name = ""
                let error = #expect(throws: StrataError.self) { try context.save() }
                #expect(error?.code == .validation && Set(error?.details.map(\.column) ?? []) == ["name"])
                #expect(writer.fee == 2 && writer.name == "" && context.hasChanges)
                context.rollback()
            }
            #expect(try await stack.on(.main) { try $0.find(id)?.fee } == 1)
        }
    }

    @Test("No object is left after all of them are deleted", arguments: StoreKind.allCases)
    func destroyAll(_ kind: StoreKind) async throws {
        try await withStack(kind) { stack in
            try await stack.background { context in
                for name in ["a", "b", "c"] { context.insert(Author(name: name)) }
                try context.commit()
                for author in try context.fetch(Author.all) { context.delete(author) }
                #expect(try context.count(Author.all) == 0)
                try context.commit()
                #expect(try context.count(Author.all) == 0)
            }
        }
    }

    @Test("An object added through a relationship is found through it, sorted, as the same object")
    func throughRelationship() async throws {
        try await withStack(.memory) { stack in
            try await stack.background { context in
                let author = context.insert(Author(name: "a"))
                let (second, first) = (Article(title: "y"), Article(title: "x"))
                author.articles.insert(second)
                author.articles.insert(first)
                #expect(try author.articles.sorted { $0.title.ascending }.first === first)
                #expect(first.author === author)
                try context.save()
                #expect(try author.articles.sorted { $0.title.ascending }.first === first)
            }
        }
    }

    @Test("A deleted object can be read before and after the save", arguments: StoreKind.allCases)
    func readingDeleted(_ kind: StoreKind) async throws {
        try await withStack(kind) { stack in
            let id = try await stack.background { context in
                let author = context.insert(Author(name: "a"))
                context.insert(Article(title: "t", author: author))
                try context.commit()
                return author.id
            }
            try await stack.background { context in
                let author = try #require(try context.find(id))
                let article = try #require(try author.articles.first)
                context.delete(author)
                for _ in 0...2 {
                    #expect(author.isDeleted && author.name == "a" && article.isDeleted && article.title == "t")
                    #expect(try author.articles.fetch().isEmpty)
                    #expect(article.author == nil)
                    try context.commit()
                }
            }
        }
    }

    @Test("A save throws if an object deleted here was changed, and the error names the object")
    func changingDeleted() async throws {
        try await withStack(.memory) { stack in
            try await stack.background { context in
                let author = context.insert(Author(name: "a"))
                try context.commit()
                context.delete(author)
                author.name = "b"
                let error = #expect(throws: StrataError.self) { try context.save() }
                #expect(error?.code == .invalidState && error?.details.map(\.id) == [author.id.rawValue])
                context.rollback()
                #expect(!author.isDeleted && author.name == "a" && !context.hasChanges)
                try context.save()
            }
        }
    }
}
