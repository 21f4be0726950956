import Foundation
import TestHomeTraits
import Testing

@testable import Strata

@Suite("Derived attributes in a migration", .aboutTheFile("migrates stores")) struct DerivedMigrationTests {
    enum Texts {
        @Model final class Item {
            var points: Int
            @Derived(.indexed) var rank: String { "\(points)" }
        }
    }
    enum Numbers {
        @Model final class Item {
            var points: Int
            @Derived(.indexed) var rank: Int { points }
        }
    }
    enum More {
        @Model final class Item {
            var points: Int
            var more: Int = 0
            @Derived(.indexed) var rank: Int { points }
        }
    }
    enum Plain {
        @Model final class Item { var points: Int }
    }

    private func make(_ folder: ScratchFolder, _ name: String = "items.sqlite") async throws -> URL {
        let url = folder.file(name)
        try await folder.with(url, [Texts.Item.self]) { context in
            for points in [10, 9, 100] { context.insert(Texts.Item(points: points)) }
            try context.commit()
        }
        return url
    }

    @Test("A migration recalculates a derived attribute whose type has changed, alone and beside a new column")
    func type() async throws {
        let folder = try ScratchFolder()
        let url = try await make(folder)
        let plan = try await Migration().plan(for: .sqlite(url), models: [Numbers.Item.self])
        #expect(plan.changes == ["change Item.rank from TEXT to INTEGER as calculated"] && plan.rewritten == ["Item"])
        let found = try await folder.with(url, [Numbers.Item.self]) { context in
            (
                try context.count(Numbers.Item.where { $0.rank > 9 }),
                try context.fetch(Numbers.Item.sorted { $0.rank }).map(\.points)
            )
        }
        #expect(found.0 == 2 && found.1 == [9, 10, 100])
        #expect(try folder.rows(url, "SELECT DISTINCT typeof(rank) FROM Item") == ["integer"])
        let other = try await make(folder, "other.sqlite")
        for _ in 0..<2 {
            let sorted = try await folder.with(other, [More.Item.self]) { context in
                try context.fetch(More.Item.sorted { $0.rank }).map { $0.points + $0.more }
            }
            #expect(sorted == [9, 10, 100])
        }
    }

    @Test("A migration calculates a new derived attribute for all rows, even if there are many")
    func added() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("items.sqlite")
        try await folder.with(url, [Plain.Item.self]) { context in
            _ = try context.batchInsert((0..<2_100).map { Plain.Item(points: $0).snapshot })
        }
        let activities = Journal()
        let migration = Migration().onProgress { activities.add($0.activity) }
        try await folder.with(url, [Numbers.Item.self], migration) { _ in }
        #expect(try folder.rows(url, "SELECT count(*), sum(rank = points) FROM Item") == ["2100|2100"])
        #expect(activities.all.contains("Calculating Item"))
        #expect(try folder.rows(url, "SELECT max(migrations) FROM strata_history") == ["1"])
    }

    @Test("A migration recalculates the rows that a step has changed")
    func step() async throws {
        let folder = try ScratchFolder()
        let url = try await make(folder)
        let migration = Migration().step("double") { try $0.execute("UPDATE Item SET points = 2 * points") }
        try await folder.with(url, [Texts.Item.self], migration) { _ in }
        #expect(try folder.rows(url, "SELECT rank FROM Item ORDER BY id") == ["20", "18", "200"])
    }

    enum Choices {
        enum Kind: String, AttributeValue { case small, large }
        @Model final class Item {
            var kind: Kind
            @Derived var isLarge: Bool { kind == .large }
        }
        @Model final class Other { var name: String }
        @Model(table: "Other") final class OtherNext {
            var name: String
            var more: Int = 1
        }
    }

    @Test("A migration leaves rows of unchanged models alone; an error of a row that it reads names the object")
    func untouched() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("choices.sqlite")
        try await folder.with(url, [Choices.Item.self, Choices.Other.self]) { context in
            context.insert(Choices.Item(kind: .small))
            try context.commit()
        }
        try folder.sql(url, "UPDATE Item SET kind = 'huge', isLarge = 7")
        try await folder.with(url, [Choices.Item.self, Choices.OtherNext.self]) { _ in }
        #expect(try folder.rows(url, "SELECT kind, isLarge FROM Item") == ["huge|7"])
        try await folder.expectRefusal(
            url,
            [Choices.Item.self, Choices.OtherNext.self],
            Migration().backup(.none).step("nothing") { _ in },
            .undecodable,
            "Item 1.kind"
        )
    }
}
