import Foundation
import Testing

@testable import Strata

@Model final class Shop {
    @Attribute(.unique) var name: String
    @Relationship(inverse: \Ware.shop, ordered: true) var wares: Many<Ware>
}

@Model final class Ware {
    @Attribute(.unique) var name: String
    @Attribute(.unique) var barcode: Int?
    @Attribute(.notEmpty) var title: String = "untitled"
    @Attribute(.externalStorage) var picture: Data?
    var shop: Shop?
    @Relationship(inverse: \Badge.wares) var badges: Many<Badge>
    @Relationship(inverse: \Badge.chosen, ordered: true) var ranking: Many<Badge>
    @Derived var label: String { "\(name): \(title)" }
}

@Model final class Badge {
    @Attribute(.unique) var name: Decimal
    var wares: Many<Ware>
    var chosen: Many<Ware>
    var note: String?
    @Attribute(.createdAt) var createdAt: Date?
    @Attribute(.updatedAt) var updatedAt: Date?
}

@Suite("Matching lines with existing objects", .timeLimit(.minutes(2)))
struct ImportKeyTests {
    private static let matching = [
        ImportKey(Shop.self, by: "name"), ImportKey(Ware.self, by: "name"), ImportKey(Badge.self, by: "name"),
    ]

    private func open() async throws -> ContextStack {
        try await JSONLinesFixture.open([Shop.self, Ware.self, Badge.self])
    }

    private enum Kept: ContextStateKey { typealias Value = Ware }

    /// Two shops with ordered wares and badges.
    private func fill(_ stack: ContextStack) async throws {
        try await stack.background { context in
            let shops = ["near", "far"].map { context.insert(Shop(name: $0)) }
            let badges = [1, 2.5, 3].map { context.insert(Badge(name: $0)) }
            for (index, name) in ["c", "a", "b"].enumerated() {
                let ware = context.insert(Ware(name: name, barcode: index, picture: Data([UInt8(index)])))
                shops[0].wares.insert(ware)
                ware.badges.insert(badges[index])
                for badge in badges.reversed() { ware.ranking.insert(badge) }
            }
            try context.commit()
        }
    }

