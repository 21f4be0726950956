import FileHome
import FleetFixture
import Foundation
import StoreModels
import Testing

@testable import Strata

/// Programs with earlier models that start after a migration, over a home in a file. The tests of running nodes are in
/// ``HomeMigrationTests``.
@Suite("Earlier programs over a migrated home", .timeLimit(.minutes(2)))
struct EarlierProgramTests {
    private typealias OldItem = Warehouse.First.Item
    private typealias Item = Warehouse.Second.Item

    /// With one more attribute than ``Warehouse/Second``.
    enum Later {
        @Model(.index("count")) final class Item {
            @Attribute(.unique) var name: String
            var rank: Int = 7
            var count: Int = 0
            var note: String?
            var color: String = "red"
            var place: String = "it's \"here\" \\"
        }

        static let models: [any Model.Type] = [
            Item.self, Warehouse.Second.Shelf.self, Warehouse.Second.Box.self,
        ]
    }

    private let fleet: Fleet

    init() throws { fleet = try Fleet() }

    private func openLater(_ name: String) async throws -> ContextStack {
        try await fleet.open(name, models: Later.models)
    }

    /// The names and counts that an earlier program sees.
    private func oldItems(in stack: ContextStack) async throws -> [String] {
        try await stack.catchUp()
        return try await stack.background { context in
            try context.fetch(OldItem.sorted { $0.name.ascending }).map { "\($0.name) \($0.count)" }
        }
    }

    private func items(in stack: ContextStack) async throws -> [String] {
        try await stack.catchUp()
        return try await stack.background { context in
            try context.fetch(Item.sorted { $0.name.ascending }).map { item in
                "\(item.name) \(item.count) \(item.rank) \(item.note ?? "-") \(item.place)"
            }
        }
    }

    /// The code of the error with which a node opens; nil if it opens.
    private func refusal(
        _ name: String,
        _ models: [any Model.Type],
        _ migration: Migration = Migration()
    ) async throws -> StrataError.Code? {
        do {
            let configuration = StoreConfiguration(busyTimeout: 0.1)
            try await fleet.open(name, models: models, migration: migration, configuration: configuration).close()
            return nil
        } catch let error as StrataError {
            return error.code
        }
    }

    /// Expects that the last opening of a node has continued with its copy.
    private func expectKeptCopy(_ name: String, location: SourceLocation = #_sourceLocation) throws {
        let count = try fleet.connection(name).faults.count(of: .copy)
        #expect(count == 0, "\(name)", sourceLocation: location)
    }

    private func removeCopy(_ name: String) {
        for suffix in ["", "-wal", "-shm"] { unlink(fleet.copy(name).path + suffix) }
    }

