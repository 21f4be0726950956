import Foundation
import Testing

@testable import Strata

@Suite("Queries as values")
struct QueryValueTests {
    @Test("A new query does not have a predicate, a limit, an offset or a sort")
    func new() {
        let parts = Article.all._$parts
        #expect(parts.condition == nil && parts.limit == nil && parts.offset == nil && parts.sorts.isEmpty)
    }

    @Test("`limit` and `offset` each set only their own value, in a copy of the query")
    func slices() {
        let all = Article.all
        #expect(all.limit(1)._$parts.limit == 1 && all.limit(1)._$parts.offset == nil)
        #expect(all.offset(1)._$parts.offset == 1 && all.offset(1)._$parts.limit == nil)
        #expect(all._$parts.limit == nil)
    }

    @Test("Merging takes over the other query's limit and combines the predicates with AND")
    func merging() throws {
        let store = try TestStore()
        let merged = Article.all.limit(1).offset(1).merging(Query<Article>().where { _ in Condition(false) }.limit(2))
        #expect(merged._$parts.limit == 2 && merged._$parts.offset == 1)
        let compiled = try merged.compile(.ids, using: store.sources)
        #expect(
            compiled.sql
                == #"SELECT t0."id" FROM "Article" AS t0 WHERE 0 ORDER BY t0."id" LIMIT ?1 OFFSET ?2"#
        )
        #expect(compiled.bindings == [.integer(2), .integer(1)])
    }

    @Test("Several predicates are combined with AND, in order")
    func and() throws {
        let query = Article.where { $0.title.hasPrefix("foo") }.where { $0.slug == "x" }.where { $0.views == 3 }
        let compiled = try query.compile(.ids, using: try TestStore().sources)
        #expect(
            compiled.sql
                == #"SELECT t0."id" FROM "Article" AS t0 WHERE t0."title" >= ?1 AND t0."title" < ?2 "#
                + #"AND t0."slug" = ?3 AND t0."views" = ?4 ORDER BY t0."id""#
        )
        #expect(compiled.bindings == [.text("foo"), .text("fop"), .text("x"), .integer(3)])
        #expect(compiled.tables == ["Article"])
    }

    @Test(
        "A predicate on one column compiles to one comparison",
        arguments: [("= ?1", 0), ("< ?1", 1), ("IS NULL", 2)]
    )
    func keys(_ sign: String, _ which: Int) throws {
        let query = Article.where { which == 0 ? $0.views == 3 : which == 1 ? $0.views < 3 : $0.length == nil }
        let sql = try query.compile(.ids, using: try TestStore().sources).sql
        #expect(sql.contains(sign))
    }

    @Test("`or` on an empty query takes over the other query's predicate and limit, and keeps the offset")
    func orOnEmpty() throws {
        let store = try TestStore()
        try store.insert(Author.self, ["name": "a"])
        try store.insert(Author.self, ["name": "b"])
        let other = Author.where { $0.name == "b" }.limit(2)
        #expect(try store.texts(Author.all.or { $0.name == "b" }, \.name) == ["b"])
        #expect(try store.texts(Author.all.limit(1).or(other), \.name) == ["b"])
        #expect(Author.all.limit(1).offset(1).or(other)._$parts.limit == 2)
        #expect(Author.all.limit(1).offset(1).or(other)._$parts.offset == 1)
    }

    @Test("`or` selects the objects that match either predicate")
    func or() throws {
        let store = try TestStore()
        for name in ["food", "bar", "baz"] { try store.insert(Author.self, ["name": name]) }
        #expect(
            try store.texts(Author.where { $0.name.hasPrefix("foo") }.or { $0.name == "bar" }, \.name) == [
                "food", "bar",
            ]
        )
        #expect(
            try store.texts(Author.where { $0.name == "bar" }.or(Author.where { $0.name == "baz" }), \.name) == [
                "bar", "baz",
            ]
        )
    }

    @Test("Sorts append in order, with their options, and `reordered` replaces them")
    func sorts() throws {
        let sources = try TestStore().sources
        func order(_ query: Query<Article>) throws -> Substring {
            let sql = try query.compile(.ids, using: sources).sql
            return sql[sql.range(of: "ORDER BY ")!.upperBound...]
        }
        #expect(try order(Article.sorted { $0.title.ascending }) == #"t0."title", t0."id""#)
        #expect(try order(Article.sorted { $0.title.descending }) == #"t0."title" DESC, t0."id""#)
        #expect(
            try order(Article.sorted { $0.title.ascending(.caseInsensitive) })
                == #"strata_fold(t0."title", ?1), t0."id""#
        )
        #expect(
            try order(Article.sorted { [$0.title.ascending, $0.views.descending] })
                == #"t0."title", t0."views" DESC, t0."id""#
        )
        #expect(
            try order(Article.sorted { $0.title.ascending }.sorted { $0.length.ascending.nilsLast })
                == #"t0."title", t0."length" NULLS LAST, t0."id""#
        )
        #expect(
            try order(Article.sorted { $0.title.ascending }.reordered { $0.views.ascending }) == #"t0."views", t0."id""#
        )
    }

    @Test("The text of a query shows its SQL and values")
    func description() {
        let text = "\(Article.where { $0.title == "x" && $0.comments.isEmpty })"
        #expect(text.contains("t0.\"title\" = ?1") && text.hasSuffix("['x']"))
    }

    @Test("Scopes chain on every query, including a scope that only sorts")
    func scopes() throws {
        let query = Article.published.recent.byTitle
        #expect(query._$parts.limit == 2)
        #expect(query._$parts.sorts.count == 2)
        let sql = try query.compile(.ids, using: try TestStore().sources).sql
        #expect(
            sql
                == #"SELECT t0."id" FROM "Article" AS t0 WHERE t0."publishedAt" IS NOT NULL "#
                + #"ORDER BY t0."publishedAt" DESC, t0."title", t0."id" LIMIT ?1"#
        )
    }

    @Test("Two models may have scopes of the same name")
    func sameScopeName() throws {
        let sources = try TestStore().sources
        #expect(try Author.published.compile(.ids, using: sources).sql.contains("\"name\""))
        #expect(try Article.published.compile(.ids, using: sources).sql.contains("\"publishedAt\""))
    }

    @Test("A query does not change when other queries are derived from it")
    func reuse() throws {
        let base = Article.where { $0.views > 1 }
        let before = "\(base)"
        _ = base.limit(1).sorted { $0.title.ascending }.where { $0.slug == "x" }
        #expect("\(base)" == before)
    }
}