    /// The content of a store's lines, without the timestamps.
    private func content(_ stack: ContextStack) async throws -> [String] {
        let lines = try await JSONLinesFixture.lines(stack).map {
            $0.replacing(try Regex(#""(createdAt|updatedAt)":"[^"]*",?"#), with: "")
        }
        return try JSONLinesFixture.content(lines)
    }

    @Test("A second import of the same lines adds nothing and writes nothing")
    func twice() async throws {
        let (one, two) = (try await open(), try await open())
        try await fill(one)
        let folder = try ScratchFolder()
        let file = folder.file("lines.jsonl")
        try await one.exportJSONLines(to: file)
        let changes = try await two.importJSONLines(from: file, matching: Self.matching)
        #expect(changes.of(Ware.self).inserted.count == 3 && changes.of(Ware.self).updated.isEmpty)
        let (token, before) = (two.historyToken, try await JSONLinesFixture.lines(two))
        let again = try await two.importJSONLines(from: file, matching: Self.matching)
        #expect(again.tables == [] && two.historyToken == token)
        let lines = try await JSONLinesFixture.lines(one)
        try await two.importJSONLines(lines.reversed(), matching: Self.matching)
        try await two.importJSONLines(one.jsonLines(), matching: Self.matching)
        // The store's own lines identify their objects by their ids.
        try await two.importJSONLines(two.jsonLines(), matching: Self.matching)
        try await two.importJSONLines(two.jsonLines(of: [Ware.self]), matching: Self.matching)
        #expect(try await JSONLinesFixture.lines(two) == before && two.historyToken == token)
        #expect(try await content(one) == content(two))
        for stack in [one, two] { try await stack.close() }
    }

    @Test("An import updates the objects that exist and inserts the others")
    func half() async throws {
        let (one, two) = (try await open(), try await open())
        try await fill(one)
        let (far, ware) = try await two.background { context in
            let far = context.insert(Shop(name: "far"))
            let ware = context.insert(Ware(name: "a", title: "old", picture: Data([9]), shop: far))
            let badges = [3, 2.5, 7].map { context.insert(Badge(name: $0)) }
            for badge in badges { ware.ranking.insert(badge) }
            ware.badges.insert(badges[2])
            try context.commit()
            return (far.id, ware.id)
        }
        let changes = try await two.importJSONLines(one.jsonLines(), matching: Self.matching)
        let wares = changes.of(Ware.self)
        #expect(wares.inserted.count == 2 && wares.updated == [ware] && wares.deleted.isEmpty)
        #expect(
            wares.updatedColumns(of: ware) == ["barcode", "title", "picture", "shop", "label", "badges", "ranking"]
        )
        #expect(changes.of(Shop.self).inserted.count == 1 && changes.of(Badge.self).inserted.count == 1)
        // The changes also report the badges that were added to a ware or removed from one.
        #expect(changes.of(Badge.self).updated.count == 3)
        try await two.background { context in
            let near = try #require(try context.first(Shop.where { $0.name == "near" }))
            #expect(try near.wares.fetch().map(\.name) == ["c", "a", "b"])
            #expect(try #require(try context.find(far)).wares.count == 0)
            let found = try #require(try context.find(ware))
            #expect(found.title == "untitled" && found.picture == Data([1]) && found.label == "a: untitled")
            #expect(try found.badges.fetch().map(\.name) == [2.5])
            #expect(try found.ranking.fetch().map(\.name) == [3, 2.5, 1])
            // Bytes outside the row are removed together with the value.
            context.delete(try #require(try context.first(Badge.where { $0.name == 7 })))
            try context.commit()
        }
        #expect(try await content(one) == content(two))
        let kept = try two.core.engine.reading { connection, _ in
            try connection.integer("SELECT count(*) FROM \"strata_data\"")
        }
        #expect(kept == 3)
        for stack in [one, two] { try await stack.close() }
    }

    @Test("Lines refer to matched objects by the ids in their lines, in any order of lines")
    func references() async throws {
        let stack = try await open()
        try await fill(stack)
        let shop = try await stack.background { try $0.first(Shop.where { $0.name == "far" })?.id }
        let changes = try await stack.importJSONLines(
            [
                #"{"$model":"Ware","name":"new","shop":"s","badges":["b","n"],"ranking":["n","b"]}"#,
                #"{"$model":"Ware","name":"a","shop":"s"}"#,
                #"{"$id":"b","$model":"Badge","name":"1.0"}"#,
                #"{"$id":"n","$model":"Badge","name":"4"}"#,
                #"{"$id":"s","$model":"Shop","name":"far"}"#,
            ],
            matching: Self.matching
        )
        #expect(changes.of(Shop.self).inserted.isEmpty && changes.of(Badge.self).inserted.count == 1)
        try await stack.background { context in
            let far = try #require(try context.first(Shop.where { $0.name == "far" }))
            #expect(far.id == shop)
            #expect(try far.wares.fetch().map(\.name).sorted() == ["a", "new"])
            let new = try #require(try context.first(Ware.where { $0.name == "new" }))
            #expect(try new.badges.fetch().map(\.name).sorted() == [1, 4])
            #expect(try new.ranking.fetch().map(\.name) == [4, 1])
            #expect(try context.count(Badge.where { $0.name == 1 }) == 1)
            // Properties that the line does not give stay unchanged.
            let old = try #require(try context.first(Ware.where { $0.name == "a" }))
            #expect(old.barcode == 1 && old.picture == Data([1]))
            #expect(try old.ranking.fetch().map(\.name) == [3, 2.5, 1])
        }
        try await stack.close()
    }

    @Test("A line sets only the properties it gives, also to nil; timestamps change only if a value changes")
    func parts() async throws {
        let stack = try await open()
        try await fill(stack)
        let before = try await stack.background { try $0.rows(Badge.sorted { $0.name.ascending }) }
        let line = #"{"$model":"Ware","name":"c","barcode":null,"picture":null,"shop":null,"badges":[],"ranking":[]}"#
        let old = #""createdAt":"2001-01-01T00:00:00Z","updatedAt":"2001-01-01T00:00:00Z""#
        try await stack.importJSONLines(
            [
                line, #"{"$model":"Badge","name":"1","note":"x",\#(old)}"#, #"{"$model":"Badge","name":"2.5",\#(old)}"#,
            ],
            matching: Self.matching
        )
        try await stack.background { context in
            let ware = try #require(try context.first(Ware.where { $0.name == "c" }))
            #expect(ware.barcode == nil && ware.picture == nil && ware.shop == nil && ware.title == "untitled")
            #expect(try ware.badges.count == 0 && ware.ranking.count == 0)
            let badges = try context.rows(Badge.sorted { $0.name.ascending })
            #expect(badges.map(\.note) == ["x", nil, nil] && badges.map(\.createdAt) == before.map(\.createdAt))
            #expect(badges[0].updatedAt != before[0].updatedAt && badges[1]._$differences(from: before[1]).isEmpty)
        }
        try await stack.close()
    }

    @Test("Objects in contexts show imported values, and an edit of the same column is a conflict")
    func contexts() async throws {
        let stack = try await open()
        try await fill(stack)
        let context = try stack.create(.private, named: "watching")
        try await context.perform { context in
            let ware = try #require(try context.first(Ware.where { $0.name == "a" }))
            context.state[Kept.self] = ware
            #expect(try ware.ranking.fetch().map(\.name) == [3, 2.5, 1] && ware.badges.count == 1)
            ware.barcode = 100
        }
        try await stack.importJSONLines(
            [
                #"{"$model":"Ware","name":"a","title":"new","barcode":50,"ranking":["x","y","z"],"badges":["y"]}"#,
                #"{"$id":"x","$model":"Badge","name":"1"}"#,
                #"{"$id":"y","$model":"Badge","name":"3"}"#,
                #"{"$id":"z","$model":"Badge","name":"2.5"}"#,
            ],
            matching: Self.matching
        )
        try await context.perform { context in
            let ware = try #require(context.state[Kept.self])
            #expect(ware.title == "new" && ware.barcode == 100)
            #expect(try ware.ranking.fetch().map(\.name) == [1, 3, 2.5])
            #expect(try ware.badges.fetch().map(\.name) == [3])
            let error = #expect(throws: StrataError.self) { try context.commit() }
            #expect(error?.code == .conflict && error?.details.map(\.column) == ["barcode"])
            context.rollback()
            #expect(ware.barcode == 50)
        }
        try await stack.close()
    }

    @Test(
        "An import that cannot match a line names the line, and imports nothing",
        arguments: [
            ([#"{"$model":"Ware","name":"a"}"#], "line 2, Ware.name matches the same object as line 1"),
            (
                [#"{"$model":"Ware","name":"x"}"#, #"{"$model":"Ware","name":"x"}"#],
                "line 3 cannot be imported (notUnique)"
            ),
            ([#"{"$model":"Ware","name":"b","barcode":0}"#], "line 2 cannot be imported (notUnique)"),
            ([#"{"$model":"Ware","name":"x","barcode":0}"#], "line 2 cannot be imported (notUnique)"),
            ([#"{"$model":"Ware","name":"b","title":""}"#], "line 2 cannot be imported (validation)"),
            ([#"{"$model":"Ware","name":"b","shop":"none"}"#], "line 2, Ware.shop refers to 'none'"),
            ([#"{"$id":"a","$model":"Ware","name":"b"}"#], "'a' is already used in line 1"),
            ([#"{"$model":"Ware","name":"b","picture":"%"}"#], "line 2, Ware.picture cannot be read"),
        ]
    )
    func refusals(lines: [String], message: String) async throws {
        let stack = try await open()
        try await fill(stack)
        let (token, before) = (stack.historyToken, try await JSONLinesFixture.lines(stack))
        let first = #"{"$id":"a","$model":"Ware","name":"a","title":"new","badges":[]}"#
        let error = await #expect(throws: StrataError.self) {
            try await stack.importJSONLines([first] + lines, matching: Self.matching)
        }
        #expect(error?.code == .invalidImport)
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
        #expect(stack.historyToken == token)
        #expect(try await JSONLinesFixture.lines(stack) == before)
        // The store stays usable.
        try await stack.importJSONLines([first], matching: Self.matching)
        #expect(try await stack.background { try $0.count(Ware.where { $0.title == "new" }) } == 1)
        try await stack.close()
    }

    @Test("Properties that do not identify an object are refused as a match")
    func invalidKeys() async throws {
        let stack = try await open()
        let wrong: [[ImportKey]] = [
            [ImportKey(Ware.self, by: "title")], [ImportKey(Ware.self, by: "name", "barcode")], [ImportKey(Ware.self)],
            [ImportKey(Ware.self, by: "name"), ImportKey(Ware.self, by: "barcode")],
        ]
        for matching in wrong {
            await expect(.invalidQuery) { try await stack.importJSONLines([String](), matching: matching) }
        }
        await expect(.unknownModel) {
            try await stack.importJSONLines([String](), matching: [ImportKey(Song.self, by: "name")])
        }
        try await stack.close()
    }

    @Test("A later export of one store brings the other up to date", arguments: 0..<6)
    func random(run: Int) async throws {
        let seed = SeededGenerator.seed &+ UInt64(run)
        var generator = SeededGenerator(seed: seed)
        let (one, two) = (try await open(), try await open())
        try await fill(one)
        try await two.importJSONLines(one.jsonLines())
        for round in 0..<4 {
            let steps = (0..<30).map { _ in (0..<4).map { _ in Int.random(in: 0..<1000, using: &generator) } }
            try await one.background { context in
                for (index, step) in steps.enumerated() {
                    let shops = try context.fetch(Shop.sorted { $0.name.ascending })
                    let wares = try context.fetch(Ware.sorted { $0.name.ascending })
                    let badges = try context.fetch(Badge.sorted { $0.name.ascending })
                    let (ware, badge) = (wares[step[1] % wares.count], badges[step[2] % badges.count])
                    let shop = shops[step[3] % shops.count]
                    switch step[0] % 10 {
                    case 0: context.insert(Ware(name: "\(round) \(index)", title: "t\(step[1])"))
                    case 1: context.insert(Badge(name: Decimal(round * 100 + index + 10)))
                    case 2: ware.title = "t\(step[2])"
                    case 3: ware.picture = step[2] % 3 == 0 ? nil : Data([UInt8(step[2] % 4)])
                    case 4: shop.wares.insert(ware)
                    case 5: ware.shop = step[2] % 3 == 0 ? nil : shop
                    case 6: try ware.badges.contains(badge) ? ware.badges.remove(badge) : ware.badges.insert(badge)
                    case 7: try ware.ranking.contains(badge) ? ware.ranking.remove(badge) : ware.ranking.insert(badge)
                    case 8:
                        let members = try ware.ranking.fetch()
                        if members.count > 1 {
                            try ware.ranking.move(members[step[2] % (members.count - 1) + 1], before: members[0])
                        }
                    default: badge.note = "n\(step[3])"
                    }
                }
                try context.commit()
            }
            var lines = try await JSONLinesFixture.lines(one)
            lines.shuffle(using: &generator)
            try await two.importJSONLines(lines, matching: Self.matching)
            let (before, after) = (try await content(one), try await content(two))
            #expect(before == after, "seed \(seed), round \(round)")
            let token = two.historyToken
            try await two.importJSONLines(lines.shuffled(using: &generator), matching: Self.matching)
            #expect(two.historyToken == token, "seed \(seed), round \(round)")
        }
        for stack in [one, two] { try await stack.close() }
    }
}
