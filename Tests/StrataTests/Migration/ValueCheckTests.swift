import Foundation
import TestHomeTraits
import Testing

@testable import Strata

enum ItemsBefore {
    @Model final class Item {
        var number: Int
        var flag: Int = 0
        var list: [Int] = []
        var measure: Double = 0
        var text: String = ""
        var note: String?
    }
}
enum ItemsFlagged {
    @Model final class Item {
        var number: Int
        var flag: Bool = false
        var list: [Int] = []
        var measure: Double = 0
        var text: String = ""
        var note: String?
    }
}
enum ItemsCollected {
    @Model final class Item {
        var number: Int
        var flag: Int = 0
        var list: Set<Int> = []
        var measure: Double = 0
        var text: String = ""
        var note: String?
    }
}
enum ItemsMeasured {
    @Model final class Item {
        var number: Int
        var flag: Int = 0
        var list: [Int] = []
        var measure: Float = 0
        var text: String = ""
        var note: String?
    }
}
enum ItemsRuled {
    @Model final class Item {
        @Attribute(.range(0...10)) var number: Int
        var flag: Int = 0
        var list: [Int] = []
        var measure: Double = 0
        @Attribute(.notEmpty, .length(1...5)) var text: String = ""
        var note: String?
    }
}
enum ItemsRequired {
    @Model final class Item {
        var number: Int
        var flag: Int = 0
        var list: [Int] = []
        var measure: Double = 0
        var text: String = ""
        @Attribute(.required) var note: String?
    }
}
enum ItemsDefault {
    @Model final class Item {
        var number: Int
        var flag: Int = 0
        var list: [Int] = []
        var measure: Double = 0
        var text: String = ""
        @Attribute(.required) var note: String? = "none"
    }
}

@Suite("Unchanged values under new types and rules", .aboutTheFile("migrates stores"), .timeLimit(.minutes(2)))
struct ValueCheckTests {
    private let folder: ScratchFolder
    private let migration = Migration().backup(.none)

    init() throws { folder = try ScratchFolder() }

    private func make(_ items: ItemsBefore.Item.Row...) async throws -> URL {
        let url = folder.file("items-\(UUID()).sqlite")
        try await folder.with(url, [ItemsBefore.Item.self]) { _ = try $0.batchInsert(items) }
        return url
    }

    private func item(
        _ number: Int,
        flag: Int = 0,
        list: [Int] = [],
        measure: Double = 0,
        text: String = "",
        note: String? = nil
    ) -> ItemsBefore.Item.Row {
        ItemsBefore.Item(number: number, flag: flag, list: list, measure: measure, text: text, note: note).snapshot
    }

