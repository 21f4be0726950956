import Foundation
import TestHomeTraits
import Testing

@testable import Strata

@Suite("Migrations that are refused until they declare more", .aboutTheFile("migrates stores"))
struct MigrationRefusalTests {
    enum First {
        @Model final class Draft { var text: String }
        @Model final class Note {
            @Attribute(.indexed) var title: String
            var subtitle: String?
            var rank: Int
            var level: Double?
            @Relationship(inverse: \Word.notes) var words: Many<Word>
        }
        @Model final class Word {
            var text: String
            var notes: Many<Note>
        }
        static let models: [any Model.Type] = [Draft.self, Note.self, Word.self]
    }

    private func make(_ folder: ScratchFolder) async throws -> URL {
        let url = folder.file("notes.sqlite")
        try await folder.with(url, First.models) { context in
            context.insert(First.Draft(text: "d"))
            for index in 0..<3 {
                let note = context.insert(
                    First.Note(title: "same", subtitle: "s\(index)", rank: index, level: index == 0 ? nil : 0.5)
                )
                note.words.insert(context.insert(First.Word(text: "w\(index)")))
            }
            try context.commit()
        }
        return url
    }

    enum Next {
        @Model final class Note {
            @Attribute(.unique) var title: String
            var rank: Date
            var level: Double
            var slug: String
        }
        @Model final class Word { var text: String }
        static let models: [any Model.Type] = [Note.self, Word.self]
    }

    enum VanishedOther {
        @Model final class Note {
            var title: String
            var rank: Data
            var level: Double
            var slug: String
        }
        @Model final class Word { var text: String }
    }

    @Test("A refusal names each removed or inconvertible item and the declaration to add, and changes nothing")
    func vanished() async throws {
        let folder = try ScratchFolder()
        let url = try await make(folder)
        try await folder.expectRefusal(
            url,
            [VanishedOther.Note.self, VanishedOther.Word.self],
            Migration(),
            .schemaMismatch,
            ".dropping(\"Draft\")",
            "@Model(originalName: \"Draft\")",
            ".dropping(\"Note.subtitle\")",
            "@Attribute(originalName: \"subtitle\")",
            ".dropping(\"Note.words\")",
            ".filling(\"Note.rank\", with: \"…\")",
            "Note.rank was INTEGER and is BLOB",
            "Note.level was optional and is not",
            "Note.slug is new and not optional"
        )
        let plan = try await Migration().plan(
            for: .sqlite(url),
            models: [VanishedOther.Note.self, VanishedOther.Word.self]
        )
        #expect(plan.refusals.count == 6)
    }

    static let migration = Migration()
        .dropping("Draft", "Note.subtitle", "Note.words")
        .filling("Note.level", with: "coalesce(level, rank)")
        .filling("Note.slug", with: "title || '-' || rank || (SELECT count(*) FROM Draft) -- a comment")

