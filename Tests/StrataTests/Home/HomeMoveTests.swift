import FileHome
import FleetFixture
import Foundation
import StoreModels
import TestHomeTraits
import Testing

@testable import Strata

@Suite("Moving a store to a home and back", .timeLimit(.minutes(2)), .aboutTheFile("moves a store without a home"))
struct HomeMoveTests {
    private let fleet: Fleet
    /// The store that is moved, which becomes the copy of the node `left`.
    private var url: URL { fleet.copy("left") }

    init() throws { fleet = try Fleet() }

    private func openAlone(_ url: URL, isReadOnly: Bool = false) async throws -> ContextStack {
        var configuration = StoreConfiguration(isReadOnly: isReadOnly)
        configuration.mayCreateJournal = isReadOnly
        return try await ContextStack.open(
            .sqlite(url),
            models: Fleet.models,
            stack: .rootOnly,
            configuration: configuration
        )
    }

    /// Creates a store without a home, and closes it.
    ///
    /// - Returns: the text of the id of an account, and the rows of the store.
    private func makeStore() async throws -> (id: String, rows: [String]) {
        let stack = try await openAlone(url)
        let id = try await stack.background { context in
            try Bank.found(in: context)
            for number in 0..<700 {
                let photo = number < 3 ? Data(repeating: UInt8(number), count: 50_000) : nil
                context.insert(Sight(name: "sight \(number)", text: "a horse", photo: photo))
            }
            try context.commit()
            return try #require(try context.first(Account.where { $0.name == "account 3" })).id.description
        }
        try await stack.background { context in
            _ = try Bank.transfer(5, in: context)
            context.delete(try #require(try context.first(Sight.where { $0.name == "sight 2" })))
            try context.commit()
        }
        try await stack.close()
        return (id, try Fleet.rows(of: url))
    }

    private func move() throws -> HomeMove.Report { try HomeMove(of: url, to: FileHome(fleet.home)).run() }

    private func name(of id: String, in stack: ContextStack) async throws -> String? {
        try await stack.background { context in
            try context.find(try #require(ObjectID<Account>(id)))?.name
        }
    }

    // MARK: To a home

    @Test("All rows of a store become those of the home, ids stay valid, and the file is a working copy")
    func moves() async throws {
        let (id, rows) = try await makeStore()
        let report = try move()
        #expect(!report.wasStored)
        #expect(report.rowCount == rows.count)
        #expect(try Fleet.rows(of: url) == rows)
        let refused = await #expect(throws: StrataError.self) { _ = try await openAlone(url) }
        #expect(refused?.code == .schemaMismatch)

        let (left, right) = (try await fleet.open("left"), try await fleet.open("right"))
        for node in [left, right] { #expect(try await name(of: id, in: node) == "account 3") }
        #expect(try Fleet.rows(of: fleet.copy("right")) == rows)
        try await fleet.compare()
        for (number, node) in [left, right].enumerated() {
            try await node.write { context in
                let photo = Data(repeating: 7, count: 50_000)
                _ = context.insert(Sight(name: "new \(number)", text: "a cow", photo: photo))
                try #require(try context.first(Account.where { $0.name == "account 3" })).note += "\(number)"
            }
        }
        try await left.catchUp()
        let found = try await left.background { context in
            [try context.count(Sight.search("cow")), try context.count(Sight.search("horse"))]
        }
        #expect(found == [2, 699])
        #expect(try await right.history().count >= 4)
        try await fleet.compare()
        // The file is used as it is.
        let files = try FileManager.default.contentsOfDirectory(atPath: fleet.folder.url.path)
        #expect(!files.contains { $0.contains("-old-") }, "\(files)")
        try await fleet.close()
    }

    @Test("A store whose columns a migration has added is moved, and its later changes arrive as they are")
    func addedColumns() async throws {
        for models in [Warehouse.First.models, Warehouse.Second.models] {
            let stack = try await ContextStack.open(.sqlite(url), models: models, stack: .rootOnly)
            if models.count == 1 {
                try await stack.write { context in _ = context.insert(Warehouse.First.Item(name: "old", count: 3)) }
            }
            try await stack.close()
        }
        _ = try move()
        let left = try await fleet.open("left", models: Warehouse.Second.models)
        let right = try await fleet.open("right", models: Warehouse.Second.models)
        for (name, node) in [("left", left), ("right", right)] {
            try await node.write { context in
                _ = context.insert(Warehouse.Second.Item(name: name, rank: 1, count: 2, note: "n", place: "p"))
                let old = try #require(try context.first(Warehouse.Second.Item.where { $0.name == "old" }))
                (old.rank, old.count, old.note) = (old.rank + 1, old.count + 10, name)
            }
        }
        try await left.catchUp()
        let found = try await left.background { context in
            try context.first(Warehouse.Second.Item.where { $0.name == "old" }).map { [$0.rank, $0.count] }
        }
        #expect(found == [9, 23])
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("A store that a program has open is not moved")
    func openStore() async throws {
        let (_, rows) = try await makeStore()
        let stack = try await openAlone(url)
        let error = #expect(throws: StrataError.self) { _ = try move() }
        #expect(error?.code == .busy)
        try await stack.write { context in _ = context.insert(Account(name: "late", balance: 0)) }
        try await stack.close()
        #expect(try move().rowCount > rows.count)
        _ = try await fleet.open("left")
        try await fleet.compare()
        try await fleet.close()
    }

    @Test(
        "A killed move leaves the store as it was, and can be repeated",
        arguments: [HomeFaults.Step.duringCreate, .afterCreate]
    )
    func killed(_ step: HomeFaults.Step) async throws {
        let (id, rows) = try await makeStore()
        let process = try HelperProcess("move", url.path, fleet.home.path, step.rawValue)
        #expect(await process.end() == [])
        #expect(process.endingSignal == SIGKILL)
        let stack = try await openAlone(url)
        #expect(try await name(of: id, in: stack) == "account 3")
        try await stack.close()
        #expect(try Fleet.rows(of: url) == rows)

        let report = try move()
        #expect(report.wasStored == (step == .afterCreate))
        #expect(report.rowCount == rows.count)
        _ = try await fleet.open("left")
        let right = try await fleet.open("right")
        #expect(try await name(of: id, in: right) == "account 3")
        try await right.write { context in _ = context.insert(Account(name: "next", balance: 0)) }
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("A home with other rows than the store is refused, and both stay as they are")
    func otherRows() async throws {
        _ = try await makeStore()
        let process = try HelperProcess("move", url.path, fleet.home.path, HomeFaults.Step.afterCreate.rawValue)
        _ = await process.end()
        let stack = try await openAlone(url)
        try await stack.write { context in
            try #require(try context.first(Account.where { $0.name == "account 1" })).note = "later"
        }
        try await stack.close()
        let rows = try Fleet.rows(of: url)
        let error = #expect(throws: StrataError.self) { _ = try move() }
        #expect(error?.code == .nameTaken)
        #expect(try Fleet.rows(of: url) == rows)
        try await openAlone(url).close()
    }

    @Test("A home of another store is refused, and so is a file that is a working copy or does not exist")
    func refusals() async throws {
        _ = try await fleet.open("other")
        try await fleet.close()
        let (_, rows) = try await makeStore()
        let taken = #expect(throws: StrataError.self) { _ = try move() }
        #expect(taken?.code == .nameTaken)
        #expect(try Fleet.rows(of: url) == rows)
        for (name, code) in [("other", StrataError.Code.schemaMismatch), ("missing", .notAStore)] {
            let home = FileHome(fleet.folder.file("second.sqlite"))
            let error = #expect(throws: StrataError.self) { _ = try HomeMove(of: fleet.copy(name), to: home).run() }
            #expect(error?.code == code)
        }
    }

    @Test("A home that does not answer leaves the store as it was")
    func unreachable() async throws {
        let (_, rows) = try await makeStore()
        let home = FileHome(fleet.home)
        home.faults.refuse(.create)
        let error = #expect(throws: StrataError.self) { _ = try HomeMove(of: url, to: home).run() }
        #expect(error?.code == .unreachable)
        #expect(try Fleet.rows(of: url) == rows)
        try await openAlone(url).close()
    }

    @Test("A move in a cancelled task leaves the store as it was, and can be repeated")
    func cancelled() async throws {
        let (_, rows) = try await makeStore()
        let (file, homeFile) = (self.url, fleet.home)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try HomeMove(of: file, to: FileHome(homeFile)).run()
        }
        await #expect(throws: CancellationError.self) { _ = try await task.value }
        #expect(try Fleet.rows(of: url) == rows)
        try await openAlone(url).close()
        let report = try move()
        #expect(!report.wasStored)
        #expect(report.rowCount == rows.count)
    }

    // MARK: From a home

    private func leave(to name: String) async throws -> HomePosition {
        let reader = try await openAlone(url, isReadOnly: true)
        let home = FileHome(fleet.home)
        defer { home.close() }
        do {
            let position = try await reader.leave(home, to: fleet.copy(name))
            #expect(try home.newest() == position)
            try await reader.close()
            return position
        } catch {
            try await reader.close()
            throw error
        }
    }

    @Test("A working copy that is behind becomes a store with all commits of the home, and ids stay valid")
    func leaves() async throws {
        let (id, _) = try await makeStore()
        _ = try move()
        let left = try await fleet.open("left")
        try await left.write { context in _ = context.insert(Account(name: "left", balance: 0)) }
        try await left.close()
        let right = try await fleet.open("right")
        try await right.write { context in
            let first = try #require(try context.first(Sight.where { $0.name == "sight 0" }))
            let second = try #require(try context.first(Sight.where { $0.name == "sight 1" }))
            // Two rows exchange their unique values.
            first.name = "sight 1"
            second.name = "sight 0"
            first.text = "a cow"
            second.photo = Data(repeating: 9, count: 60_000)
            _ = context.insert(Account(name: "right", balance: 0))
        }
        let before = try Fleet.rows(of: url)
        _ = try await leave(to: "alone")
        #expect(try Fleet.rows(of: url) == before)
        #expect(try Fleet.rows(of: fleet.copy("alone")) == Fleet.rows(of: fleet.copy("right")))

        let alone = try await openAlone(fleet.copy("alone"))
        #expect(try await name(of: id, in: alone) == "account 3")
        let counts = try await alone.background { context in
            [
                try context.count(Account.where { $0.name == "left" }),
                try context.count(Account.where { $0.name == "right" }), try context.count(Sight.search("cow")),
            ]
        }
        #expect(counts == [1, 1, 1])
        // New ids are those of no node.
        let own = try await alone.write { context in context.insert(Account(name: "own", balance: 0)).id.rawValue }
        let others = try await right.write { context in
            (0..<10).map { context.insert(Account(name: "other \($0)", balance: 0)).id.rawValue }
        }
        #expect(!others.contains(own))
        try await alone.close()
        // The fleet continues.
        _ = try await fleet.open("left")
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("A store without a home cannot leave one, and a copy that the home does not continue from is refused")
    func leavingRefused() async throws {
        _ = try await makeStore()
        let none = await #expect(throws: StrataError.self) { _ = try await leave(to: "alone") }
        #expect(none?.code == .schemaMismatch)
        _ = try move()
        let right = try await fleet.open("right")
        for number in 0..<3 {
            try await right.write { context in _ = context.insert(Account(name: "\(number)", balance: 0)) }
        }
        try fleet.connection("right").prune(through: 2)
        let expired = await #expect(throws: StrataError.self) { _ = try await leave(to: "alone") }
        #expect(expired?.code == .homeExpired)
        let files = try FileManager.default.contentsOfDirectory(atPath: fleet.folder.url.path)
        #expect(!files.contains { $0.hasPrefix("alone") }, "\(files)")
        try await fleet.close()
    }
}
