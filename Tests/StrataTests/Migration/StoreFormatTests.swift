import Foundation
import StoreModels
import TestHomeTraits
import Testing

@testable import Strata

@Suite("Stores of earlier formats", .aboutTheFile("opens files of earlier formats")) struct StoreFormatTests {
    @Test("A store of format 1 is upgraded without a change to its rows, and the next open writes nothing")
    func upgrade() async throws {
        let folder = try ScratchFolder()
        let url = try folder.stored("library-format-1")
        let tables = ["Author", "Article", "Tag", "Portrait", "Article_tags", "Author_articles", "strata_data"]
        let before = try tables.map { try folder.rows(url, "SELECT * FROM \"\($0)\"") }
        #expect(before.map(\.count) == [3, 12, 4, 2, 12, 12, 6])
        #expect(try await ContextStack.schemaText(in: .sqlite(url)) == nil)

        let scans = try await folder.with(url, Library1.models) { context in
            try context.fetch(Article1.sorted { $0.year.ascending }).map { $0.scan?.count ?? 0 }
        }
        #expect(scans == (0..<12).map { $0 % 2 == 0 ? 0 : 200 + $0 })
        #expect(try tables.map { try folder.rows(url, "SELECT * FROM \"\($0)\"") } == before)
        #expect(try folder.rows(url, "PRAGMA user_version") == ["2"])
        #expect(try await ContextStack.schemaText(in: .sqlite(url)) == ContextStack.schemaText(of: Library1.models))

        let record =
            "SELECT format, version, description, migrations FROM strata_schema, strata_history ORDER BY sequence DESC LIMIT 1"
        let recorded = try folder.rows(url, record)
        try await folder.with(url, Library1.models) { _ in }
        #expect(try folder.rows(url, record) == recorded)
        #expect(recorded.first?.hasSuffix("|0") == true)
    }

    @Test("Facts that format 1 did not record are derived from its tables: a lost order, members that must be dropped")
    func unrecorded() async throws {
        let folder = try ScratchFolder()
        let url = try folder.stored("library-format-1")
        try await folder.expectRefusal(
            url,
            Loose.models,
            Migration(),
            .schemaMismatch,
            ".dropping(\"Article.tags\")",
            ".dropping(\"Article.scan\")"
        )
        let migration = Migration().dropping("Article.tags", "Article.scan")
        let plan = try await migration.plan(for: .sqlite(url), models: Loose.models)
        #expect(plan.refusals == [] && plan.changes.contains("drop Author.articles with its rows"))
        let titles = try await folder.with(url, Loose.models, migration) { context in
            try context.first(Loose.Author.where { $0.name == "Author 0" })!.articles.fetch().map(\.slug)
        }
        #expect(titles == ["article-0", "article-3", "article-6", "article-9"])
        #expect(try folder.rows(url, "SELECT count(*) FROM strata_data") == ["0"])
    }

    enum Loose {
        @Model(.index("country", "name")) final class Author {
            @Attribute(.unique) var name: String
            @Attribute(.indexed) var country: String = ""
            var fee: Double = 0
            var born: Date?
            @Relationship(inverse: \Article.author) var articles: Many<Article>
            @Relationship(inverse: \Portrait.author) var portrait: Portrait?
        }

        @Model(.unique("title", "year")) final class Article {
            @Attribute(.unique) var slug: String
            var title: String
            var year: Int
            var subtitle: String?
            var views: Int = 0
            var rating: Int?
            var price: Decimal = 0
            var checksum: Data = Data()
            var author: Author?
        }

        @Model final class Tag { var label: String }

        @Model final class Portrait {
            var file: String
            var author: Author?
        }

        static let models: [any Model.Type] = [Author.self, Article.self, Tag.self, Portrait.self]
    }

    @Test("A store with damaged bookkeeping tables or of a future format is refused and left unchanged")
    func damaged() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.library(format: 2)
        let cases: [(String, StrataError.Code)] = [
            ("DROP TABLE strata_schema", .damagedStore), ("DROP TABLE strata_steps", .damagedStore),
            ("DROP TABLE strata_layout", .damagedStore), ("DELETE FROM strata_schema", .damagedStore),
            ("UPDATE strata_schema SET format = 3", .newerStore),
            ("UPDATE strata_schema SET description = 'model'", .damagedStore),
            ("DELETE FROM strata_layout WHERE name = 'Tag'", .schemaMismatch),
        ]
        for (statement, code) in cases {
            let copy = folder.file("copy.sqlite")
            try? FileManager.default.removeItem(at: copy)
            try FileManager.default.copyItem(at: url, to: copy)
            try folder.sql(copy, statement)
            try await folder.expectRefusal(copy, Library1.models, Migration(), code)
        }
    }

    @Test("A bank of format 1 opens, and takes further transfers")
    func bank() async throws {
        let folder = try ScratchFolder()
        let url = try folder.stored("bank-format-1")
        let stack = try await openBank(url)
        try await expectBalancedBooks(stack, last: 3)
        _ = try await stack.on(.root) { try Bank.transfer(1, in: $0) }
        try await expectBalancedBooks(stack, last: 4)
        try await stack.close()
    }

    @Test("The text of a schema is readable, and parses back to the schema")
    func text() throws {
        let text = try ContextStack.schemaText(of: Library1.models)
        #expect(
            text == """
                model Article
                    slug TEXT
                    title TEXT
                    year INTEGER
                    subtitle TEXT optional
                    views INTEGER
                    rating INTEGER optional
                    price TEXT decimal
                    checksum BLOB
                    scan INTEGER optional external
                    author INTEGER optional to Author
                    unique (slug)
                    unique (title, year)
                    index (author)

                model Author
                    name TEXT
                    country TEXT
                    fee REAL
                    born REAL optional of Date
                    unique (name)
                    index (country)
                    index (country, name)

                model Portrait
                    file TEXT
                    author INTEGER optional to Author
                    unique (author)

                model Tag
                    label TEXT

                members Article.tags, Tag.articles

                places Author.articles, Article.author

                """
        )
        #expect(try ContextStack.schemaText(of: Library1.models.reversed()) == text)
        let description = try Schema(Library1.models).description
        #expect(try SchemaDescription(parsing: text) == description)
        let odd = SchemaDescription(tables: [
            TableDescription(
                content: .model("Ärger"),
                name: "a \"b\"\nc.d, (e)",
                columns: [
                    ColumnDescription(
                        name: "unique",
                        type: .text,
                        isOptional: true,
                        content: .decimal,
                        valueType: "Decimal",
                        rules: ["must be \"odd\",\n(or even)", "of to"]
                    ),
                    ColumnDescription(name: "to the", type: .blob, isOptional: false, content: .reference("x y")),
                ],
                uniques: [["unique", "to the"]],
                indexes: []
            )
        ])
        #expect(try SchemaDescription(parsing: odd.description) == odd)
        #expect(throws: StrataError.self) { try SchemaDescription(parsing: "model Article\n    slug TEXTS\n") }
        #expect(throws: StrataError.self) { try SchemaDescription(parsing: "model \"Article\n") }
    }
}

typealias Article1 = Library1.Article