    @Test("A migration makes the declared changes, and names the duplicates that break a unique constraint")
    func declared() async throws {
        let folder = try ScratchFolder()
        let url = try await make(folder)
        try await folder.expectRefusal(
            url,
            Next.models,
            Self.migration.backup(.none),
            .notUnique,
            "'same'",
            "Note 2",
            "Note 8"
        )
        let mended = Self.migration.step("titles") { database in
            let count = try database.execute("UPDATE Note SET title = title || id WHERE id > ?", 2)
            #expect(count == 2)
        }
        let notes = try await folder.with(url, Next.models, mended) { context in
            try context.fetch(Next.Note.self).map {
                "\($0.title) \($0.rank.timeIntervalSinceReferenceDate) \($0.level) \($0.slug)"
            }
        }
        #expect(notes == ["same 0.0 0.0 same-01", "same5 1.0 0.5 same-11", "same8 2.0 0.5 same-21"])
        #expect(
            try folder.rows(url, "SELECT name FROM sqlite_schema WHERE name LIKE 'Draft%' OR name LIKE '%words%'") == []
        )
        #expect(try folder.rows(url, "SELECT count(*) FROM Word") == ["3"])
    }

    enum ValuesFilled {
        enum Kind: String, AttributeValue { case small, large }
        @Model final class Note {
            @Attribute(.indexed) var title: String
            var subtitle: String?
            var rank: Int
            var level: Double?
            var kind: Kind
            @Relationship(inverse: \Word.notes) var words: Many<Word>
        }
        @Model final class Word {
            var text: String
            var notes: Many<Note>
        }
        @Model final class Draft { var text: String }
        static let models: [any Model.Type] = [Draft.self, Note.self, Word.self]
    }

    @Test("A refusal names the values that do not fit, and changes nothing")
    func values() async throws {
        let folder = try ScratchFolder()
        let url = try await make(folder)
        func filling(_ expression: String) -> Migration {
            Migration().backup(.none).filling("Note.kind", with: expression)
        }
        try await folder.expectRefusal(
            url,
            ValuesFilled.models,
            filling("iif(rank = 1, 'huge', 'small')"),
            .schemaMismatch,
            "Note 5.kind",
            "'huge'"
        )
        try await folder.expectRefusal(
            url,
            ValuesFilled.models,
            filling("iif(rank = 1, NULL, 'small')"),
            .schemaMismatch,
            "Note 5.kind has no value"
        )
        try await folder.expectRefusal(
            url,
            ValuesFilled.models,
            filling("no_such_function(rank)"),
            .database,
            "no_such_function"
        )
        try await folder.expectRefusal(
            url,
            ValuesFilled.models,
            filling("'small'").filling("Note.kin", with: "1"),
            .invalidSchema,
            "Note.kin"
        )
        let kinds = try await folder.with(url, ValuesFilled.models, filling("iif(rank = 1, 'large', 'small')")) {
            context in
            try context.fetch(ValuesFilled.Note.self).map(\.kind)
        }
        #expect(kinds == [.small, .large, .small])
    }

    enum RoundingWhole { @Model final class Sum { var value: Int } }

    enum RoundingReal { @Model final class Sum { var value: Double } }

    @Test("A number that would be rounded is refused")
    func rounding() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("sums.sqlite")
        let exact: [Int] = [0, -1, 1 << 53, .min, (1 << 62)]
        try await folder.with(url, [RoundingWhole.Sum.self]) { context in
            for value in exact + [(1 << 53) + 1] { context.insert(RoundingWhole.Sum(value: value)) }
            try context.commit()
        }
        try await folder.expectRefusal(
            url,
            [RoundingReal.Sum.self],
            Migration().backup(.none),
            .schemaMismatch,
            "9007199254740993"
        )
        try await folder.with(url, [RoundingWhole.Sum.self]) { context in
            context.delete(try context.first(RoundingWhole.Sum.where { $0.value == (1 << 53) + 1 })!)
            try context.commit()
        }
        let values = try await folder.with(url, [RoundingReal.Sum.self]) {
            try $0.fetch(RoundingReal.Sum.self).map(\.value)
        }
        #expect(values == exact.map(Double.init))
    }

    enum RoundingFloat { @Model final class Sum { var value: Float } }

    @Test("Int to Float is refused for numbers that a Float cannot hold exactly")
    func floats() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("sums.sqlite")
        try await folder.with(url, [RoundingWhole.Sum.self]) { context in
            for value in [-16_777_216, 16_777_217] { context.insert(RoundingWhole.Sum(value: value)) }
            try context.commit()
        }
        let migration = Migration().backup(.none)
        try await folder.expectRefusal(
            url,
            [RoundingFloat.Sum.self],
            migration,
            .schemaMismatch,
            "without a loss",
            "16777217"
        )
        try folder.sql(url, "UPDATE Sum SET value = value - 1 WHERE value > 0")
        let values = try await folder.with(url, [RoundingFloat.Sum.self], migration) {
            try $0.fetch(RoundingFloat.Sum.self).map(\.value)
        }
        #expect(values == [-16_777_216, 16_777_216])
    }

    enum AnewText { @Model final class Sum { var value: String } }

    enum AnewWhole { @Model final class Sum { var value: Int = 4 } }

    @Test("Values whose type has changed are dropped if the migration declares it")
    func anew() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("sums.sqlite")
        try await folder.with(url, [AnewText.Sum.self]) { context in
            context.insert(AnewText.Sum(value: "x"))
            try context.commit()
        }
        try await folder.expectRefusal(
            url,
            [AnewWhole.Sum.self],
            Migration(),
            .schemaMismatch,
            ".dropping(\"Sum.value\")"
        )
        let migration = Migration().dropping("Sum.value")
        let values = try await folder.with(url, [AnewWhole.Sum.self], migration) {
            try $0.fetch(AnewWhole.Sum.self).map(\.value)
        }
        #expect(values == [4])
    }
}
