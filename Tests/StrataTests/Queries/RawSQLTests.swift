import Foundation
import Testing

@testable import Strata

@Suite("Raw SQL")
struct RawSQLTests {
    private func filled() async throws -> ContextStack {
        let stack = try await openStack(.rootOnly)
        try await stack.background { context in
            let ursula = context.insert(Author(name: "Ursula"))
            for (title, views) in [("A", 1), ("B", 2), ("C", 3)] {
                context.insert(
                    Article(
                        title: title,
                        views: views,
                        publishedAt: Date(timeIntervalSinceReferenceDate: Double(views) * 86_400 * 365),
                        author: views > 1 ? ursula : nil
                    )
                )
            }
            try context.commit()
        }
        return stack
    }

    private func code(_ body: () throws -> Void) -> StrataError.Code? {
        do { try body() } catch { return (error as? StrataError)?.code }
        return nil
    }

    @Test("Rows of raw SQL give values by name and index, over the store and unsaved changes")
    func rows() async throws {
        try await filled().background { context in
            context.insert(Article(title: "D", views: 4))
            try #require(try context.first(Article.where { $0.title == "A" })).title = "Z"
            let least = 1
            let rows = try context.rows(
                """
                SELECT a.\(Article.columns.title), a.\(Article.columns.views) * 2 AS double, w.name, a.\(Article.columns.id)
                FROM \(Article.self) AS a LEFT JOIN \(Author.self) AS w ON w.id = a.\(Article.columns.author)
                WHERE a.views >= \(least) ORDER BY a.title
                """
            )
            #expect(try rows.map { try $0.value(String.self, "title") } == ["B", "C", "D", "Z"])
            #expect(try rows.map { try $0.value(Int.self, at: 1) } == [4, 6, 8, 2])
            #expect(try rows.map { try $0.value(String?.self, "name") } == ["Ursula", "Ursula", nil, nil])
            #expect(rows[0]["title"] == .text("B"))
            #expect(rows[0]["none"] == nil)
            #expect(rows[0].columnNames == ["title", "double", "name", "id"])
            let id = try #require(try rows[3].id(of: Article.self))
            #expect(try context.find(id)?.title == "Z")
            #expect(code { _ = try rows[0].value(Int.self, "title") } == .undecodable)
            #expect(code { _ = try rows[2].value(String.self, "name") } == .undecodable)
            #expect(code { _ = try rows[0].value(Int.self, "none") } == .invalidQuery)
            #expect(code { _ = try rows[0].value(Int.self, at: 4) } == .invalidQuery)
        }
    }

