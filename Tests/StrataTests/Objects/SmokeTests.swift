import Testing

@testable import Strata

@Suite struct SmokeTests {
    @Test("An object travels through three contexts to the store and back")
    func path() async throws {
        let stack = try await openStack()
        let id = try await stack.background { context in
            let author = context.insert(Author(name: "Ursula"))
            context.insert(Article(title: "Hand", author: author))
            context.insert(Article(title: "Left", author: author))
            #expect(try context.count(Article.all) == 2)
            #expect(try author.articles.fetch().map(\.title) == ["Hand", "Left"])
            try context.commit()
            #expect(try context.count(Article.all) == 2)
            return author.id
        }
        try await stack.on(.main) { context in
            let author = try #require(try context.find(id))
            #expect(author.name == "Ursula")
            #expect(try author.articles.count == 2)
            author.name = "U"
            #expect(try context.fetch(Author.where { $0.name == "U" }).first === author)
            #expect(try context.count(Article.where { $0.author.name == "U" }) == 2)
            try context.save()
            #expect(try context.fetch(Author.where { $0.name == "U" }).first === author)
        }
        try await stack.on(.root) { context in
            #expect(try context.find(id)?.name == "U")
            #expect(context.hasChanges)
            try context.save()
            #expect(!context.hasChanges)
        }
        try await stack.background { context in
            let author = try #require(try context.find(id))
            context.delete(author)
            #expect(try context.count(Article.all) == 0)
            try context.save()
        }
        try await stack.on(.main) { context in
            #expect(try context.find(id) == nil)
            #expect(try context.count(Article.all) == 0)
            try context.commit()
        }
        try await stack.close()
    }
}
