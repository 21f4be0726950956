import Strata
import Testing

@Suite("Behaviour tables: relationships", .timeLimit(.minutes(1)))
struct RelationshipBehaviourTests {
    /// Runs a body with an author and saved articles.
    private func withArticles(
        _ kind: StoreKind,
        _ count: Int,
        _ body: @escaping @Sendable (SavingContext, Author, [Article]) throws -> Void
    ) async throws {
        try await withStack(kind) { stack in
            try await stack.background { context in
                let author = context.insert(Author(name: "a"))
                let articles = (1...count).map { context.insert(Article(title: "t\($0)", author: author)) }
                try context.commit()
                try body(context, author, articles)
            }
        }
    }

    @Test(
        "A relationship returns its first and last members, one or several, in the order of creation",
        arguments: StoreKind.allCases
    )
    func ends(_ kind: StoreKind) async throws {
        try await withArticles(kind, 7) { _, author, articles in
            #expect(try author.articles.first === articles[0])
            #expect(try author.articles.last === articles[6])
            for count in [2, 3, 5, 9] {
                let first = try author.articles.first(count)
                let last = try author.articles.last(count)
                #expect(first.elementsEqual(articles.prefix(count), by: ===))
                #expect(last.elementsEqual(articles.suffix(count), by: ===))
            }
            #expect(try author.articles.count == 7)
            #expect(try author.articles.fetch().elementsEqual(articles, by: ===))
        }
    }

    @Test("An added member is found by where, from both sides", arguments: StoreKind.allCases)
    func adding(_ kind: StoreKind) async throws {
        try await withStack(kind) { stack in
            try await stack.background { context in
                let writer = context.insert(Writer(name: "w"))
                let (one, two) = (context.insert(Spouse(name: "1")), Spouse(name: "2"))
                writer.spouses.insert(one)
                two.writers.insert(writer)
                #expect(two.isInserted)
                for _ in 0...1 {
                    #expect(try writer.spouses.where { $0.name == "2" }.first === two)
                    #expect(try one.writers.fetch().map(\.name) == ["w"])
                    #expect(try writer.spouses.count == 2)
                    #expect(try two.writers.count == 1)
                    #expect(try writer.spouses.contains(one))
                    #expect(try context.count(Spouse.where { $0.writers.contains(writer) }) == 2)
                    // The second round reads from the store.
                    try context.commit()
                }
            }
        }
    }

    @Test("Members can be removed and saved repeatedly", arguments: StoreKind.allCases)
    func removing(_ kind: StoreKind) async throws {
        try await withArticles(kind, 3) { context, author, articles in
            for (index, article) in articles.enumerated() {
                author.articles.remove(article)
                #expect(try author.articles.count == 2 - index)
                try context.save()
                #expect(try author.articles.count == 2 - index)
                #expect(article.author == nil && !article.isDeleted)
            }
            #expect(try context.count(Article.all) == 3)
            try context.commit()
            #expect(try context.count(Article.where { $0.author == nil }) == 3)
        }
    }

    @Test("Deleting a discussion with twenty messages deletes all messages", arguments: StoreKind.allCases)
    func cascade(_ kind: StoreKind) async throws {
        try await withStack(kind) { stack in
            let id = try await stack.background { context in
                let discussion = context.insert(Discussion(name: "d"))
                for index in 0..<20 { context.insert(Message(content: "\(index)", discussion: discussion)) }
                try context.commit()
                return discussion.id
            }
            // This context has not loaded any of the messages.
            try await stack.background { context in
                context.delete(try #require(try context.find(id)))
                #expect(try context.count(Message.all) == 0)
                try context.save()
                #expect(try context.count(Message.all) == 0)
            }
            #expect(try await stack.on(.main) { try $0.count(Message.all) } == 0)
            #expect(try await stack.on(.root) { try $0.count(Message.all) } == 20)
            try await stack.commit(.main)
            #expect(try await stack.on(.root) { try $0.count(Message.all) } == 0)
        }
    }

    @Test("A deleted object that is not saved is no longer counted")
    func destroying() async throws {
        try await withArticles(.memory, 1) { context, author, articles in
            context.delete(articles[0])
            let members = try author.articles.fetch()
            #expect(members.isEmpty)
            #expect(try author.articles.count == 0)
            #expect(try context.count(Article.all) == 0)
            #expect(try author.articles.first == nil)
        }
    }

    @Test(
        "A query leads from authors to articles to citations and back, with a regular expression",
        arguments: StoreKind.allCases
    )
    func integration(_ kind: StoreKind) async throws {
        try await withArticles(kind, 3) { context, author, articles in
            for article in articles { context.insert(Citation(journal: "J \(article.title)", article: article)) }
            try context.save()
            #expect(try author.articles.count == 3)
            #expect(try author.articles.first?.citations.count == 1)
            #expect(try context.count(Citation.where { $0.article.author.name == "a" }) == 3)
            let found = try context.fetch(Citation.where { $0.journal.matches("t[23]$") })
            #expect(found.map(\.journal) == ["J t2", "J t3"])
            #expect(found.first?.article?.author === author)
            #expect(try context.first(Author.where { $0.articles.any { $0.citations.count == 1 } }) === author)
        }
    }
}