    @Test("From Int to Bool, 0 and 1 are kept, and other numbers are refused")
    func truth() async throws {
        let url = try await make(item(1, flag: 0), item(2, flag: 1))
        try await folder.with(url, [ItemsFlagged.Item.self], migration) { context in
            try #expect(
                context.fetch(ItemsFlagged.Item.all.sorted { $0.number.ascending }).map(\.flag) == [false, true]
            )
            try #expect(context.column(ItemsFlagged.Item.where { $0.flag }, \.number) == [2])
        }
        let other = try await make(item(1, flag: 2), item(2, flag: -1), item(3, flag: 1))
        let plan = try await migration.plan(for: .sqlite(other), models: [ItemsFlagged.Item.self])
        #expect(plan.changes.contains("change Item.flag from Int to Bool as it is"), "\(plan)")
        #expect(
            plan.refusals.count == 1
                && plan.refusals[0].hasPrefix("Item.flag must be a value of Bool, and 2 rows")
        )
        try await folder.expectRefusal(
            other,
            [ItemsFlagged.Item.self],
            migration,
            .schemaMismatch,
            "Item.flag must be a value of Bool (2 rows)",
            "flag must be a value of Bool: -1"
        )
        // A step before or after, or an expression, may repair the values.
        let copies = try (0..<3).map { index in
            let copy = folder.file("copy-\(index).sqlite")
            try FileManager.default.copyItem(at: other, to: copy)
            return copy
        }
        let repair = "UPDATE Item SET flag = flag <> 0"
        let ways = [
            migration.step("flags", before: { try $0.execute(repair) }, after: nil),
            migration.step("flags") { try $0.execute(repair) }, migration.filling("Item.flag", with: "flag <> 0"),
        ]
        for (copy, way) in zip(copies, ways) {
            try await folder.with(copy, [ItemsFlagged.Item.self], way) { context in
                try #expect(context.count(ItemsFlagged.Item.where { $0.flag }) == 3)
                try #expect(context.fetch(ItemsFlagged.Item.all).allSatisfy(\.flag))
            }
        }
    }

    @Test("From [Int] to Set<Int>, texts are rewritten as the new type writes them, so that queries find them")
    func sets() async throws {
        let url = try await make(item(1, list: [3, 1, 2]), item(2, list: [2, 2]), item(3))
        let plan = try await migration.plan(for: .sqlite(url), models: [ItemsCollected.Item.self])
        #expect(plan.changes.contains("convert Item.list in 2 rows"), "\(plan)")
        try await folder.with(url, [ItemsCollected.Item.self], migration) { context in
            let items = try context.fetch(ItemsCollected.Item.all.sorted { $0.number.ascending })
            #expect(items.map(\.list) == [[1, 2, 3], [2], []])
            for item in items {
                let list = item.list
                try #expect(context.column(ItemsCollected.Item.where { $0.list == list }, \.number) == [item.number])
            }
        }
    }

    @Test("From Double to Float, numbers that a Float cannot hold are refused, or rounded if the migration declares it")
    func floats() async throws {
        let exact = try await make(item(1, measure: 0.5))
        try await folder.with(exact, [ItemsMeasured.Item.self], migration) { context in
            try #expect(context.column(ItemsMeasured.Item.where { $0.measure == 0.5 }, \.number) == [1])
        }
        let url = try await make(item(1, measure: 0.1), item(2, measure: 0.5))
        try await folder.expectRefusal(
            url,
            [ItemsMeasured.Item.self],
            migration,
            .schemaMismatch,
            "Item.measure must be a number that Float keeps exactly (1 row)"
        )
        let rounding = migration.filling("Item.measure", with: "measure")
        try await folder.with(url, [ItemsMeasured.Item.self], rounding) { context in
            try #expect(context.first(ItemsMeasured.Item.where { $0.number == 1 })?.measure == 0.1)
            try #expect(context.column(ItemsMeasured.Item.where { $0.measure == 0.1 }, \.number) == [1])
        }
    }

    @Test("The plan lists new rules with row counts, and the migration refuses rows that break them")
    func rules() async throws {
        let url = try await make(item(1, text: "a"), item(20, text: ""), item(30, text: "too long"))
        let plan = try await migration.plan(for: .sqlite(url), models: [ItemsRuled.Item.self])
        #expect(plan.changes.contains("check that Item.text must not be empty"), "\(plan)")
        #expect(plan.refusals.count == 3, "\(plan)")
        #expect(plan.refusals.contains { $0.hasPrefix("Item.number must be between 0 and 10, and 2 rows break this.") })
        #expect(plan.refusals.contains { $0.hasPrefix("Item.text must not be empty, and 1 row breaks this.") })
        let length = "Item.text must have 1 to 5 characters, and 1 row breaks this."
        #expect(plan.refusals.contains { $0.hasPrefix(length) })
        try await folder.expectRefusal(
            url,
            [ItemsRuled.Item.self],
            migration,
            .schemaMismatch,
            "Item.number must be between 0 and 10 (2 rows)",
            "Item.text must not be empty (1 row)"
        )
        let repairing = migration.step("rules") { database in
            try database.execute("UPDATE Item SET number = min(number, 10), text = substr(text || 'x', 1, 5)")
        }
        let repaired = try await repairing.plan(for: .sqlite(url), models: [ItemsRuled.Item.self])
        #expect(
            repaired.refusals.isEmpty && repaired.changes.contains { $0.hasPrefix("steps must repair Item.number") }
        )
        try await folder.with(url, [ItemsRuled.Item.self], repairing) { context in
            try #expect(context.column(ItemsRuled.Item.all.sorted { $0.number.ascending }, \.number) == [1, 10, 10])
        }
        // The store knows the rules now, so that the plan does not check them again.
        let again = try await repairing.plan(for: .sqlite(url), models: [ItemsRuled.Item.self])
        #expect(again.isEmpty, "\(again)")
    }

    @Test("The default value repairs the rows that a newly required attribute would refuse")
    func required() async throws {
        let url = try await make(item(1), item(2, note: "x"), item(3))
        let plan = try await migration.plan(for: .sqlite(url), models: [ItemsRequired.Item.self])
        let message = "Item.note must not be nil, and 2 rows break this."
        #expect(plan.refusals.contains { $0.hasPrefix(message) }, "\(plan)")
        try await folder.expectRefusal(
            url,
            [ItemsRequired.Item.self],
            migration,
            .schemaMismatch,
            "Item.note must not be nil (2 rows)"
        )
        let filled = try await migration.plan(for: .sqlite(url), models: [ItemsDefault.Item.self])
        #expect(filled.changes.contains("give Item.note its default value in 2 rows") && filled.refusals.isEmpty)
        try await folder.with(url, [ItemsDefault.Item.self], migration) { context in
            let notes = try context.fetch(ItemsDefault.Item.all.sorted { $0.number.ascending }).map(\.note)
            #expect(notes == ["none", "x", "none"])
        }
    }

    @Test("The schema's text has types and rules, and parses back")
    func text() throws {
        let schema = try Schema([ItemsRuled.Item.self])
        #expect(schema.text.contains(#"text TEXT checked ("must not be empty", "must have 1 to 5 characters")"#))
        #expect(schema.text.contains("list TEXT of \"Array<Int>\""))
        #expect(try SchemaDescription(parsing: schema.text) == schema.description)
    }
}

