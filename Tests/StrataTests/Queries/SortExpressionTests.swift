import Foundation
import Testing

@testable import Strata

extension DerivableQuery<Article> {
    fileprivate func seen(atLeast views: Int) -> Narrowed { self.where { $0.views >= views } }
    fileprivate func topViewed(_ count: Int) -> Narrowed {
        merging(Article.sorted { $0.views.descending }.limit(count))
    }
}

@Suite("Sorts by ids and relationships, and scopes with arguments")
struct SortExpressionTests {
    private func filled() async throws -> ContextStack {
        let stack = try await openStack(.rootOnly)
        try await stack.background { context in
            let authors = ["Ursula", "Octavia"].map { context.insert(Author(name: $0, fee: 1)) }
            for (title, views, author) in [
                ("A", 3, authors[1]), ("B", 1, authors[0]), ("C", 2, nil), ("D", 4, authors[0]),
            ] as [(String, Int, Author?)] {
                context.insert(Article(title: title, views: views, author: author))
            }
            try context.commit()
        }
        return stack
    }

    @Test("A query is sorted by ids and by to-one relationships without a direction, ascending")
    func idsAndRelationships() async throws {
        try await filled().background { context in
            func titles(_ query: Query<Article>) throws -> String { try context.fetch(query).map(\.title).joined() }
            #expect(try titles(Article.sorted { $0.id }) == "ABCD")
            #expect(try titles(Article.sorted { $0.views.descending }.reordered { $0.id }) == "ABCD")
            #expect(try titles(Article.where { $0.views > 1 }.sorted { $0.author }.sorted { $0.views }) == "CDA")
            #expect(try titles(Article.sorted { $0.author.id }) == titles(Article.sorted { $0.author }))
            #expect(try titles(Article.sorted { [$0.author.id.descending, $0.id.descending] }) == "ADBC")
            let author = try #require(try context.first(Author.where { $0.name == "Ursula" }))
            #expect(try author.articles.sorted { $0.id }.fetch().map(\.title) == ["B", "D"])
            #expect(try author.articles.where { $0.views > 0 }.sorted { $0.author }.fetch().map(\.title) == ["B", "D"])
            // Unsaved changes count in the same way as saved ones.
            try #require(try context.first(Article.where { $0.title == "C" })).author = author
            #expect(try titles(Article.sorted { $0.author }) == "BCDA")
        }
    }

    @Test("Groups are sorted by keys that are ids")
    func groupsByID() async throws {
        try await filled().background { context in
            let up = try context.groups(Article.grouped { $0.author }.sorted { $0.key }) { $0.count }
            let down = try context.groups(Article.grouped { $0.author }.sorted { $0.key.descending }) { $0.count }
            #expect(up.map(\.values) == [1, 2, 1])
            #expect(up.map(\.key) == down.map(\.key).reversed() && up[0].key == nil)
            let counts = try context.groups(Article.grouped { $0.author }.sorted { $0.count }.sorted { $0.key }) {
                $0.count
            }
            #expect(counts.map(\.values) == [1, 1, 2])
        }
    }

    @Test("A scope with arguments chains on queries, relationships and their members")
    func scopesWithArguments() async throws {
        try await filled().background { context in
            func titles(_ query: Query<Article>) throws -> String { try context.fetch(query).map(\.title).joined() }
            #expect(try titles(Article.all.seen(atLeast: 2)) == "ACD")
            #expect(try titles(Article.viewed.seen(atLeast: 2).topViewed(2).where { $0.title != "D" }) == "AC")
            #expect(try titles(Article.all.topViewed(2).seen(atLeast: 4)) == "D")
            let author = try #require(try context.first(Author.where { $0.name == "Ursula" }))
            #expect(try author.articles.seen(atLeast: 2).fetch().map(\.title) == ["D"])
            #expect(try author.articles.where { $0.title != "" }.topViewed(2).fetch().map(\.title) == ["D", "B"])
            #expect(try author.articles.viewed.topViewed(5).seen(atLeast: 4).count == 1)
        }
    }

    @Test("Queries are merged into relationships and their members")
    func mergedIntoRelationships() async throws {
        try await filled().background { context in
            let author = try #require(try context.first(Author.where { $0.name == "Ursula" }))
            let merged = author.articles.merging(Article.where { $0.views > 1 })
            #expect(try merged.fetch().map(\.title) == ["D"])
            #expect(try merged.merging(Article.where { $0.title == "A" }).isEmpty)
        }
    }
}
