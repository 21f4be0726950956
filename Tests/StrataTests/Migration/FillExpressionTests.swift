import Foundation
import TestHomeTraits
import Testing

@testable import Strata

@Suite("Expressions that fill columns", .aboutTheFile("migrates stores")) struct FillExpressionTests {
    enum First {
        @Model final class Doc { var body: String }
    }

    private func make(_ folder: ScratchFolder, _ bodies: [String] = ["hello"]) async throws -> URL {
        let url = folder.file("docs.sqlite")
        try await folder.with(url, [First.Doc.self]) { context in
            for body in bodies { context.insert(First.Doc(body: body)) }
            try context.commit()
        }
        return url
    }

    enum Positioned {
        @Model final class Doc {
            var body: String
            var position: Int
        }
    }

    @Test("A filling expression sees all old rows at once, however many there are")
    func window() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("docs.sqlite")
        let count = MigrationRun.rowsAtOnce * 2 + 5_000
        try await folder.with(url, [First.Doc.self]) { context in
            _ = try context.batchInsert((0..<count).lazy.map { First.Doc(body: "t\($0)").snapshot })
        }
        let migration = Migration().backup(.none)
        try await folder.with(
            url,
            [Positioned.Doc.self],
            migration.filling("Doc.position", with: "row_number() OVER (ORDER BY id)")
        ) { _ in }
        let found = try folder.rows(url, "SELECT count(*), count(DISTINCT position), max(position) FROM Doc")
        #expect(found == ["\(count)|\(count)|\(count)"])
    }

    @Test("A filling that is not an expression over the old rows is refused by name")
    func wrong() async throws {
        let folder = try ScratchFolder()
        let url = try await make(folder)
        for filling in ["lenght(body)", "length(text)", "length(", "1; DROP TABLE Doc"] {
            try await folder.expectRefusal(
                url,
                [Positioned.Doc.self],
                Migration().backup(.none).filling("Doc.position", with: filling),
                .database,
                "The filling of Doc.position",
                "(\(filling))"
            )
        }
    }

    @Test("A filling is refused if it returns too few rows, or no value for a row")
    func rows() async throws {
        let folder = try ScratchFolder()
        let url = try await make(folder, ["one", "two", "three"])
        let migration = Migration().backup(.none)
        try await folder.expectRefusal(
            url,
            [Positioned.Doc.self],
            migration.filling("Doc.position", with: "max(length(body))"),
            .schemaMismatch,
            "3 rows",
            "(SELECT …)"
        )
        try await folder.expectRefusal(
            url,
            [Positioned.Doc.self],
            migration.filling("Doc.position", with: "lag(length(body)) OVER (ORDER BY id)"),
            .schemaMismatch,
            "Doc 1.position has no value"
        )
        try await folder.with(
            url,
            [Positioned.Doc.self],
            migration.filling("Doc.position", with: "(SELECT max(length(body)) FROM Doc)")
        ) { _ in }
        #expect(try folder.rows(url, "SELECT position FROM Doc") == ["5", "5", "5"])
    }

    enum Outside {
        @Model final class Doc {
            var body: String
            @Attribute(.externalStorage) var bytes: Data
        }
    }

    @Test("A filling of an external attribute must return bytes, otherwise the store is refused")
    func outside() async throws {
        let folder = try ScratchFolder()
        let url = try await make(folder)
        let migration = Migration().backup(.none)
        try await folder.expectRefusal(
            url,
            [Outside.Doc.self],
            migration.filling("Doc.bytes", with: "body"),
            .schemaMismatch,
            "Doc 1.bytes is not of the attribute's type: 'hello'"
        )
        let bytes = try await folder.with(
            url,
            [Outside.Doc.self],
            migration.filling("Doc.bytes", with: "CAST(body AS BLOB)")
        ) { try $0.first(Outside.Doc.all)!.bytes }
        #expect(bytes == Data("hello".utf8))
    }

    enum Tokens {
        @Model final class Doc {
            var body: String
            @Attribute(.externalStorage) var token: Data = Data((0..<8).map { _ in UInt8.random(in: 0...255) })
        }
    }
    enum OptionalTokens {
        @Model final class Doc {
            var body: String
            @Attribute(.externalStorage) var token: Data?
        }
    }

    @Test("Each row gets a fresh default value for a required external attribute")
    func ownBytes() async throws {
        let folder = try ScratchFolder()
        let url = try await make(folder, (0..<5).map { "\($0)" })
        let tokens = try await folder.with(url, [Tokens.Doc.self]) { try $0.fetch(Tokens.Doc.self).map(\.token) }
        #expect(Set(tokens).count == 5 && tokens.allSatisfy { $0.count == 8 })
        try await folder.with(url, [OptionalTokens.Doc.self]) { context in
            try context.fetch(OptionalTokens.Doc.self)[3].token = nil
            try context.commit()
        }
        let again = try await folder.with(url, [Tokens.Doc.self]) { try $0.fetch(Tokens.Doc.self).map(\.token) }
        #expect(Set(again).count == 5 && again.indices.filter { again[$0] != tokens[$0] } == [3])
        #expect(try folder.rows(url, "SELECT count(*) FROM strata_data") == ["5"])
    }

    enum Quoted {
        @Model(table: "a\"\u{301}b") final class Doc {
            var body: String
            var quote: String = "it'\u{301}s '' \u{301}'"
        }
        @Model(table: "a\"\u{301}b") final class DocNext {
            var body: String
            var quote: String = "it'\u{301}s '' \u{301}'"
            var more: String?
        }
    }

    @Test("Quotation marks are doubled, whatever follows them")
    func quotes() async throws {
        let folder = try ScratchFolder()
        let url = try await make(folder)
        let quote = try await folder.with(url, [Quoted.Doc.self]) { try $0.first(Quoted.Doc.all)!.quote }
        #expect(quote.unicodeScalars.elementsEqual("it'\u{301}s '' \u{301}'".unicodeScalars))
        #expect(try folder.rows(url, "SELECT count(*) FROM \"a\"\"\u{301}b\"") == ["1"])
        try await folder.with(url, [Quoted.DocNext.self]) { context in
            let count = try context.count(Quoted.DocNext.all)
            #expect(count == 1)
        }
    }
}
