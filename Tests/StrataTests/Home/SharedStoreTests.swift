import FileHome
import FleetFixture
import Foundation
import StoreModels
import Testing

@testable import Strata

/// A store that several nodes share. Each node is a stack with a separate working copy, and the home is a file.
@Suite("Stores with a home", .timeLimit(.minutes(1)))
struct SharedStoreTests {
    // MARK: Commits

    @Test("A commit of one node appears on the others, in blocks, live objects and the history")
    func commits() async throws {
        let fleet = try Fleet()
        let (left, right) = (try await fleet.open("left"), try await fleet.open("right"))
        let id = try await left.background { context in
            let account = context.insert(Account(name: "shared", balance: 1))
            try context.commit()
            return account.id
        }
        try await right.catchUp()
        try await right.on(.root) { context in
            let account = try #require(try context.find(ObjectID<Account>(id.description)!))
            #expect(account.balance == 1)
            context.state[Kept.self] = account
        }
        try await left.write { context in try #require(try context.find(id)).balance = 2 }
        try await right.catchUp()
        let balance = try await right.on(.root) { context in context.state[Kept.self]?.balance }
        #expect(balance == 2)
        let history = try await right.history()
        #expect(history.map(\.token.commitNumber) == [1, 2])
        #expect(history.map { $0.of(Account.self).inserted.count } == [1, 0])
        try await fleet.close()
    }

    @Test("A node learns of commits by itself")
    func follows() async throws {
        let fleet = try Fleet()
        let (left, right) = (try await fleet.open("left"), try await fleet.open("right"))
        var changes = right.changes(of: Account.self).makeAsyncIterator()
        try await left.write { context in _ = context.insert(Account(name: "new", balance: 1)) }
        let change = try await changes.next()
        #expect(change?.inserted.count == 1)
        try await fleet.close()
    }

    @Test("A token of another node can be waited for, and one from the future is refused")
    func tokens() async throws {
        let fleet = try Fleet()
        let (left, right) = (try await fleet.open("left"), try await fleet.open("right"))
        try await left.write { context in _ = context.insert(Account(name: "own", balance: 1)) }
        let token = left.historyToken
        try await right.catchUp(to: try #require(HistoryToken("\(token)")))
        #expect(right.historyToken == token)
        let future = HistoryToken(token.commitNumber + 1, of: right.core.engine.identity.fingerprint)
        let error = await #expect(throws: StrataError.self) { try await right.catchUp(to: future) }
        #expect(error?.code == .expiredToken)
        try await fleet.close()
    }

    @Test("Three nodes count in one row, and no update is lost")
    func counter() async throws {
        let fleet = try Fleet()
        let nodes = [try await fleet.open("a"), try await fleet.open("b"), try await fleet.open("c")]
        try await nodes[0].write { context in _ = context.insert(StoreModels.Counter()) }
        for node in nodes { try await node.catchUp() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for node in nodes {
                group.addTask {
                    for _ in 0..<20 {
                        try await node.write { context in
                            let counter = try #require(try context.first(StoreModels.Counter.all))
                            counter.last += 1
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        for node in nodes {
            try await node.catchUp()
            let last = try await node.background { context in try context.first(StoreModels.Counter.all)?.last }
            #expect(last == 60)
        }
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("Two nodes that edit one column conflict, and a value that must be unique is taken on all nodes")
    func conflicts() async throws {
        let fleet = try Fleet()
        let (left, right) = (try await fleet.open("left"), try await fleet.open("right"))
        let id = try await left.write { context in context.insert(Account(name: "one", balance: 0)).id }
        try await right.catchUp()
        let error = await #expect(throws: StrataError.self) {
            try await right.background { context async throws in
                try #require(try context.find(ObjectID<Account>(id.description)!)).note = "right"
                try await left.write { context in try #require(try context.find(id)).note = "left" }
                try context.commit()
            }
        }
        #expect(error?.code == .conflict)
        let taken = await #expect(throws: StrataError.self) {
            try await right.write { context in _ = context.insert(Account(name: "one", balance: 0)) }
        }
        #expect(taken?.code == .notUnique)
        try await fleet.compare()
        try await fleet.close()
    }

    // MARK: Rows

    @Test("Unique values that rows swap, external bytes, searchable texts and to-many members arrive")
    func rows() async throws {
        let fleet = try Fleet()
        let (left, right) = (try await fleet.open("left"), try await fleet.open("right"))
        let photo = Data((0..<50_000).map { UInt8(truncatingIfNeeded: $0) })
        try await left.write { context in
            for name in ["one", "two", "three"] {
                context.insert(Sight(name: name, text: "the horse \(name)", photo: photo + Data(name.utf8)))
            }
        }
        // Each row takes the name of the next one. The bytes stay.
        try await left.write { context in
            let sights = try context.fetch(Sight.sorted { $0.id.ascending })
            let names = sights.map(\.name)
            for (index, sight) in sights.enumerated() {
                sight.name = names[(index + 1) % names.count]
                sight.text = "a cow \(index)"
            }
        }
        try await right.catchUp()
        try await right.background { context in
            let sights = try context.fetch(Sight.sorted { $0.id.ascending })
            #expect(sights.map(\.name) == ["two", "three", "one"])
            #expect(sights.map(\.photo) == ["one", "two", "three"].map { photo + Data($0.utf8) })
            #expect(try context.count(Sight.search("horse")) == 0)
            #expect(try context.count(Sight.search("cow")) == 3)
        }
        try await left.write { context in
            context.delete(try #require(try context.first(Sight.where { $0.name == "two" })))
        }
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("A copy that is made after the delete of the newest bytes does not use their number again")
    func numbersOfBytes() async throws {
        let fleet = try Fleet()
        let left = try await fleet.open("left")
        func number(_ stack: ContextStack, _ name: String) async throws -> Int64? {
            try await stack.write { context in
                _ = context.insert(Sight(name: name, text: "", photo: Data(name.utf8)))
            }
            return try await stack.background { context in
                try context.first(Sight.where { $0.name == name })?._$row.photo?.number
            }
        }
        let first = try #require(try await number(left, "first"))
        try await left.write { context in context.delete(try #require(try context.first(Sight.all))) }
        let second = try #require(try await number(try await fleet.open("right"), "second"))
        #expect(first != second)
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("Ids of new objects differ on all nodes")
    func ids() async throws {
        let fleet = try Fleet()
        let nodes = [try await fleet.open("a"), try await fleet.open("b")]
        let ids = try await withThrowingTaskGroup(of: [Int64].self) { group in
            for (number, node) in nodes.enumerated() {
                group.addTask {
                    try await node.write { context in
                        (0..<50).map { context.insert(Account(name: "\(number) \($0)", balance: 0)).id.rawValue }
                    }
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(Set(ids).count == 100)
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("Ids that transactions of engines take differ on all nodes, and from those of objects")
    func idsOfEngines() async throws {
        let fleet = try Fleet()
        var ids: [Int64] = []
        for name in ["left", "right"] {
            let node = try await fleet.open(name)
            ids.append(try await node.write { $0.insert(Account(name: name, balance: 0)).id.rawValue })
            try node.transact(author: "test") { transaction in
                ids.append(try transaction.newID())
                ids += try transaction.newIDs(3)
            }
        }
        #expect(Set(ids).count == ids.count, "\(ids)")
        try await fleet.close()
    }

    // MARK: Durability

    @Test(
        "A commit to a working copy does not wait for the disk, and the configuration concerns the home",
        arguments: [StoreConfiguration.Synchronous.full, .normal]
    )
    func durability(_ synchronous: StoreConfiguration.Synchronous) async throws {
        let fleet = try Fleet()
        let stack = try await fleet.open("node", configuration: StoreConfiguration(synchronous: synchronous))
        let ofCopy = try stack.core.engine.maintain { connection, _ in try connection.integer("PRAGMA synchronous") }
        // NORMAL
        #expect(ofCopy == 1)
        #expect(try fleet.connection("node").synchronous == synchronous)
        try await fleet.close()
    }

    // MARK: Faults

    @Test("While the home does not answer, live queries and sequences of changes go on, and continue afterwards")
    func away() async throws {
        let fleet = try Fleet()
        let (left, right) = (try await fleet.open("left"), try await fleet.open("right"))
        var changes = right.changes(of: Account.self).makeAsyncIterator()
        let faults = try fleet.connection("right").faults
        faults.setUnreachable(true)
        try await left.write { context in _ = context.insert(Account(name: "new", balance: 1)) }
        let error = await #expect(throws: StrataError.self) { try await right.catchUp() }
        #expect(error?.code == .unreachable)
        // The follower asks once a second.
        #expect(try await eventually { right.core.engine.writer.follower?.isAway.load(ordering: .relaxed) == true })
        faults.setUnreachable(false)
        let change = try await changes.next()
        #expect(change?.inserted.count == 1)
        try await fleet.close()
    }

    @Test("A home that does not answer refuses commits, loses nothing, and reads continue")
    func unreachable() async throws {
        let fleet = try Fleet()
        let stack = try await fleet.open("left")
        let faults = try fleet.connection("left").faults
        try fleet.lockCommits(of: stack)
        try await stack.background { context async throws in
            context.insert(Account(name: "kept", balance: 1))
            for call in [HomeFaults.Call.lock, .publish] {
                faults.refuse(call)
                let error = #expect(throws: StrataError.self) { try context.commit() }
                #expect(error?.code == .unreachable)
            }
            #expect(try context.count(Account.all) == 1)
            try context.commit()
        }
        let right = try await fleet.open("right")
        let count = try await right.background { context in try context.count(Account.all) }
        #expect(count == 1)
        try await fleet.compare()
        try await fleet.close()
    }

    @Test(
        "After a lost answer, the home is asked: a stored commit succeeds, and the other one is refused",
        arguments: [HomeFaults.LostAnswer.stored, .notStored],
        [true, false]
    )
    func lostAnswer(_ answer: HomeFaults.LostAnswer, isAlone: Bool) async throws {
        let fleet = try Fleet()
        let stack = try await fleet.open("left")
        if !isAlone { try fleet.lockCommits(of: stack) }
        try fleet.connection("left").faults.loseAnswer(answer)
        let code: StrataError.Code? = try await stack.background { context in
            context.insert(Account(name: "lost", balance: 1))
            do {
                try context.commit()
                return nil
            } catch let error as StrataError {
                return error.code
            }
        }
        #expect(code == (answer == .stored ? nil : .unreachable))
        let right = try await fleet.open("right")
        let count = try await right.background { context in try context.count(Account.all) }
        #expect(count == (answer == .stored ? 1 : 0))
        try await fleet.compare()
        try await fleet.close()
    }

    @Test(
        "A commit without any answer is uncertain. If it was stored, it appears",
        arguments: [HomeFaults.LostAnswer.stored, .notStored],
        [true, false]
    )
    func uncertain(_ answer: HomeFaults.LostAnswer, isAlone: Bool) async throws {
        let fleet = try Fleet()
        let stack = try await fleet.open("left")
        if !isAlone { try fleet.lockCommits(of: stack) }
        let faults = try fleet.connection("left").faults
        faults.loseAnswer(answer)
        faults.refuse(.outcome)
        let error = await #expect(throws: StrataError.self) {
            try await stack.background { context async throws in
                context.insert(Account(name: "lost", balance: 1))
                try context.commit()
            }
        }
        #expect(error?.code == .uncertain)
        try await stack.catchUp()
        let count = try await stack.background { context in try context.count(Account.all) }
        #expect(count == (answer == .stored ? 1 : 0))
        // The node continues.
        try await stack.write { context in _ = context.insert(Account(name: "next", balance: 1)) }
        try await fleet.open("right").catchUp()
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("A home that has lost commits is reported. After the stack is opened again, the home is the truth")
    func behind() async throws {
        let fleet = try Fleet()
        let stack = try await fleet.open("left")
        for number in 0..<3 {
            try await stack.write { context in _ = context.insert(Account(name: "\(number)", balance: 0)) }
        }
        try fleet.connection("left").rewind(to: 2)
        let error = await #expect(throws: StrataError.self) {
            try await stack.write { context in _ = context.insert(Account(name: "new", balance: 0)) }
        }
        #expect(error?.code == .homeBehind)
        try await stack.close()
        let again = try await fleet.open("left")
        let count = try await again.background { context in try context.count(Account.all) }
        #expect(count == 1)
        // The commits that the home has lost are in the old copy.
        let names = try FileManager.default.contentsOfDirectory(atPath: fleet.folder.url.path)
        #expect(names.contains { $0.hasPrefix("left.sqlite-old-") })
        try await fleet.compare()
        try await fleet.close()
    }
}

private enum Kept: ContextStateKey { typealias Value = Account }
