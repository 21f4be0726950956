import FileHome
import FleetFixture
import Foundation
import StoreModels
import Testing

@testable import Strata

/// Nodes with the models of different versions of a program, over a home in a file.
@Suite("Migrations of stores with a home", .timeLimit(.minutes(2)))
struct HomeMigrationTests {
    private typealias OldItem = Warehouse.First.Item
    private typealias Item = Warehouse.Second.Item
    private typealias Article = Warehouse.Third.Article

    private let fleet: Fleet

    init() throws { fleet = try Fleet() }

    private func openThird(_ name: String) async throws -> ContextStack {
        try await fleet.open(name, models: Warehouse.Third.models, migration: Warehouse.Third.migration)
    }

    /// The code of the error with which a node opens; nil if it opens.
    private func refusal(_ name: String, _ models: [any Model.Type], busyTimeout: TimeInterval = 5) async throws
        -> StrataError.Code?
    {
        do {
            let configuration = StoreConfiguration(busyTimeout: busyTimeout)
            try await fleet.open(name, models: models, configuration: configuration).close()
            return nil
        } catch let error as StrataError {
            return error.code
        }
    }

    private func names(in stack: ContextStack) async throws -> [String] {
        try await stack.background { try $0.column(Article.sorted { $0.name.ascending }, \.name) }
    }

    // MARK: Migrations that stop nodes