    @Test("Values are bound, so that a text that looks like SQL stays a text")
    func bound() async throws {
        try await filled().background { context in
            let evil = "x'; DROP TABLE Article; --\u{0}é"
            #expect(try context.values(String.self, "SELECT \(evil)") == [evil])
            let nothing: Int? = nil
            #expect(try context.values(Int?.self, "SELECT \(nothing) UNION ALL SELECT \(3)") == [nil, 3])
            let titles = ["A", "C", evil]
            let found = try context.values(
                Int.self,
                "SELECT views FROM \(Article.self) AS a WHERE title IN \(list: titles) ORDER BY views"
            )
            #expect(found == [1, 3])
            #expect(
                try context.values(
                    Int.self,
                    "SELECT count(*) FROM \(Article.self) AS a WHERE views IN \(list: [Int]())"
                ) == [0]
            )
            let many: SQL = "SELECT count(*) FROM \(Article.self) AS a WHERE views IN \(list: 0..<1_000)"
            #expect(try context.values(Int.self, many) == [3])
            let part: SQL = "views > \(1)"
            #expect(try context.values(Int.self, "SELECT count(*) FROM \(Article.self) AS a WHERE \(part)") == [2])
            let ids = try context.ids(Article.where { $0.views > 1 })
            #expect(
                try context.values(String.self, "SELECT title FROM \(Article.self) AS a WHERE id IN \(list: ids)") == [
                    "B", "C",
                ]
            )
            #expect(
                try context.values(String.self, "SELECT title FROM \(Article.self) AS a WHERE id = \(ids[0])") == ["B"]
            )
        }
    }

    @Test("Raw SQL returns the context's own objects, and leaves out ids without an object")
    func objects() async throws {
        try await filled().background { context in
            let held = try #require(try context.first(Article.where { $0.title == "B" }))
            let fresh = context.insert(Article(title: "D", views: 4))
            let found = try context.fetch(
                Article.self,
                sql: "SELECT views, id FROM \(Article.self) AS a WHERE views > 1 ORDER BY views DESC"
            )
            #expect(found.map(\.title) == ["D", "C", "B"])
            #expect(found[0] === fresh)
            #expect(found[2] === held)
            let fourth: SQL = "SELECT 4000 UNION ALL SELECT \(held.id)"
            #expect(try context.fetch(Article.self, sql: fourth).map(\.title) == ["B"])
            #expect(code { _ = try context.fetch(Article.self, sql: "SELECT 'x'") } == .undecodable)
        }
    }

    @Test(
        "Statements that would write, or that are not a query, are refused",
        arguments: [
            "DELETE FROM Article", "UPDATE Article SET views = 0 RETURNING id", "INSERT INTO Article DEFAULT VALUES",
            "DROP TABLE Article", "BEGIN", "COMMIT", "PRAGMA cache_size", "PRAGMA case_sensitive_like = 1",
            "ATTACH ':memory:' AS x",
            "SELECT 1; DELETE FROM Article", "SELECT 1; SELECT 2", "", "  -- nothing", "SELECT ?", "SELECT :name",
            "SELECT nonsense FROM Article", "SELECT 1 +", "VACUUM", "WITH x AS (SELECT 1) DELETE FROM Article",
        ]
    )
    func refused(text: String) async throws {
        let stack = try await filled()
        try await stack.background { context in
            let error = #expect(throws: StrataError.self) { try context.rows(SQL(stringLiteral: text)) }
            #expect(error?.code == .invalidQuery, "\(String(describing: error))")
            let found117 = try context.count(Article.self)
            #expect(found117 == 3)
        }
        try await stack.close()
    }

    @Test(
        "Spaces, comments and one semicolon do not count as a second statement",
        arguments: [
            " SELECT 1", "/* a; */ SELECT 1 ;", "-- a\nselect 1; -- b", "VALUES (1)",
            "WITH x AS (SELECT 1) SELECT * FROM x",
        ]
    )
    func accepted(text: String) async throws {
        try await filled().background { context in
            let found127 = try context.values(Int.self, SQL(stringLiteral: text))
            #expect(found127 == [1])
            let found128 = try context.values(Int.self, SQL(stringLiteral: text))
            #expect(found128 == [1])
        }
    }

    @Test("An error while SQL runs shows SQLite's message")
    func errors() async throws {
        try await filled().background { context in
            let error = #expect(throws: StrataError.self) { try context.rows("SELECT json_extract('{', '$.a')") }
            #expect(error?.code == .invalidQuery)
            #expect(error?.message.contains("malformed JSON") ?? false)
            let typo = #expect(throws: StrataError.self) {
                try context.fetch(Article.where { _ in .sql("tytle = \(1)") })
            }
            #expect(typo?.code == .invalidQuery)
            #expect(typo?.message.contains("no such column: tytle") ?? false)
        }
    }

    @Test("SQL can be a condition about the object's columns, also through relationships, negated and joined")
    func conditions() async throws {
        try await filled().background { context in
            context.insert(Article(title: "D", views: 4))
            func titles(_ query: Query<Article>) throws -> [String] { try context.fetch(query).map(\.title) }
            #expect(try titles(Article.where { .sql("\($0.views) % 2 = \(0)") }) == ["B", "D"])
            #expect(try titles(Article.where { $0.views < 4 && .sql("\($0.views) % 2 = \(0)") }) == ["B"])
            #expect(try titles(Article.where { .sql("length(\($0.author.name)) = 6") }) == ["B", "C"])
            #expect(try titles(Article.where { !.sql("length(\($0.author.name)) = 6") }) == ["A", "D"])
            #expect(try titles(Article.where { .sql("\($0.author) IS NULL") }) == ["A", "D"])
            let authors = try context.fetch(Author.where { $0.articles.any { .sql("\($0.title) GLOB 'C*'") } })
            #expect(authors.map(\.name) == ["Ursula"])
            let inner = Author.where {
                .sql("EXISTS (SELECT 1 FROM \(Article.self) AS a WHERE a.author = \($0.id) AND a.views = \(2))")
            }
            #expect(try context.count(inner) == 1)
            #expect(
                code { _ = try context.fetch(Author.where { _ in .sql("\(Article.columns.title) = 'x'") }) }
                    == .invalidQuery
            )
            #expect(code { _ = try context.rows("SELECT \(Article.columns.title.length)") } == .invalidQuery)
        }
    }

    @Test("SQL can be a column in sorts, comparisons and groups")
    func columns() async throws {
        try await filled().background { context in
            func year(_ article: Article.Columns) -> Column<Article, String?> {
                .sql("strftime('%Y', \(article.publishedAt) + 978307200, 'unixepoch')")
            }
            let years = try context.groups(Article.grouped { year($0) }) { $0.count }
            #expect(years.map(\.key) == ["2002", "2003", "2004"])
            #expect(try context.fetch(Article.where { year($0) == "2003" }).map(\.title) == ["B"])
            #expect(try context.fetch(Article.sorted { year($0).descending }).map(\.title) == ["C", "B", "A"])
            #expect(try context.sections(Article.all) { year($0) }.count == 3)
        }
    }

    @Test("Statements of many kinds leave the readers usable, and SQL with an id of another store is refused")
    func foreign() async throws {
        let other = try await filled().background { try $0.ids(Article.all)[0] }
        try await filled().background { context in
            #expect(code { _ = try context.rows("SELECT \(other)") } == .idOfOtherStore)
            for number in 0..<600 { _ = try context.rows(SQL(stringLiteral: "SELECT \(number)")) }
            #expect(try context.count(Article.self) == 3)
        }
    }

    @Test("A number that cannot be an id is undecodable", arguments: [-1, 0, 1 << 48, .max, .min] as [Int64])
    func numbers(_ number: Int64) async throws {
        try await filled().background { context in
            let rows = try context.rows("SELECT \(number) AS id, \((1 << 48) - 1) AS last")
            #expect(code { _ = try rows[0].id(of: Article.self) } == .undecodable)
            #expect(try rows[0].id(of: Article.self, "last")?.rawValue == (1 << 48) - 1)
        }
    }
}
