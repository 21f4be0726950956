import Foundation
import Testing

@testable import Strata

@Suite("Batch updates, inserts and upserts") struct BatchTests {
    private func makeArticles(_ count: Int, _ stack: ContextStack) async throws {
        try await stack.background { context in
            for index in 0..<count { context.insert(Article(title: "\(index)", body: "b", views: index)) }
            try context.commit()
        }
    }

    @Test("An update changes the committed rows, and objects, lists and followers everywhere show it")
    func update() async throws {
        let stack = try await openStack(.rootOnly)
        try await makeArticles(20, stack)
        try stack.create(.private, named: .other)
        let kept = try await stack.on(.other) { context in
            let article = try #require(try context.first(Article.where { $0.views == 15 }))
            context.state[Kept.self] = article
            return article.id
        }
        var changes = stack.changes(of: Article.self).makeAsyncIterator()
        var live = try stack.live(Article.where { $0.views >= 110 }).makeAsyncIterator()
        #expect(try await live.next()?.count == 0)
        try await stack.on(.root) { context in
            // This change is unsaved, so the batch does not see it.
            context.insert(Article(title: "pending", views: 15))
            let done = try context.batchUpdate(Article.where { $0.views >= 10 }) {
                [$0.views.set(to: $0.views + 100), $0.body.set(to: "set")]
            }
            #expect(done.updated.count == 10 && done.updatedColumns(of: kept) == ["views", "body"])
            #expect(try context.count(Article.where { $0.views >= 100 && $0.body == "set" }) == 10)
            #expect(try context.count(Article.where { $0.views == 15 }) == 1)
        }
        #expect(try await changes.next()?.updated.count == 10)
        #expect(try await live.next()?.count == 10)
        try await stack.on(.other) { context in
            #expect(context.state[Kept.self]?.views == 115)
            #expect(context.state[Kept.self]?.body == "set")
        }
        #expect(try await stack.history().last?.of(Article.self).updated.count == 10)
        try await stack.close()
    }

    private enum Kept: ContextStateKey { typealias Value = Article }

    @Test("A pending edit of a column that a batch has changed is a conflict; an edit of another column is not")
    func conflicts() async throws {
        let stack = try await openStack(.rootOnly)
        try await makeArticles(2, stack)
        try stack.create(.private, named: .other)
        try await stack.on(.other) { context in
            for article in try context.fetch(Article.all) {
                if article.views == 0 { article.views = 7 } else { article.title = "mine" }
            }
        }
        try await stack.background { _ = try $0.batchUpdate(Article.all) { $0.views.set(to: 50) } }
        try await stack.on(.other) { context in
            let error = #expect(throws: StrataError.self) { try context.save() }
            #expect(error?.code == .conflict && error?.details.count == 1)
            #expect(error?.details.first?.column == "views" && error?.details.first?.theirs == .integer(50))
            context.mergePolicy = .mine
            try context.commit()
            #expect(try context.fetch(Article.sorted { $0.views.ascending }).map(\.views) == [7, 50])
            #expect(try context.count(Article.where { $0.title == "mine" && $0.views == 50 }) == 1)
        }
        try await stack.close()
    }

