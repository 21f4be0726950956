import Testing

@testable import Strata

@Suite("Convenience methods")
struct ConveniencesTests {
    private func fill(_ context: ObjectContext) {
        let ursula = context.insert(Author(name: "Ursula", fee: 2))
        let octavia = context.insert(Author(name: "Octavia"))
        context.insert(Article(title: "B", views: 1, author: ursula))
        context.insert(Article(title: "C", views: 1, author: octavia))
        context.insert(Article(title: "A", views: 2, author: ursula))
    }

    @Test("A model type can be used as a query for all of its objects, pending ones included")
    func wholeModel() async throws {
        let stack = try await openStack(.rootOnly)
        try await stack.background { context in
            fill(context)
            try context.commit()
            context.insert(Article(title: "D"))
            context.delete(try #require(try context.first(Article.where { $0.title == "B" })))
            let titles = try context.fetch(Article.self).map(\.title)
            let counts = [try context.count(Article.self), try context.count(Citation.self)]
            #expect(titles == ["C", "A", "D"])
            #expect(counts == [3, 0])
        }
    }

    @Test("A lookup by many ids returns the objects in the order of the ids, and skips missing ones")
    func manyIDs() async throws {
        let stack = try await openStack(.rootOnly)
        let ids = try await stack.background { context in
            fill(context)
            try context.commit()
            return try context.ids(Article.sorted { $0.title.descending })
        }
        try await stack.background { context in
            context.delete(try #require(try context.find(ids[1])))
            let found = try context.find(ids + [ids[0]])
            #expect(found.map(\.title) == ["C", "A", "C"])
            #expect(try context.find([ObjectID<Article>]()).isEmpty)
        }
    }

    @Test("A bare column sorts in ascending order, also after other sorts, across relationships and if it is optional")
    func bareColumns() async throws {
        let stack = try await openStack(.rootOnly)
        try await stack.background { context in
            fill(context)
            func titles(_ query: Query<Article>) throws -> [String] { try context.fetch(query).map(\.title) }
            let sorted = try titles(Article.sorted { $0.title })
            let behind = try titles(Article.sorted { $0.views.descending }.sorted { $0.title })
            let reordered = try titles(Article.sorted { $0.views.descending }.reordered { $0.title })
            let across = try titles(Article.sorted { $0.author.name }.sorted { $0.title })
            let optional = try context.fetch(Author.sorted { $0.fee }).map(\.name)
            #expect(sorted == ["A", "B", "C"])
            #expect(behind == ["A", "B", "C"])
            #expect(reordered == ["A", "B", "C"])
            #expect(across == ["C", "A", "B"])
            #expect(optional == ["Octavia", "Ursula"])
        }
    }

    @Test("A bare column sorts members")
    func members() async throws {
        let stack = try await openStack(.rootOnly)
        try await stack.background { context in
            fill(context)
            let ursula = try #require(try context.first(Author.where { $0.name == "Ursula" }))
            let all = try ursula.articles.sorted { $0.title }.fetch().map(\.title)
            let some = try ursula.articles.where { $0.views > 0 }.sorted { $0.title }.fetch().map(\.title)
            #expect(all == ["A", "B"])
            #expect(some == ["A", "B"])
        }
    }

    @Test("A value that was set back is not among the changed values")
    func setBack() async throws {
        let stack = try await openStack(.rootOnly)
        try await stack.background { context in
            let article = context.insert(Article(title: "A"))
            try context.commit()
            article.title = "B"
            article.views = 1
            #expect(article.changedValues.keys.sorted() == ["title", "views"])
            article.title = "A"
            #expect(article.changedValues == ["views": ChangedValue(old: .integer(0), new: .integer(1))])
            article.views = 0
            #expect(!article.hasChanges)
            try context.commit()
        }
    }

    @Test("The detail of an error shows the conflicting values, as far as there are any")
    func details() {
        var detail = StrataError.Detail(model: "Article", id: 7, column: "views", message: "was changed")
        #expect(detail.description == "Article 7.views was changed")
        detail.mine = .integer(1)
        #expect(detail.description == "Article 7.views was changed")
        detail.theirs = .integer(2)
        #expect(detail.description == "Article 7.views was changed (mine 1, theirs 2)")
        detail.base = .null
        #expect(detail.description == "Article 7.views was changed (base NULL, mine 1, theirs 2)")
    }

    @Test("A validation error names properties in the same way as the columns of a query")
    func validation() {
        var failures = Validation<Article>(number: 7)
        failures.fail("a", column: \.title)
        failures.fail("b", column: \.author)
        failures.fail("c", column: \.citations)
        failures.require(false, "d", column: \.author.name)
        failures.require(false, "e", column: \.title.length)
        failures.require(true, "f", column: \.title)
        failures.require(false, "g")
        #expect(failures.details.map(\.column) == ["title", "author", "citations", nil, nil, nil])
        #expect(failures.details.map(\.message) == ["a", "b", "c", "d", "e", "g"])
        #expect(failures.details.allSatisfy { $0.model == "Article" && $0.id == 7 })
    }

    @Test(
        "A range names its bounds in Swift's notation",
        arguments: [(0.0, 10.0, "0 and 10"), (-0.5, 1e300, "-0.5 and 1e+300")]
    )
    func ranges(lower: Double, upper: Double, text: String) throws {
        guard case .check(let message, .numbers?, _, _) = AttributeOption.range(lower...upper).kind else {
            throw StrataError(.invalidState, "A range is no check.")
        }
        #expect(message == "must be between \(text)")
    }
}