enum ManFirst {
    @Model final class Husband {
        var name: String
        var wife: Wife?
    }
    @Model final class Wife {
        var name: String
        @Relationship(inverse: \Husband.wife) var husband: Husband?
    }
}
enum WomanFirst {
    @Model final class Husband {
        var name: String
        @Relationship(inverse: \Wife.husband) var wife: Wife?
    }
    @Model final class Wife {
        var name: String
        var husband: Husband?
    }
}

@Suite("One-to-one relationships whose inverse moves to the other side", .aboutTheFile("migrates stores"))
struct MovedInverseTests {
    @Test("The column moves to the other end with its values")
    func turned() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("pairs.sqlite")
        try await folder.with(url, [ManFirst.Husband.self, ManFirst.Wife.self]) { context in
            for name in ["a", "b"] {
                context.insert(ManFirst.Husband(name: name, wife: ManFirst.Wife(name: name.uppercased())))
            }
            context.insert(ManFirst.Husband(name: "c"))
            context.insert(ManFirst.Wife(name: "D"))
            try context.commit()
        }
        let models: [any Model.Type] = [WomanFirst.Husband.self, WomanFirst.Wife.self]
        let migration = Migration().backup(.none)
        let plan = try await migration.plan(for: .sqlite(url), models: models)
        #expect(plan.refusals.isEmpty, "\(plan)")
        #expect(plan.changes.contains("move Husband.wife to the other end, Wife.husband"), "\(plan)")
        try await folder.with(url, models, migration) { context in
            let wives = try context.fetch(WomanFirst.Wife.all.sorted { $0.name.ascending })
            #expect(wives.map { "\($0.name)\($0.husband?.name ?? "-")" } == ["Aa", "Bb", "D-"])
            let others = try context.fetch(WomanFirst.Husband.all.sorted { $0.name.ascending }).map { $0.wife?.name }
            #expect(others == ["A", "B", nil])
        }
        // The column moves back.
        try await folder.with(url, [ManFirst.Husband.self, ManFirst.Wife.self], migration) { context in
            let wives = try context.fetch(ManFirst.Husband.all.sorted { $0.name.ascending }).map { $0.wife?.name }
            #expect(wives == ["A", "B", nil])
        }
    }
}
