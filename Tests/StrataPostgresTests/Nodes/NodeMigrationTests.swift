import FleetFixture
import Foundation
import StoreModels
import Strata
import StrataPostgres
import Testing

/// Nodes with the models of different versions of a program. The rules are tested in `StrataTests`, over a home in a
/// file.
@Suite("Migrations over PostgreSQL", .timeLimit(.minutes(3))) struct NodeMigrationTests {
    private typealias OldItem = Warehouse.First.Item
    private typealias Item = Warehouse.Second.Item
    private typealias Article = Warehouse.Third.Article

    private let nodes: PostgresNodes

    init() throws { nodes = try PostgresNodes(models: Warehouse.First.models) }

    private func openSecond(_ name: String) async throws -> ContextStack {
        try await nodes.open(name, models: Warehouse.Second.models)
    }

    private func openThird(_ name: String) async throws -> ContextStack {
        try await nodes.open(name, models: Warehouse.Third.models, migration: Warehouse.Third.migration)
    }

    private func insert(_ name: String, in stack: ContextStack) async throws {
        try await stack.write { context in _ = context.insert(OldItem(name: name, count: 1)) }
    }

    private func names(in stack: ContextStack) async throws -> [String] {
        try await stack.background { try $0.column(Article.sorted { $0.name.ascending }, \.name) }
    }

    @Test("Running nodes get schemaMismatch, lose no commit, and continue with the new models")
    func breaking() async throws {
        let (left, right) = (try await nodes.open("left"), try await nodes.open("right"))
        try await insert("one", in: left)
        try await right.catchUp()
        try await insert("two", in: right)
        let new = try await openThird("new")
        for node in [left, right] {
            let refused = await #expect(throws: StrataError.self) { try await insert("late", in: node) }
            #expect(refused?.code == .schemaMismatch)
            let behind = await #expect(throws: StrataError.self) { try await node.catchUp() }
            #expect(behind?.code == .schemaMismatch)
            try await node.close()
        }
        try await new.write { context in
            let photo = Data(repeating: 3, count: 50_000)
            _ = context.insert(Article(name: "three", amount: 0.5, photo: photo))
        }
        for name in ["left", "right"] {
            let node = try await openThird(name)
            #expect(try await names(in: node) == ["one", "three", "two"])
        }
        #expect(try nodes.fleet.description().generation == 1)
        try await nodes.end()
    }

    @Test("Nodes with the earlier models commit and follow after new columns, indexes and models")
    func additive() async throws {
        let left = try await nodes.open("left")
        try await insert("early", in: left)
        let right = try await openSecond("right")
        try await insert("late", in: left)
        try await right.catchUp()
        try await right.write { context in
            for item in try context.fetch(Item.all) {
                #expect(item.rank == 7)
                #expect(item.place == "it's \"here\" \\")
                (item.rank, item.note) = (9, "noted")
            }
            let shelf = context.insert(Warehouse.Second.Shelf(label: "high"))
            context.insert(Warehouse.Second.Box(number: 1, shelf: shelf, photo: Data(repeating: 1, count: 50_000)))
        }
        try await left.write { context in
            for item in try context.fetch(OldItem.all) { item.count += 1 }
            context.delete(try #require(try context.first(OldItem.where { $0.name == "early" })))
            _ = context.insert(OldItem(name: "last"))
        }
        try await right.catchUp()
        let found = try await right.background { context in
            try context.fetch(Item.sorted { $0.name.ascending }).map {
                "\($0.name) \($0.rank) \($0.note ?? "-") \($0.count)"
            }
        }
        #expect(found == ["last 7 - 0", "late 9 noted 2"])
        try await left.close()
        _ = try await openSecond("left")
        try await nodes.end()
    }

    @Test("Old and new nodes that commit at the same time lose nothing")
    func together() async throws {
        let left = try await nodes.open("left")
        try await insert("one", in: left)
        let commits = Task {
            for number in 0..<40 { try await insert("left \(number)", in: left) }
        }
        let right = try await openSecond("right")
        for number in 0..<20 {
            try await right.write { context in
                try #require(try context.first(Item.where { $0.name == "one" })).rank += 1
                _ = context.insert(Item(name: "right \(number)", rank: 100))
            }
        }
        try await commits.value
        try await left.catchUp()
        #expect(try await left.background { try $0.count(OldItem.all) } == 61)
        try await left.close()
        try await right.catchUp()
        #expect(try await right.background { try $0.count(Item.where { $0.rank == 7 }) } == 40)
        #expect(try await right.background { try $0.first(Item.where { $0.name == "one" })?.rank } == 27)
        _ = try await openSecond("left")
        try await nodes.end()
    }

    @Test("Three new nodes that open at the same moment migrate once, while an old node commits")
    func atOnce() async throws {
        let left = try await nodes.open("left")
        try await insert("first", in: left)
        let commits = Task { () async throws -> ([String], StrataError.Code) in
            var stored = ["first"]
            while true {
                let name = "item \(stored.count)"
                do { try await insert(name, in: left) } catch let error as StrataError {
                    return (stored, error.code)
                }
                stored.append(name)
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for name in ["a", "b", "c"] { group.addTask { _ = try await openThird(name) } }
            try await group.waitForAll()
        }
        let (stored, code) = try await commits.value
        #expect(code == .schemaMismatch)
        try await left.close()
        let again = try await openThird("left")
        #expect(try await names(in: again).sorted() == stored.sorted())
        #expect(try await again.background { try $0.count(Warehouse.Third.Box.all) } == 1)
        #expect(try nodes.fleet.description().earlier.count == 1)
        try await nodes.end()
    }

    @Test(
        "A node that is killed while it migrates leaves all or nothing",
        arguments: ["before migrate", "after migrate"],
        [true, false]
    )
    func killed(_ step: String, hasCopy: Bool) async throws {
        let left = try await nodes.open("left")
        try await insert("one", in: left)
        if hasCopy { try await nodes.open("new").close() }
        try await insert("two", in: left)
        let (connection, store) = nodes.address
        let process = try HelperProcess("migrate-home", nodes.fleet.copy("new").path, step, connection, store)
        #expect(await process.end() == [])
        #expect(process.endingSignal == SIGKILL)
        let isMigrated = step == "after migrate"
        #expect(try nodes.fleet.description().generation == (isMigrated ? 1 : 0))
        if isMigrated {
            let refused = await #expect(throws: StrataError.self) { try await insert("three", in: left) }
            #expect(refused?.code == .schemaMismatch)
        } else {
            try await insert("three", in: left)
        }
        try await left.close()
        for name in ["new", "left"] {
            let node = try await openThird(name)
            #expect(try await names(in: node) == (isMigrated ? ["one", "two"] : ["one", "three", "two"]))
        }
        try await nodes.end()
    }

    @Test("An earlier program starts again after an addition, with its copy and without one")
    func restart() async throws {
        let left = try await nodes.open("left")
        try await insert("one", in: left)
        try await left.close()
        let right = try await openSecond("right")
        try await right.write { context in
            let item = try #require(try context.first(Item.all))
            (item.rank, item.note) = (9, "noted")
            let shelf = context.insert(Warehouse.Second.Shelf(label: "high"))
            context.insert(Warehouse.Second.Box(number: 1, shelf: shelf, photo: Data(repeating: 1, count: 50_000)))
        }
        let old = [try await nodes.open("left"), try await nodes.open("other")]
        for (number, node) in old.enumerated() {
            let deleted = "deleted \(number)"
            try await node.write { context in
                try #require(try context.first(OldItem.where { $0.name == "one" })).count += 1
                context.insert(OldItem(name: "from \(number)", count: 2))
                context.insert(OldItem(name: deleted))
            }
            try await node.write { context in
                context.delete(try #require(try context.first(OldItem.where { $0.name == deleted })))
            }
        }
        try await right.catchUp()
        let found = try await right.background { context in
            try context.fetch(Item.sorted { $0.name.ascending }).map {
                "\($0.name) \($0.rank) \($0.note ?? "-") \($0.count)"
            }
        }
        #expect(found == ["from 0 7 - 2", "from 1 7 - 2", "one 9 noted 3"])
        for node in old { try await node.close() }
        _ = try await openSecond("left")
        try await nodes.end()
    }

    @Test("A program that a migration has stopped is refused")
    func olderProgram() async throws {
        try await nodes.open("left").close()
        try await openThird("right").close()
        for name in ["left", "other"] {
            let error = await #expect(throws: StrataError.self) { _ = try await nodes.open(name) }
            #expect(error?.code == .newerStore)
        }
        _ = try await openThird("left")
        try await nodes.end()
    }
}