    @Test("One row that breaks a rule stops the batch: checks, types, uniques, references, required values")
    func refusals() async throws {
        let stack = try await openStack(.rootOnly)
        try await stack.background { context in
            for index in 0..<3 { context.insert(Writer(name: "w\(index)", fee: 400)) }
            for index in 0..<3 {
                context.insert(Article(slug: "s\(index)", title: "t", body: "\(index)", views: index))
            }
            try context.commit()
        }
        let token = stack.historyToken
        try await stack.background { context in
            await expect(.validation) { try context.batchUpdate(Writer.all) { $0.fee.set(to: $0.fee * 3) } }
            await expect(.validation) { try context.batchUpdate(Writer.all) { $0.name.set(to: "nobody") } }
            let error = #expect(throws: StrataError.self) {
                _ = try context.batchUpdate(Article.all) { $0.slug.set(to: "same") }
            }
            #expect(error?.code == .notUnique && error?.message.contains("the same slug, which") == true)
            await expect(.validation) { try context.batchUpdate(Article.all) { $0.views.set(to: $0.views + .max) } }
            // Zero times infinity is not a number, which SQLite stores as NULL.
            await expect(.validation) {
                try context.batchUpdate(Writer.all) { $0.fee.set(to: ($0.fee - 400) * .infinity) }
            }
            let gone = try stack.newID(for: Author.self) as ObjectID<Author>
            await expect(.missingReference) {
                try context.batchUpdate(Article.all) { .relate($0.author, to: gone) }
            }
            await expect(.invalidQuery) {
                try context.batchUpdate(Article.all) { [$0.views.set(to: 1), $0.views.set(to: 2)] }
            }
            await expect(.invalidQuery) { try context.batchUpdate(Article.all) { $0.slug.set(to: $0.author.name) } }
        }
        #expect(stack.historyToken == token)
        #expect(try await stack.background { try $0.sum(Writer.all, \.fee) } == 1200)
        try await stack.close()
    }

    @Test("An update can use SQL over columns of the same object, and refuses any other SQL")
    func rawSQL() async throws {
        let stack = try await openStack(.rootOnly)
        try await makeArticles(10, stack)
        try await stack.background { context in
            let least = 7
            try context.batchUpdate(Article.where { .sql("\($0.views) >= \(least)") }) {
                [
                    $0.views.set(to: .sql("\($0.views) * \(10) + 1")), $0.title.set(to: .sql("\($0.title) || \("x")")),
                    $0.length.set(to: .sql("iif(\($0.author) IS NULL, \($0.views), NULL)")),
                ]
            }
            let changed = try context.fetch(Article.where { $0.views > 9 }.sorted { $0.views })
            #expect(changed.map(\.views) == [71, 81, 91] && changed.map(\.length) == [7, 8, 9])
            #expect(changed.map(\.title) == ["7x", "8x", "9x"])
        }
        let token = stack.historyToken
        try await stack.background { context in
            let refused: [(SQL, String)] = [
                ("no + 1", "no such column"), ("1); DELETE FROM Article; --", "more than one"),
                ("?", "contains parameters"), (":x", "contains parameters"), ("1 +", "syntax error"),
                ("(SELECT count(*) FROM \(Author.self))", "columns of the same object"), ("NULL", "must have a value"),
                ("", "syntax error"),
            ]
            for (sql, text) in refused {
                let error = #expect(throws: StrataError.self) {
                    _ = try context.batchUpdate(Article.all) { $0.views.set(to: .sql(sql)) }
                }
                #expect(error?.message.contains(text) == true, "\(text): \(String(describing: error))")
            }
            let far = #expect(throws: StrataError.self) {
                _ = try context.batchUpdate(Article.all) { $0.title.set(to: .sql("\($0.author.name)")) }
            }
            #expect(far?.code == .invalidQuery)
            for sql: SQL in ["1.5", "'x'", "x'00'"] {
                let error = #expect(throws: StrataError.self) {
                    _ = try context.batchUpdate(Article.all) { $0.views.set(to: .sql(sql)) }
                }
                #expect(error?.code == .validation || error?.code == .undecodable, "\(String(describing: error))")
            }
        }
        #expect(stack.historyToken == token)
        try await stack.close()
    }

    @Test("An update sets values of all kinds, nil and relationships, and leaves other rows alone")
    func assignments() async throws {
        let stack = try await openStack(.rootOnly)
        try await makeArticles(10, stack)
        let date = Date(timeIntervalSince1970: 1000)
        try await stack.background { context in
            let author = context.insert(Author(name: "a"))
            try context.commit()
            let id = author.id
            try context.batchUpdate(Article.sorted { $0.views.descending }.limit(3)) {
                [$0.publishedAt.set(to: date), $0.length.set(to: $0.views - 2), .relate($0.author, to: id)]
            }
            #expect(try context.fetch(Article.where { $0.publishedAt == date }).map(\.views) == [7, 8, 9])
            #expect(try author.articles.count == 3)
            try context.batchUpdate(Article.where { $0.author == id && $0.views > 7 }) {
                [$0.length.set(to: nil), .relate($0.author, to: nil)]
            }
            #expect(try author.articles.fetch().map(\.length) == [5])
            #expect(try context.batchUpdate(Article.where { $0.views < 0 }) { $0.views.set(to: 0) }.isEmpty)
        }
        try await stack.close()
    }

    @Test("A batch sets timestamps in the same way as a save")
    func timestamps() async throws {
        let stack = try await openStack(.rootOnly)
        try await stack.background { context in
            context.insert(Timestamp(label: "a"))
            try context.commit()
            let before = try #require(try context.first(Timestamp.all)?.updatedAt)
            try context.batchUpdate(Timestamp.all) { $0.label.set(to: "b") }
            let row = try #require(try context.rows(Timestamp.all).first)
            #expect(try #require(row.updatedAt) > before && row.createdAt == before)
            try context.batchInsert([Timestamp(label: "c").snapshot])
            let inserted = try #require(try context.rows(Timestamp.where { $0.label == "c" }).first)
            #expect(inserted.createdAt != nil && inserted.createdAt == inserted.updatedAt)
        }
        try await stack.close()
    }

    @Test("A batch can change more rows than fit into one portion")
    func portions() async throws {
        let stack = try await openStack(.rootOnly)
        let count = Int(BatchJob.portion) * 2 + 10
        try await stack.background { context in
            let inserted = try context.batchInsert((0..<count).lazy.map { Article(title: "\($0)", views: $0).snapshot })
            #expect(inserted.inserted.count == count)
            #expect(try context.batchUpdate(Article.all) { $0.views.set(to: $0.views * 2) }.updated.count == count)
            #expect(try context.sum(Article.all, \.views) == count * (count - 1))
            let deleted = try context.batchDelete(Article.where { $0.views >= 20 })
            #expect(deleted.deleted.count == count - 10)
            #expect(try context.count(Article.all) == 10)
        }
        try await stack.close()
    }

    @Test("A batch can insert more rows than it reserves ids for at a time")
    func manyIDs() async throws {
        let stack = try await openStack(.rootOnly)
        let count = Int(BatchJob.reservationLimit) + 10_000
        try await stack.background { context in
            let done = try context.batchInsert((0..<count).lazy.map { Citation(journal: "\($0)").snapshot })
            #expect(done.inserted.count == count)
            let later = context.insert(Citation(journal: "later"))
            try context.commit()
            #expect(Set(done.inserted).contains(later.id) == false)
        }
        try await stack.close()
    }

    @Test("Batch inserts make the same checks as saves, and their ids continue those of others")
    func inserts() async throws {
        let stack = try await openStack(.rootOnly)
        try await makeArticles(1, stack)
        try await stack.background { context in
            let existing = try #require(try context.first(Article.all)).id
            let done = try context.batchInsert([Article(slug: "x", title: "x").snapshot])
            #expect(done.inserted.count == 1 && done.inserted[0] > existing)
            #expect(try context.find(done.inserted[0])?.slug == "x")
            let error = #expect(throws: StrataError.self) {
                _ = try context.batchInsert([Article(slug: "x", title: "y").snapshot])
            }
            #expect(error?.code == .notUnique && error?.message.contains("the same slug ('x'), which") == true)
            await expect(.validation) { try context.batchInsert([Writer(name: "").snapshot]) }
            var row = Article(title: "lost").snapshot
            row.author = try stack.newID(for: Author.self)
            await expect(.missingReference) { try context.batchInsert([row]) }
            #expect(try context.count(Article.all) == 2)
            #expect(try context.batchInsert([Article.Row]()).isEmpty)
        }
        try await stack.close()
    }

    @Test("An upsert updates the row with the same unique value under its id, and inserts the others")
    func upserts() async throws {
        let stack = try await openStack(.rootOnly)
        let old = try await stack.background { context in
            let article = context.insert(Article(slug: "a", title: "old", views: 3))
            try context.commit()
            return article.id
        }
        try await stack.background { context in
            let rows = [
                Article(slug: "a", title: "new", views: 4).snapshot, Article(slug: "b", title: "b").snapshot,
                Article(slug: "b", title: "b again").snapshot,
            ]
            let done = try context.batchUpsert(rows, by: "slug")
            #expect(done.updated == [old] && done.inserted.count == 1)
            #expect(try context.find(old)?.title == "new")
            #expect(try context.fetch(Article.sorted { $0.slug.ascending }).map(\.title) == ["new", "b again"])
            await expect(.invalidQuery) { try context.batchUpsert(rows, by: "views") }
            let compound = try context.batchUpsert(
                [Article(slug: "c", title: "new", views: 9).snapshot],
                by: "title",
                "body"
            )
            #expect(compound.updated == [old])
            #expect(try context.find(old)?.slug == "c")
        }
        try await stack.close()
    }

    @Test("Rows of another store are refused if they refer to its objects, and accepted if they refer to none")
    func rowsOfAnotherStore() async throws {
        let rows = try await openStack(.rootOnly).background { context in
            let author = context.insert(Author(name: "theirs"))
            context.insert(Article(slug: "a", title: "related", author: author))
            context.insert(Article(slug: "b", title: "alone"))
            try context.commit()
            return try context.rows(Article.sorted { $0.slug.ascending })
        }
        let stack = try await openStack(.rootOnly)
        try await stack.background { context in
            // This author has the same id number as the other store's author.
            let author = context.insert(Author(name: "ours"))
            try context.commit()
            #expect(author.id.rawValue == rows[0].author?.rawValue)
            await expect(.idOfOtherStore) { try context.batchInsert(rows) }
            await expect(.idOfOtherStore) { try context.batchUpsert(rows, by: "slug") }
            #expect(try context.count(Article.all) == 0)
            #expect(try context.batchInsert(rows.suffix(1)).inserted.count == 1)
            var own = rows[0]
            own.author = author.id
            #expect(try context.batchUpsert([own], by: "slug").inserted.count == 1)
            #expect(try author.articles.fetch().map(\.title) == ["related"])
        }
        try await stack.close()
    }
}
