import Strata
import Testing

@Suite("Rows passed to a batch") struct BatchRowTests {
    @Test("A batch refuses a row whose object a relationship has inserted, and the error shows the correct code")
    func pending() async throws {
        let stack = try await openStack(.rootOnly)
        try await stack.background { context in
            let author = context.insert(Author(name: "Ada"))
            try context.commit()
            let rows = (0..<10).lazy.map { Article(slug: "\($0)", title: "\($0)", author: author).snapshot }
            let error = #expect(throws: StrataError.self) { try context.batchInsert(rows) }
            #expect(error?.code == .invalidState && error?.details.map(\.model) == ["Article"])
            #expect(error?.message.contains("var row = Article(…).snapshot; row.author = author.id") == true)
            #expect(try context.fetch(Article.all).map(\.slug) == ["0"], "the first one, which is pending")
            context.rollback()
            #expect(try context.count(Article.all) == 0)

            let id = author.id
            let right = (0..<10).lazy.map { number in
                var row = Article(slug: "\(number)", title: "\(number)").snapshot
                row.author = id
                return row
            }
            #expect(try context.batchInsert(right).inserted.count == 10)
            #expect(try author.articles.count == 10 && !context.hasChanges)
        }
        try await stack.close()
    }

    @Test("A batch insert or upsert refuses rows of objects inserted in this context or a parent, published or not")
    func others() async throws {
        let stack = try await openStack()
        let handle = try stack.create(.private, named: .other)
        let inParent = try await stack.on(.main) { context in context.insert(Article(title: "parent")).id }
        try await handle.perform { context in _ = context.insert(Article(slug: "mine", title: "published")) }
        try await handle.perform { context in
            let published = try #require(try context.first(Article.where { $0.slug == "mine" })).snapshot
            let unpublished = context.insert(Article(title: "unpublished")).snapshot
            let parents = try #require(try context.find(inParent)).snapshot
            for row in [published, unpublished, parents] {
                let error = #expect(throws: StrataError.self) { try context.batchInsert([row]) }
                #expect(error?.code == .invalidState && error?.details.map(\.id) == [row.id.rawValue])
                #expect(error?.message.contains("Pass rows of objects that do not belong to a context") == true)
            }
            let error = #expect(throws: StrataError.self) { try context.batchUpsert([published], by: "slug") }
            #expect(error?.code == .invalidState && error?.message.hasPrefix("batchUpsert ") == true)
        }
        try await stack.close()
    }

    @Test("A batch copies rows of stored objects, and of objects that were deleted before they were saved")
    func copies() async throws {
        let stack = try await openStack(.rootOnly)
        try await stack.background { context in
            let article = context.insert(Article(title: "a"))
            try context.commit()
            var copy = article.snapshot
            copy.title = "b"
            let gone = context.insert(Article(title: "c"))
            let row = gone.snapshot
            context.delete(gone)
            try context.batchInsert([copy, row])
            #expect(try context.fetch(Article.sorted { $0.title }).map(\.title) == ["a", "b", "c"])
        }
        try await stack.close()
    }
}
