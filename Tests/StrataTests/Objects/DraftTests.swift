import Testing

@testable import Strata

/// Commits, and returns the number of stored objects.
private func expectStored(_ authors: Int, _ articles: Int, _ context: SavingContext) throws {
    try context.commit()
    #expect(try context.count(Author.self) == authors)
    #expect(try context.count(Article.self) == articles)
}

@Suite("Relationships that are set before the insert")
struct DraftTests {
    private func withContext(_ body: @Sendable (SavingContext) throws -> Void) async throws {
        let stack = try await openStack(.rootOnly)
        try await stack.background { try body($0) }
        try await stack.close()
    }

    @Test("A relationship that was set back does not insert its object")
    func setBack() async throws {
        try await withContext { context in
            let (author, article) = (Author(name: "a"), Article(title: "t"))
            article.author = author
            article.author = author
            article.author = nil
            context.insert(author)
            try expectStored(1, 0, context)
            #expect(!article.isInserted)
        }
    }

    @Test("A relationship that was set to another object does not insert the first one")
    func setToAnother() async throws {
        try await withContext { context in
            let (first, second, article) = (Author(name: "a"), Author(name: "b"), Article(title: "t"))
            article.author = first
            article.author = second
            context.insert(first)
            try expectStored(1, 0, context)
            context.insert(second)
            try expectStored(2, 1, context)
            #expect(article.author === second)
        }
    }

    @Test("A relationship that was set to an object of a context does not insert the first one")
    func setToInserted() async throws {
        try await withContext { context in
            let (first, second, article) = (Author(name: "a"), Author(name: "b"), Article(title: "t"))
            article.author = first
            article.author = context.insert(second)
            try expectStored(1, 1, context)
            #expect(!first.isInserted && article.author === second)
        }
    }

    @Test("A member that was removed again does not insert its owner")
    func takenOut() async throws {
        try await withContext { context in
            let (author, article) = (Author(name: "a"), Article(title: "t"))
            author.articles.insert(article)
            author.articles.remove(article)
            context.insert(article)
            try expectStored(0, 1, context)
        }
    }

    @Test("An object that can be reached in another way is still inserted")
    func twoWays() async throws {
        try await withContext { context in
            let (author, article) = (Author(name: "a"), Article(title: "t"))
            article.author = author
            author.articles.insert(article)
            author.articles.remove(article)
            context.insert(author)
            try expectStored(1, 1, context)
            #expect(article.author === author)
        }
    }

    @Test("The replaced other side of a one-to-one relationship is not inserted")
    func oneToOne() async throws {
        try await withContext { context in
            let (contract, first, second) = (Contract(title: "c"), Seal(color: "red"), Seal(color: "blue"))
            contract.seal = first
            contract.seal = second
            context.insert(first)
            #expect(!contract.isInserted)
            context.insert(contract)
            #expect(second.isInserted && contract.seal === second)
        }
    }
}
