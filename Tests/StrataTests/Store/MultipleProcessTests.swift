import Foundation
import GRDB
import StoreModels
import Synchronization
import TestHomeTraits
import Testing

@testable import Strata

@Suite("Several stacks and processes on one file") struct MultipleProcessTests {
    @Test("Two stacks see each other's commits at their next block, also in objects that they keep")
    func liveObjects() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let (left, right) = (try await openBank(url), try await openBank(url))
        for stack in [left, right] {
            try await stack.on(.root) { context in
                context.state[Kept.self] = try context.first(Account.where { $0.name == "account 0" })
            }
        }
        for round in 1...5 {
            try await left.on(.root) { context in
                let account = try #require(context.state[Kept.self])
                #expect(account.note == (round == 1 ? "" : "right \(round - 1)"))
                account.note = "left \(round)"
                try context.commit()
            }
            try await right.on(.root) { context in
                let account = try #require(context.state[Kept.self])
                // No fetch is needed: the object itself shows the new value.
                #expect(account.note == "left \(round)")
                account.note = "right \(round)"
                try context.commit()
            }
        }
        try await left.on(.root) { context in
            context.delete(try #require(context.state[Kept.self]))
            try context.commit()
        }
        try await right.on(.root) { context in
            let account = try #require(context.state[Kept.self])
            #expect(account._$state.isDeleted)
            #expect(account.note == "right 5")
        }
        try await left.close()
        try await right.close()
    }

    @Test("A block sees the earlier commits of another stack, also if the stack learns of them at this moment")
    func blockBesideWatch() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let (left, right) = (try await openBank(url), try await openBank(url))
        try await left.on(.root) { context in
            context.state[Kept.self] = try context.first(Account.where { $0.name == "account 0" })
        }
        // As the watch of the file does after a write, and without a pause, so that it often meets the begin of a block.
        let store = left.core.engine
        let isOver = Atomic(false)
        defer { isOver.store(true, ordering: .relaxed) }
        Thread.detachNewThread {
            while !isOver.load(ordering: .relaxed) { try? store.absorbForeignCommits() }
        }
        var stale = 0
        for round in 1...1_000 {
            try await right.write { context in
                try #require(try context.first(Account.where { $0.name == "account 0" })).note = "\(round)"
            }
            let note = try await left.on(.root) { context in try #require(context.state[Kept.self]).note }
            if note != "\(round)" { stale += 1 }
        }
        #expect(stale == 0)
        try await left.close()
        try await right.close()
    }

    @Test("If two stacks edit one row, the second commit conflicts and the policy decides; different columns merge")
    func conflicts() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let (left, right) = (try await openBank(url), try await openBank(url))
        for (policy, expected) in [(MergePolicy.error, "left"), (.mine, "right"), (.theirs, "left")] {
            let id = try await left.background { context in
                let account = context.insert(Account(name: "shared \(policy)", balance: 0))
                try context.commit()
                return account.id
            }
            let error: StrataError? = try await right.background { context async throws in
                context.mergePolicy = policy
                let account = try #require(try context.find(ObjectID<Account>(id.description)!))
                account.note = "right"
                account.balance = 5
                try await left.background { context in
                    try #require(try context.find(id)).note = "left"
                    try context.commit()
                }
                do {
                    try context.commit()
                    return nil
                } catch let error as StrataError {
                    return error
                }
            }
            #expect((error?.code == .conflict) == (policy == .error))
            #expect(error?.details.map(\.column) == (policy == .error ? ["note"] : nil))
            let (note, balance) = try await left.background { context in
                let account = try #require(try context.find(id))
                return (account.note, account.balance)
            }
            #expect(note == expected)
            #expect(balance == (policy == .error ? 0 : 5))
        }
        try await left.close()
        try await right.close()
    }

    @Test("Two stacks in one process that add to shared and separate rows lose nothing")
    func twoStacks() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let stacks = [try await openBank(url), try await openBank(url)]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, stack) in stacks.enumerated() {
                group.addTask {
                    for _ in 0..<40 {
                        _ = try await Bank.add([1, 1000][index], to: ["account 0", "account \(index + 1)"], stack)
                    }
                }
            }
            try await group.waitForAll()
        }
        for stack in stacks {
            let gains = try await gains(stack)
            #expect(gains == [40_040, 40, 40_000, 0, 0, 0])
            try await stack.close()
        }
    }

    private func gains(_ stack: ContextStack) async throws -> [Int] {
        // Three transfers by one stack came before.
        try await stack.background { context in
            let legs = try context.fetch(Leg.all)
            return try context.fetch(Account.where { $0.name.hasPrefix("account") }.sorted { $0.name.ascending }).map {
                account in
                account.balance - Bank.openingBalance
                    - legs.filter { $0.account === account }.reduce(0) { $0 + $1.amount }
            }
        }
    }

    @Test("Three processes that add to shared and separate rows lose nothing, and a reader sees only whole commits")
    func processes() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let stack = try await openBank(url)
        let before = try await stack.background { try $0.first(Account.where { $0.name == "account 0" })?.balance ?? 0 }
        let children = try ["1", "100", "10000"].map { try HelperProcess("add", url.path, $0) }
        // While they work, the shared account has always gained exactly as much as the separate accounts have.
        var looks = 0
        while looks < 2000 {
            looks += 1
            let (shared, own) = try await stack.background { context in
                (
                    try context.first(Account.where { $0.name == "account 0" })?.balance ?? 0,
                    try context.sum(Account.where { $0.name.hasPrefix("own") }, \.balance)
                )
            }
            #expect(shared - before == own)
            if own == 303_030 { break }
        }
        for child in children {
            let lines = await child.end()
            #expect(lines.count == 1 && lines[0].hasPrefix("done"), "\(lines)")
        }
        let total = try await stack.background { try $0.sum(Account.where { $0.name.hasPrefix("own") }, \.balance) }
        #expect(total == 303_030)
        let pool = try DatabaseQueue(path: url.path, configuration: .waiting)
        let sequence = try await pool.read { try Int64.fetchOne($0, sql: HistorySQL.readSequence) }
        #expect(sequence == stack.core.engine.layers.state.withLock { $0.sequence })
        try pool.close()
        try await stack.close()
    }

    @Test(
        "A second open in one process keeps the first one's locks, so that no process removes its journal",
        .aboutTheFile("looks for the journal beside the file")
    )
    func locks() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let first = try await openBank(url)
        _ = try await first.on(.root) { try Bank.transfer(1, in: $0) }
        let second = try await openBank(url)
        try await second.close()
        // The last process to close a store removes its journal.
        let child = try HelperProcess("open", url.path)
        #expect(await child.end() == ["done"])
        #expect(FileManager.default.fileExists(atPath: url.path + "-wal"))
        let count = try await first.background { try $0.count(Account.all) }
        #expect(count == Bank.accountCount + 1)
        try await first.close()
    }

    @Test("Several processes can create and open the same file at once")
    func firstOpening() async throws {
        for _ in 0..<5 {
            let folder = try ScratchFolder()
            let url = folder.file("bank.sqlite")
            let children = try (0..<4).map { _ in try HelperProcess("open", url.path) }
            for child in children {
                let lines = await child.end()
                #expect(lines == ["done"], "\(lines)")
            }
            let stack = try await openBank(url)
            let count = try await stack.background { try $0.count(Account.all) }
            #expect(count == 4)
            try await stack.close()
        }
    }
}

private enum Kept: ContextStateKey { typealias Value = Account }