    private func expectNoOldCopies() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: fleet.folder.url.path)
        #expect(!files.contains { $0.contains("-old-") }, "\(files)")
    }

    // MARK: Additions

    @Test(
        "An earlier program starts again after an addition, and loses no value that it does not know",
        arguments: [true, false]
    )
    func restart(hasCopy: Bool) async throws {
        let first = try await fleet.openFirst("left")
        try await Warehouse.First.insert("early", "other", in: first)
        try await first.close()
        let right = try await fleet.openSecond("right")
        let description = try fleet.description()
        try await right.write { context in
            let item = try #require(try context.first(Item.where { $0.name == "early" }))
            (item.rank, item.note, item.place) = (9, "noted", "shelf")
            let shelf = context.insert(Warehouse.Second.Shelf(label: "high"))
            context.insert(Warehouse.Second.Box(number: 1, shelf: shelf, photo: Data(repeating: 1, count: 50_000)))
        }
        if !hasCopy { removeCopy("left") }
        let left = try await fleet.openFirst("left")
        if hasCopy { try expectKeptCopy("left") }
        #expect(try await oldItems(in: left) == ["early 1", "other 1"])
        try await left.write { context in
            let item = try #require(try context.first(OldItem.where { $0.name == "early" }))
            (item.name, item.count) = ("changed", 2)
            context.delete(try #require(try context.first(OldItem.where { $0.name == "other" })))
            context.insert(OldItem(name: "late", count: 3))
        }
        #expect(try await items(in: right) == ["changed 2 9 noted shelf", "late 3 7 - it's \"here\" \\"])

        // The copy is used again, and follows the newer nodes.
        try await left.close()
        try await right.write { context in
            try #require(try context.first(Item.where { $0.name == "late" })).count = 5
            context.delete(try #require(try context.first(Warehouse.Second.Shelf.all)))
            context.insert(Item(name: "new", rank: 1, count: 4))
        }
        let again = try await fleet.openFirst("left")
        try expectKeptCopy("left")
        #expect(try await oldItems(in: again) == ["changed 2", "late 5", "new 4"])
        let taken = await #expect(throws: StrataError.self) { try await Warehouse.First.insert("new", in: again) }
        #expect(taken?.code == .notUnique)
        try await again.close()
        #expect(try fleet.description() == description)
        try expectNoOldCopies()
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("A program starts again after several additions, and knows the default values of the first ones")
    func severalAdditions() async throws {
        let first = try await fleet.openFirst("first")
        try await Warehouse.First.insert("one", in: first)
        try await first.close()
        try await fleet.openSecond("second").close()
        let later = try await openLater("later")
        try await later.write { context in
            try #require(try context.first(Later.Item.where { $0.name == "one" })).color = "blue"
        }
        removeCopy("second")
        let (again, second) = (try await fleet.openFirst("first"), try await fleet.openSecond("second"))
        try expectKeptCopy("first")
        // The node with the second models completes a row of the first ones.
        try await Warehouse.First.insert("two", count: 2, in: again)
        let completed = ["one 1 7 - it's \"here\" \\", "two 2 7 - it's \"here\" \\"]
        #expect(try await items(in: second) == completed)
        try await second.write { context in
            for item in try context.fetch(Item.all) { item.rank += 1 }
            context.insert(Item(name: "three", rank: 3))
        }
        #expect(try await oldItems(in: again) == ["one 1", "three 0", "two 2"])
        try await again.write { context in
            for item in try context.fetch(OldItem.all) { item.count += 10 }
        }
        try await later.catchUp()
        let found = try await later.background { context in
            try context.fetch(Later.Item.sorted { $0.name.ascending }).map { item in
                "\(item.name) \(item.count) \(item.rank) \(item.color)"
            }
        }
        #expect(found == ["one 11 8 blue", "three 10 3 red", "two 12 8 red"])
        for node in [again, second] { try await node.close() }
        // No further start makes a copy again.
        let last = [try await fleet.openFirst("first"), try await fleet.openSecond("second")]
        for name in ["first", "second"] { try expectKeptCopy(name) }
        #expect(try await oldItems(in: last[0]) == ["one 11", "three 10", "two 12"])
        for node in last { try await node.close() }
        #expect(try fleet.description().generation == 0)
        try expectNoOldCopies()
        _ = try await openLater("first")
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("An earlier program starts after a migration that has changed only the version")
    func version() async throws {
        let left = try await fleet.openFirst("left")
        try await Warehouse.First.insert("one", in: left)
        try await left.close()
        let right = try await fleet.open("right", models: Warehouse.First.models, migration: Migration(version: 1))
        let again = try await fleet.openFirst("left")
        try expectKeptCopy("left")
        try await Warehouse.First.insert("two", in: again)
        #expect(try await oldItems(in: right) == ["one 1", "two 1"])
        #expect(try fleet.description().version == 1)
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("Earlier and newer programs that open at the same moment all open")
    func atOnce() async throws {
        for name in ["a", "b"] { try await fleet.openFirst(name).close() }
        let first = try await fleet.openFirst("first")
        for number in 0..<20 { try await Warehouse.First.insert("\(number)", in: first) }
        try await first.close()
        removeCopy("b")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for name in ["a", "b"] {
                group.addTask {
                    let stack = try await fleet.openFirst(name)
                    try await Warehouse.First.insert("from \(name)", in: stack)
                }
            }
            for name in ["c", "d"] { group.addTask { _ = try await fleet.openSecond(name) } }
            try await group.waitForAll()
        }
        try await fleet.close()
        let again = try await fleet.openFirst("a")
        #expect(try await oldItems(in: again).count == 22)
        try await again.close()
        #expect(try fleet.description().earlier.count == 1)
        for name in ["c", "d"] {
            let node = try await fleet.openSecond(name)
            #expect(try await items(in: node).count == 22)
        }
        try await fleet.compare()
        try await fleet.close()
    }

    // MARK: Changes that stop nodes

    @Test("A change that nodes cannot continue with refuses all earlier programs, and an addition after it only those")
    func breaking() async throws {
        let first = try await fleet.openFirst("first")
        try await Warehouse.First.insert("one", in: first)
        try await first.close()
        let second = try await fleet.openSecond("second")
        // Started after the first migration, and running during the next one.
        let again = try await fleet.openFirst("first")
        func changes(_ version: Int) -> Migration {
            Migration(version: version).dropping("Shelf", "Item.rank", "Item.place", "Box.photo", "Box.shelf")
                .step("notes") { try $0.execute("UPDATE Article SET note = note || '!'") }
        }
        try await fleet.open("third", models: Warehouse.Third.models, migration: changes(0)).close()
        for node in [again, second] {
            let error = await #expect(throws: StrataError.self) { try await node.catchUp() }
            #expect(error?.code == .schemaMismatch)
            try await node.close()
        }
        func expectRefusals() async throws {
            for name in ["first", "other"] {
                #expect(try await refusal(name, Warehouse.First.models) == .newerStore)
            }
            for name in ["second", "other"] {
                #expect(try await refusal(name, Warehouse.Second.models) == .newerStore)
            }
            #expect(!FileManager.default.fileExists(atPath: fleet.copy("other").path))
        }
        try await expectRefusals()
        let fourth = try await fleet.open("fourth", models: Warehouse.Third.models, migration: changes(1))
        try await expectRefusals()
        let third = try await fleet.open("third", models: Warehouse.Third.models, migration: changes(0))
        try expectKeptCopy("third")
        try await third.write { context in _ = context.insert(Warehouse.Third.Article(name: "two", amount: 0.5)) }
        try await fourth.catchUp()
        let names = try await fourth.background {
            try $0.column(Warehouse.Third.Article.sorted { $0.name.ascending }, \.name)
        }
        #expect(names == ["one", "two"])
        let description = try fleet.description()
        #expect(description.generation == 1)
        #expect(description.earlier.count == 3)
        try await fleet.compare()
        try await fleet.close()
    }

    // MARK: One copy for two programs

    @Test("Two programs do not use one copy at the same time, and each of them makes it again for its models")
    func sharedCopy() async throws {
        let first = try await fleet.openFirst("left")
        try await Warehouse.First.insert("one", in: first)
        try await first.close()
        let new = try await fleet.openSecond("left")
        #expect(try await refusal("left", Warehouse.First.models) == .busy)
        try await new.write { context in _ = context.insert(Item(name: "two", rank: 3)) }
        try await new.close()
        let old = try await fleet.openFirst("left")
        #expect(try await oldItems(in: old) == ["one 1", "two 0"])
        #expect(try await refusal("left", Warehouse.Second.models) == .busy)
        try await Warehouse.First.insert("three", in: old)
        try await old.close()
        let again = try await fleet.openSecond("left")
        let expected = [
            "one 1 7 - it's \"here\" \\", "three 1 7 - it's \"here\" \\", "two 0 3 - it's \"here\" \\",
        ]
        #expect(try await items(in: again) == expected)
        try expectNoOldCopies()
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("A copy whose models differ only in an index is changed in place for each program")
    func sharedCopyWithIndex() async throws {
        let first = try await fleet.openFirst("left")
        try await Warehouse.First.insert("one", in: first)
        try await first.close()
        let indexed = try await fleet.open("left", models: Warehouse.Indexed.models)
        #expect(try await refusal("left", Warehouse.First.models) == .busy)
        try await indexed.close()
        let old = try await fleet.openFirst("left")
        try expectKeptCopy("left")
        try await Warehouse.First.insert("two", in: old)
        try await old.close()
        let again = try await fleet.open("left", models: Warehouse.Indexed.models)
        #expect(try await again.background { try $0.count(Warehouse.Indexed.Item.all) } == 2)
        try expectKeptCopy("left")
        #expect(try fleet.description().earlier.count == 1)
        try await fleet.compare()
        try await fleet.close()
    }

    // MARK: The decision

    @Test("Only models that the home had in its generation have a part of it, with the columns of the home")
    func part() throws {
        let program = HomeDescription(try Schema(Warehouse.First.models), Migration())
        let index = try #require(program.tables.firstIndex { $0.name == "Item" })
        var home = program
        (home.version, home.schema, home.generation) = (3, "other models", 2)
        home.tables[index].columns[2].defaultValue = .integer(4)
        home.tables[index].columns.append(HomeTable.Column(name: "note", type: .text, isOptional: true))
        home.tables.append(HomeTable(name: "Shelf", columns: [program.tables[index].columns[0]]))
        #expect(home.part(for: program) == nil)
        #expect(!home.hadModels(of: program))
        // An entry of an earlier generation, and one from before entries had a generation.
        for entry in [program.earlierEntry(in: 1), program.key] {
            home.earlier = [entry]
            #expect(home.part(for: program) == nil)
            #expect(home.hadModels(of: program))
        }
        home.earlier.append(program.earlierEntry(in: 2))
        let part = try #require(home.part(for: program))
        var expected = program
        (expected.generation, expected.earlier) = (2, home.earlier)
        expected.tables[index].columns[2].defaultValue = .integer(4)
        #expect(part == expected)
        // Another version of the program is another program.
        var other = program
        other.version = 1
        #expect(home.part(for: other) == nil)
        #expect(!home.hadModels(of: other))
        // Rows of this order of columns would be read as other values.
        home.tables[index].columns.swapAt(1, home.tables[index].columns.count - 1)
        #expect(home.part(for: program) == nil)
    }
}
