import Testing

@testable import Strata

@Suite("Behaviour tables: queries in a context", .timeLimit(.minutes(1)))
struct QueryBehaviourTests {
    @Test("A model returns its query, and merging equal queries leaves the query unchanged")
    func lifting() async throws {
        try await withStack(.memory) { stack in
            try await stack.background { (context) throws in
                let author = context.insert(Author(name: "a"))
                let all: Query<Author> = Author.all
                #expect(try isSame(context.fetch(all), [author]))
                #expect(try isSame(context.fetch(all.merging(Author.all)), [author]))
                #expect(all.description == Author.all.merging(all).description)
            }
        }
    }

    @Test("A property of a model's columns can start a predicate")
    func columns() async throws {
        try await withStack(.memory) { stack in
            try await stack.background { (context) throws in
                for name in ["a", "b"] { context.insert(Author(name: name)) }
                let name = Author.columns.name
                #expect(try context.fetch(Author.where { _ in name == "b" }).map(\.name) == ["b"])
            }
        }
    }

    @Test("A query sorts in descending order, including unsaved objects", arguments: StoreKind.allCases)
    func descending(_ kind: StoreKind) async throws {
        try await withStack(kind) { stack in
            try await stack.background { context in
                for name in ["b", "c", "a"] { context.insert(Author(name: name)) }
                try context.commit()
                context.insert(Author(name: "d"))
                #expect(try context.fetch(Author.sorted { $0.name.descending }).map(\.name) == ["d", "c", "b", "a"])
            }
        }
    }

    @Test("An empty store counts 0 objects and returns an empty list", arguments: StoreKind.allCases)
    func empty(_ kind: StoreKind) async throws {
        try await withStack(kind) { stack in
            try await stack.background { (context) throws in
                #expect(try context.count(Author.all) == 0)
                #expect(try context.fetch(Author.all).isEmpty)
                #expect(try context.first(Author.all) == nil)
                #expect(try context.last(Author.all) == nil)
                #expect(try !context.exists(Author.all))
            }
        }
    }

    @Test(
        "Unsaved objects are counted, fetched as the same objects, and found",
        arguments: StoreKind.allCases
    )
    func unsaved(_ kind: StoreKind) async throws {
        try await withStack(kind) { stack in
            try await stack.background { context in
                let first = context.insert(Author(name: "eecummings"))
                #expect(try context.count(Author.all) == 1)
                let second = context.insert(Author(name: "T. S. Eliot"))
                #expect(try context.count(Author.all) == 2)
                #expect(try context.ids(Author.all) == [first.id, second.id])
                let fetched = try context.fetch(Author.all)
                #expect(fetched.count == 2 && fetched[0] === first && fetched[1] === second)
                #expect(try context.first(Author.where { $0.name == "T. S. Eliot" }) === second)
                try context.commit()
                #expect(try context.first(Author.where { $0.name == "T. S. Eliot" }) === second)
            }
        }
    }

    /// Runs a body with the saved authors of the table.
    private func withAuthors(
        _ kind: StoreKind,
        _ body: sending @escaping @Sendable (SavingContext, [Author]) throws -> Void
    ) async throws {
        try await withStack(kind) { stack in
            try await stack.background { context in
                let authors = ["eecummings", "T. S. Eliot", "dante"].map { context.insert(Author(name: $0)) }
                try context.commit()
                try body(context, authors)
            }
        }
    }

    @Test("A query returns its first or last objects, one or several, in order", arguments: StoreKind.allCases)
    func ends(_ kind: StoreKind) async throws {
        try await withAuthors(kind) { context, authors in
            let all = Author.all
            #expect(try context.first(all) === authors[0])
            #expect(try context.last(all) === authors[2])
            for count in [2, 3] {
                let first = try context.first(count, of: all)
                let last = try context.last(count, of: all)
                #expect(isSame(first, Array(authors.prefix(count))))
                #expect(isSame(last, Array(authors.suffix(count))))
            }
            // The caller may ask for more objects than exist.
            #expect(try isSame(context.first(5, of: all), authors))
            #expect(try isSame(context.last(5, of: all), authors))
        }
    }

    @Test("A fetch returns the list of objects, and find returns the same object for its id")
    func get() async throws {
        try await withAuthors(.memory) { (context, authors) throws in
            #expect(try isSame(context.fetch(Author.all), authors))
            #expect(try context.find(authors[1].id) === authors[1])
            #expect(try authors[1].in(context) === authors[1])
        }
    }

    @Test(
        "An id finds its object again in this and in other contexts, also after conversion to text and back",
        arguments: StoreKind.allCases
    )
    func find(_ kind: StoreKind) async throws {
        try await withStack(kind) { stack in
            let id = try await stack.background { context in
                let author = context.insert(Author(name: "a"))
                try context.save()
                #expect(try context.find(author.id) === author)
                return author.id
            }
            let text = id.description
            for name in [ContextName.main, .root] {
                // The object is saved to main, so the root does not see it.
                #expect(try await stack.on(name) { try $0.find(id)?.name } == (name == .main ? "a" : nil))
            }
            try await stack.save(.main)
            let again = try #require(ObjectID<Author>(text))
            #expect(try await stack.on(.root) { try $0.find(again)?.name } == "a")
            #expect(try await stack.on(.root) { try $0.find(ObjectID<Author>.unassigned) == nil })
        }
    }