    @Test("Running nodes get schemaMismatch, keep their state, lose no commit, and continue with the new models")
    func breaking() async throws {
        let (left, right) = (try await fleet.openFirst("left"), try await fleet.openFirst("right"))
        try await Warehouse.First.insert("one", count: 2, in: left)
        try await right.catchUp()
        try await Warehouse.First.insert("two", count: 3, in: right)
        let new = try await openThird("new")
        for node in [left, right] {
            let refused = await #expect(throws: StrataError.self) { try await Warehouse.First.insert("late", in: node) }
            #expect(refused?.code == .schemaMismatch)
            let behind = await #expect(throws: StrataError.self) { try await node.catchUp() }
            #expect(behind?.code == .schemaMismatch)
            let count = try await node.background { try $0.count(OldItem.all) }
            #expect(count > 0)
        }
        try await new.write { context in _ = context.insert(Article(name: "three", amount: 0.5)) }
        for node in [left, right] { try await node.close() }
        let again = [try await openThird("left"), try await openThird("right")]
        for node in again + [new] {
            try await node.catchUp()
            let found = try await node.background { context in
                try context.fetch(Article.sorted { $0.name.ascending }).map { "\($0.name) \($0.amount) \($0.note)" }
            }
            #expect(found == ["one 2.0 !", "three 0.5 ", "two 3.0 !"])
        }
        let boxes = try await new.background { context in
            try context.fetch(Article.all).compactMap { $0.box?.number }
        }
        #expect(boxes == [1, 1])
        #expect(try fleet.description().generation == 1)
        // The old copies contain nothing that the home lacks.
        let files = try FileManager.default.contentsOfDirectory(atPath: fleet.folder.url.path)
        #expect(!files.contains { $0.contains("-old-") }, "\(files)")
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("A node that has the rows migrates its copy in place, and all kinds of changes reach the home")
    func inPlace() async throws {
        let old = try await fleet.open("left")
        try await old.background { context in
            try Bank.found(in: context)
            for number in 1...12 { _ = try Bank.transfer(number, in: context) }
        }
        try await old.write { context in
            _ = context.insert(Sight(name: "kept", text: "a horse", photo: Data(repeating: 7, count: 50_000)))
        }
        try await old.close()
        let models: [any Model.Type] = NewBank.models + [Sight.self]
        let left = try await fleet.open("left", models: models, migration: NewBank.migration)
        let right = try await fleet.open("right", models: models, migration: NewBank.migration)
        for node in [left, right] {
            try await node.background { context in
                let customers = try context.fetch(NewBank.Customer.all)
                #expect(customers.count == Bank.accountCount)
                #expect(customers.allSatisfy { $0.region == "north" })
                let sum = customers.reduce(0) { $0 + $1.balance }
                #expect(sum == Double(Bank.accountCount * Bank.openingBalance))
                #expect(try context.first(NewBank.Counter.all)?.last == 112)
                #expect(try context.count(Sight.search("horse")) == 1)
            }
        }
        // Each node has the columns in the same order.
        for (number, node) in [left, right].enumerated() {
            try await node.write { context in
                _ = context.insert(NewBank.Customer(fullName: "new \(number)", balance: 1.5, region: "south"))
            }
        }
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("A home that does not answer leaves everything as it was")
    func unreachable() async throws {
        let left = try await fleet.openFirst("left")
        try await Warehouse.First.insert("one", in: left)
        let home = FileHome(fleet.home)
        home.faults.refuse(.migrate)
        let error = await #expect(throws: StrataError.self) {
            _ = try await ContextStack.open(
                .shared(home, copy: fleet.copy("new")),
                models: Warehouse.Third.models,
                stack: .rootOnly,
                migration: Warehouse.Third.migration
            )
        }
        home.close()
        #expect(error?.code == .unreachable)
        #expect(try fleet.description().generation == 0)
        try await Warehouse.First.insert("two", in: left)
        try await left.close()
        let new = try await openThird("new")
        #expect(try await names(in: new) == ["one", "two"])
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("A step that fails leaves the home and the nodes as they were")
    func failingStep() async throws {
        struct Failure: Error {}
        let left = try await fleet.openFirst("left")
        try await Warehouse.First.insert("one", in: left)
        await #expect(throws: Failure.self) {
            _ = try await fleet.open(
                "new",
                models: Warehouse.Third.models,
                migration: Migration().step("fails") { _ in throw Failure() }
            )
        }
        try await Warehouse.First.insert("two", in: left)
        #expect(try fleet.description().generation == 0)
        try await left.close()
        let new = try await openThird("new")
        #expect(try await names(in: new) == ["one", "two"])
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("Two new nodes that open at the same moment migrate once")
    func atOnce() async throws {
        let left = try await fleet.openFirst("left")
        for number in 0..<50 { try await Warehouse.First.insert("\(number)", in: left) }
        try await left.close()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for name in ["a", "b", "c"] { group.addTask { _ = try await openThird(name) } }
            try await group.waitForAll()
        }
        let description = try fleet.description()
        #expect(description.generation == 1)
        #expect(description.earlier.count == 1)
        let again = try await openThird("left")
        let boxes = try await again.background { try $0.count(Warehouse.Third.Box.all) }
        #expect(boxes == 1)
        #expect(try await names(in: again).count == 50)
        try await fleet.compare()
        try await fleet.close()
    }

    @Test(
        "A node that is killed while it migrates leaves all or nothing, and the old nodes lose no commit",
        arguments: [HomeFaults.Step.beforeMigrate, .duringMigrate, .afterMigrate],
        [true, false]
    )
    func killed(_ step: HomeFaults.Step, hasCopy: Bool) async throws {
        let left = try await fleet.openFirst("left")
        try await Warehouse.First.insert("one", in: left)
        if hasCopy { try await fleet.openFirst("new").close() }
        try await Warehouse.First.insert("two", in: left)
        let process = try HelperProcess("migrate-home", fleet.copy("new").path, step.rawValue, fleet.home.path)
        #expect(await process.end() == [])
        #expect(process.endingSignal == SIGKILL)
        let isMigrated = step == .afterMigrate
        #expect(try fleet.description().generation == (isMigrated ? 1 : 0))
        if isMigrated {
            let refused = await #expect(throws: StrataError.self) {
                try await Warehouse.First.insert("three", in: left)
            }
            #expect(refused?.code == .schemaMismatch)
        } else {
            try await Warehouse.First.insert("three", in: left)
        }
        try await left.close()
        let expected = isMigrated ? ["one", "two"] : ["one", "three", "two"]
        for name in ["new", "left"] {
            let node = try await openThird(name)
            #expect(try await names(in: node) == expected)
        }
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("Processes that open one copy with old models at the same moment all open it", arguments: [false, true])
    func oneCopyAtOnce(isMigrated: Bool) async throws {
        let left = try await fleet.openFirst("left")
        for number in 0..<20 { try await Warehouse.First.insert("\(number)", in: left) }
        try await left.close()
        if isMigrated { try await openThird("right").close() }
        let processes = try (0..<3).map { _ in
            try HelperProcess("migrate-home", fleet.copy("left").path, "no step", fleet.home.path)
        }
        for process in processes { #expect(await process.end() == ["done"]) }
        let again = try await openThird("left")
        #expect(try await names(in: again).count == 20)
        #expect(try fleet.description().earlier.count == 1)
        let files = try FileManager.default.contentsOfDirectory(atPath: fleet.folder.url.path)
        #expect(!files.contains { $0.contains("-old-") }, "\(files)")
        try await fleet.compare()
        try await fleet.close()
    }

    // MARK: Migrations that nodes continue with

    @Test("Nodes with the earlier models commit and follow after new columns, indexes and models")
    func additive() async throws {
        let left = try await fleet.openFirst("left")
        try await Warehouse.First.insert("early", in: left)
        let right = try await fleet.openSecond("right")
        #expect(try fleet.description().generation == 0)
        // The older node inserts rows without the new columns.
        try await Warehouse.First.insert("late", in: left)
        try await right.catchUp()
        try await right.write { context in
            let items = try context.fetch(Item.sorted { $0.name.ascending })
            #expect(items.map(\.name) == ["early", "late"])
            for item in items {
                #expect(item.rank == 7)
                #expect(item.note == nil)
                #expect(item.place == "it's \"here\" \\")
                item.rank = 9
                item.note = "noted"
            }
        }
        // It changes rows that have values in the new columns, and exchanges their unique names.
        try await left.catchUp()
        try await left.write { context in
            let items = try context.fetch(OldItem.sorted { $0.name.ascending })
            (items[0].name, items[1].name) = (items[1].name, items[0].name)
            for item in items { item.count += 1 }
        }
        try await right.catchUp()
        try await right.write { context in
            let items = try context.fetch(Item.sorted { $0.name.ascending })
            #expect(items.map(\.rank) == [9, 9])
            #expect(items.map(\.note) == ["noted", "noted"])
            #expect(items.map(\.count) == [2, 2])
            items[0].count = 5
            let shelf = context.insert(Warehouse.Second.Shelf(label: "high"))
            context.insert(Warehouse.Second.Box(number: 1, shelf: shelf, photo: Data(repeating: 1, count: 50_000)))
        }
        // Rows of models that it does not know do not stop it.
        try await left.catchUp()
        let counts = try await left.background { try $0.column(OldItem.sorted { $0.name.ascending }, \.count) }
        #expect(counts == [5, 2])
        try await left.write { context in
            context.delete(try #require(try context.first(OldItem.where { $0.name == "early" })))
        }
        try await right.catchUp()
        let found = try await right.background { try $0.column(Item.all, \.name) }
        #expect(found == ["late"])
        try await right.write { context in
            context.delete(try #require(try context.first(Warehouse.Second.Shelf.all)))
            _ = context.insert(Item(name: "new", rank: 1))
        }
        try await left.catchUp()
        let taken = await #expect(throws: StrataError.self) { try await Warehouse.First.insert("new", in: left) }
        #expect(taken?.code == .notUnique)
        try await left.close()
        let again = try await fleet.openSecond("left")
        let ranks = try await again.background { try $0.column(Item.sorted { $0.name.ascending }, \.rank) }
        #expect(ranks == [9, 1])
        _ = try await fleet.openSecond("third")
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("Old and new nodes that write one row at the same time lose no update and no value")
    func together() async throws {
        let left = try await fleet.openFirst("left")
        try await Warehouse.First.insert("one", count: 0, in: left)
        let right = try await fleet.openSecond("right")
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for number in 0..<20 {
                    try await left.write { context in
                        try #require(try context.first(OldItem.where { $0.name == "one" })).count += 1
                        _ = context.insert(OldItem(name: "left \(number)"))
                    }
                }
            }
            group.addTask {
                for number in 0..<20 {
                    try await right.write { context in
                        let item = try #require(try context.first(Item.where { $0.name == "one" }))
                        item.count += 1
                        item.rank += 1
                        _ = context.insert(Item(name: "right \(number)", rank: 100))
                    }
                }
            }
            try await group.waitForAll()
        }
        try await left.catchUp()
        let count = try await left.background { try $0.first(OldItem.where { $0.name == "one" })?.count }
        #expect(count == 40)
        try await left.close()
        try await right.catchUp()
        let item = try await right.background { context in
            try context.first(Item.where { $0.name == "one" }).map { [$0.count, $0.rank] }
        }
        #expect(item == [40, 27])
        #expect(try await right.background { try $0.count(Item.where { $0.rank == 7 }) } == 20)
        _ = try await fleet.openSecond("left")
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("After two migrations that nodes continue with, a third one stops them")
    func chain() async throws {
        let left = try await fleet.openFirst("left")
        try await Warehouse.First.insert("one", in: left)
        let indexed = try await fleet.open("indexed", models: Warehouse.Indexed.models)
        let second = try await fleet.openSecond("second")
        try await Warehouse.First.insert("from 0", in: left)
        try await indexed.write { context in _ = context.insert(Warehouse.Indexed.Item(name: "from 1")) }
        try await second.write { context in _ = context.insert(Item(name: "two", rank: 3)) }
        try await left.catchUp()
        #expect(try await left.background { try $0.count(OldItem.all) } == 4)
        let migration = Migration().dropping("Shelf", "Item.rank", "Item.place", "Box.photo", "Box.shelf")
            .step("boxes") { try $0.execute("UPDATE Article SET note = note || '?' WHERE name = 'two'") }
        let third = try await fleet.open("third", models: Warehouse.Third.models, migration: migration)
        for node in [left, indexed, second] {
            let error = await #expect(throws: StrataError.self) { try await node.catchUp() }
            #expect(error?.code == .schemaMismatch)
            try await node.close()
        }
        #expect(try await names(in: third) == ["from 0", "from 1", "one", "two"])
        #expect(try fleet.description().earlier.count == 3)
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("A change that concerns only an index, or only the version, keeps the copies of all nodes")
    func keptCopies() async throws {
        let (left, right) = (try await fleet.openFirst("left"), try await fleet.openFirst("right"))
        try await Warehouse.First.insert("one", in: left)
        try await right.close()
        let indexed = try await fleet.open("right", models: Warehouse.Indexed.models)
        try await Warehouse.First.insert("two", in: left)
        try await left.close()
        func number() -> ino_t? { TemporaryCopy.status(fleet.copy("left").path)?.st_ino }
        let before = try #require(number())
        let migration = Migration(version: 1)
        let again = try await fleet.open("left", models: Warehouse.Indexed.models, migration: migration)
        #expect(number() == before)
        #expect(try await again.background { try $0.count(Warehouse.Indexed.Item.all) } == 2)
        try await indexed.write { context in _ = context.insert(Warehouse.Indexed.Item(name: "three")) }
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("A copy from before a change of an index, or of the version, is migrated again without a new copy")
    func behindKeptCopies() async throws {
        for name in ["left", "right"] { try await fleet.openFirst(name).close() }
        let other = try await fleet.openFirst("other")
        try await Warehouse.First.insert("one", in: other)
        try await other.close()
        try await fleet.open("other", models: Warehouse.Indexed.models).close()
        func number(_ name: String) -> ino_t? { TemporaryCopy.status(fleet.copy(name).path)?.st_ino }
        let before = [number("left"), number("right")]
        // The copy of the left node has no index yet. That of the right node then lacks the index and a version.
        for (version, name) in [(1, "left"), (2, "right")] {
            let migration = Migration(version: version)
            let stack = try await fleet.open(name, models: Warehouse.Indexed.models, migration: migration)
            #expect(try await stack.background { try $0.count(Warehouse.Indexed.Item.all) } == 1)
            try await fleet.compare()
            try await stack.close()
        }
        #expect([number("left"), number("right")] == before)
        #expect(try fleet.description().version == 2)
        try await fleet.close()
    }

    @Test("The durability of commits stays as configured when a copy with old models is made again")
    func durability() async throws {
        try await fleet.openFirst("left").close()
        try await fleet.openSecond("right").close()
        let configuration = StoreConfiguration(synchronous: .normal)
        _ = try await fleet.open("left", models: Warehouse.Second.models, configuration: configuration)
        #expect(try fleet.connection("left").synchronous == .normal)
        try await fleet.close()
    }

    // MARK: Refusals

    @Test("A program that a migration has stopped is refused, with a new copy and with its old one")
    func olderProgram() async throws {
        try await fleet.openFirst("left").close()
        try await fleet.open("right", models: Warehouse.Third.models).close()
        for name in ["left", "other"] { #expect(try await refusal(name, Warehouse.First.models) == .newerStore) }
        #expect(!FileManager.default.fileExists(atPath: fleet.copy("other").path))
        // The models of another program, for which the migration does not say what to drop.
        #expect(try await refusal("other", Bank.models) == .schemaMismatch)
        #expect(try await refusal("left", Warehouse.Third.models) == nil)
        // The version says that an earlier state is wanted.
        let migration = Migration(version: 1).dropping("Article", "Box")
        let back = try await fleet.open("left", models: Warehouse.First.models, migration: migration)
        try await Warehouse.First.insert("back", in: back)
        #expect(try await refusal("right", Warehouse.Third.models) == .newerStore)
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("A working copy that a program with other models has open is left to that program")
    func copyInUse() async throws {
        let left = try await fleet.openFirst("left")
        try await Warehouse.First.insert("one", in: left)
        #expect(try await refusal("left", Warehouse.Second.models, busyTimeout: 0.1) == .busy)
        #expect(try fleet.description().earlier.isEmpty)
        try await fleet.open("right", models: Warehouse.Indexed.models).close()
        #expect(try await refusal("left", Warehouse.Indexed.models, busyTimeout: 0.1) == .busy)
        try await fleet.openSecond("right").close()
        #expect(try await refusal("left", Warehouse.Second.models, busyTimeout: 0.1) == .busy)
        try await Warehouse.First.insert("two", in: left)
        try await left.catchUp()
        #expect(try await left.background { try $0.count(OldItem.all) } == 2)
        try await left.close()
        _ = try await fleet.openSecond("left")
        try await fleet.compare()
        try await fleet.close()
    }

    // MARK: Plans

    enum Sensitive {
        @Model final class Item {
            @Attribute(.unique) var name: String
            @Attribute(.unique) var count: Int = 0
            var token: String = UUID().uuidString
            var ratio: Double = 0.1
            @Attribute(.notEmpty) var text: String = "text"
            @Attribute(.externalStorage) var photo: Data?
            @Relationship(deleteRule: .cascade) var frame: Frame?
            var place: Frame?
        }

        @Model final class Frame {
            var color: String
        }

        @Model final class Label {
            var item: Item?
        }
    }

    @Test("A plan names the reasons why nodes with the earlier models would stop", .aboutTheFile("plans for a file"))
    func reasons() async throws {
        let url = fleet.folder.file("plan.sqlite")
        try await ContextStack.open(.sqlite(url), models: Warehouse.First.models, stack: .rootOnly).close()
        func reasons(_ models: [any Model.Type], _ migration: Migration = Migration()) async throws -> [String] {
            try await migration.plan(for: .sqlite(url), models: models).reasonsToStopNodes
        }
        #expect(try await reasons(Warehouse.First.models) == [])
        #expect(try await reasons(Warehouse.Indexed.models) == [])
        #expect(try await reasons(Warehouse.Second.models) == [])
        let stepping = Migration().step("any") { _ in }
        #expect(try await reasons(Warehouse.Second.models, stepping) == ["steps may change any row"])
        let found = try await reasons([Sensitive.Item.self, Sensitive.Frame.self, Sensitive.Label.self])
        for text in [
            "Item has other unique constraints", "Item.token", "Item.ratio", "Item.text has rules",
            "bytes of Item.photo",
            "Label.item refers to Item", "the rule of Item.frame",
        ] {
            #expect(found.contains { $0.contains(text) }, "\(text) in \(found)")
        }
        #expect(!found.contains { $0.contains("Item.place") }, "\(found)")
    }
}
