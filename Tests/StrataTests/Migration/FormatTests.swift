import Foundation
import StoreModels
import Testing

@testable import Strata

@Suite("C22 stores of earlier formats") struct FormatTests {
    @Test("a store of format 1 is upgraded without a change to its rows, and opens again without being written")
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

        let record = "SELECT format, version, description, migrations FROM strata_schema, strata_store"
        let recorded = try folder.rows(url, record)
        try await folder.with(url, Library1.models) { _ in }
        #expect(try folder.rows(url, record) == recorded)
        #expect(recorded.first?.hasSuffix("|0") == true)
    }

    @Test("the bank of format 1 goes on")
    func bank() async throws {
        let folder = try ScratchFolder()
        let url = try folder.stored("bank-format-1")
        let stack = try await openBank(url)
        try await expectBalancedBooks(stack, last: 3)
        _ = try await stack.on(.root) { try Bank.transfer(1, in: $0) }
        try await expectBalancedBooks(stack, last: 4)
        try await stack.close()
    }

    @Test("the text of a schema, and what is read from it")
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
                    born REAL optional
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
                    ColumnDescription(name: "unique", type: .text, isOptional: true, content: .decimal),
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