    @Test("An object can be used in another context with its relationships, and a query runs in several contexts")
    func inContext() async throws {
        try await withStack(.memory) { stack in
            let query = Article.where { $0.author.name == "a" }.sorted { $0.title.descending }
            let id = try await stack.background { context in
                let author = context.insert(Author(name: "a"))
                for title in ["x", "y"] { context.insert(Article(title: title, author: author)) }
                try context.commit()
                #expect(try context.fetch(query).map(\.title) == ["y", "x"])
                return author.id
            }
            try await stack.on(.main) { context in
                let author = try #require(try context.find(id))
                #expect(try author.articles.where { $0.title == "y" }.sorted { $0.title.ascending }.count == 1)
                context.insert(Article(title: "z", author: author))
                #expect(try context.fetch(query).map(\.title) == ["z", "y", "x"])
            }
            #expect(try await stack.on(.root) { try $0.fetch(query).map(\.title) } == ["y", "x"])
        }
    }

    @Test("An empty list of values matches no object, and its negation matches every object")
    func emptyList() async throws {
        try await withAuthors(.memory) { (context, authors) throws in
            #expect(try context.fetch(Author.where { $0.name.in([String]()) }).isEmpty)
            #expect(try isSame(context.fetch(Author.where { !$0.name.in([String]()) }), authors))
            #expect(try context.fetch(Author.where { $0.id.in([ObjectID<Author>]()) }).isEmpty)
        }
    }

    @Test("A Bool column is a condition by itself, and nil is not true")
    func truthValues() async throws {
        try await withStack(.memory) { stack in
            try await stack.background { (context) throws in
                let author = context.insert(Author(name: "a"))
                let old = context.insert(Article(title: "old", views: 1, published: true, author: author))
                let new = context.insert(Article(title: "new", views: 2, published: true))
                let draft = context.insert(Article(title: "draft", views: 3, author: author))
                context.insert(Citation(journal: "j", article: old))
                context.insert(Citation(journal: "k", article: draft))
                context.insert(Citation(journal: "l"))
                #expect(try isSame(context.fetch(Article.where { $0.published }), [old, new]))
                #expect(try isSame(context.fetch(Article.where { !$0.published }), [draft]))
                #expect(try isSame(context.fetch(Article.where { $0.published && $0.views > 1 }), [new]))
                #expect(try isSame(context.fetch(Article.where { $0.published || $0.views > 2 }), [old, new, draft]))
                #expect(try isSame(context.fetch(Article.where { $0.views > 0 && !$0.published }), [draft]))
                #expect(try isSame(context.fetch(Article.viewed.where { $0.published }.where { $0.views < 2 }), [old]))
                #expect(try isSame(author.articles.where { $0.published }.fetch(), [old]))
                #expect(try isSame(author.articles.limit(5).where { $0.published }.fetch(), [old]))
                func journals(_ query: Query<Citation>) throws -> [String] { try context.fetch(query).map(\.journal) }
                #expect(try journals(Citation.where { $0.article.published }) == ["j"])
                #expect(try journals(Citation.where { !$0.article.published }) == ["k", "l"])
            }
        }
    }

    @Test("An empty text is not nil")
    func emptyTexts() async throws {
        try await withStack(.memory) { stack in
            try await stack.background { (context) throws in
                for slug in ["", "a", nil] { context.insert(Article(slug: slug, title: slug ?? "", body: slug ?? "n")) }
                #expect(try context.column(Article.where { $0.slug.isEmpty }, \.slug) == [""])
                #expect(try context.column(Article.where { !$0.slug.isEmpty }, \.slug) == ["a", nil])
                #expect(try context.count(Article.where { $0.title.isEmpty }) == 2)
            }
        }
    }

    @Test("A query describes itself with the columns and tables of its store")
    func description() async throws {
        try await withStack(.memory) { stack in
            let sources = SQLSources.tables(resolver: stack.core.engine.schema.resolver)
            func check<Object: Model>(_ query: Query<Object>, _ part: String) throws {
                #expect(query.description.hasPrefix(try query.compile(.objects, using: sources).sql))
                #expect(query.description.contains(part), "\(query)")
            }
            try check(Author.sorted { $0.articles.count.descending }, #"WHERE t1."author" = t0."id""#)
            try check(Article.where { $0.author.articles.isEmpty }, #"t1."author" = t0."author""#)
            try check(Writer.where { !$0.spouses.isEmpty }, #""Writer_spouses" AS t2 ON t2."right" = t1."id""#)
            try check(Spouse.where { $0.writers.any { $0.fee > 1 } }, #""Writer_spouses" AS t2 ON t2."left" = t1."id""#)
            try check(Contract.where { $0.seal.color == "red" }, #"t1."contract" = t0."id""#)
            try await stack.background { context in
                let writer = context.insert(Writer(name: "w"))
                try check(writer.spouses.query, #"JOIN "Writer_spouses""#)
            }
        }
    }

    @Test("An average, a minimum and a sum include pending objects", arguments: StoreKind.allCases)
    func calculations(_ kind: StoreKind) async throws {
        try await withStack(kind) { stack in
            try await stack.background { context in
                for fee in [1.0, 2, 3] { context.insert(Author(name: "\(fee)", fee: fee)) }
                try context.commit()
                #expect(try context.average(Author.all, \.fee) == 2)
                #expect(try context.minimum(Author.all, \.fee) == 1)
                context.insert(Author(name: "4", fee: 0))
                #expect(try context.average(Author.all, \.fee) == 1.5)
                #expect(try context.minimum(Author.all, \.fee) == 0)
                #expect(try context.sum(Author.all, \.fee) == 6)
            }
        }
    }
}
