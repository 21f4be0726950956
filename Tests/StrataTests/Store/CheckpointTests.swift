import Foundation
import StoreModels
import TestHomeTraits
import Testing

@testable import Strata

/// These loops read, change and commit on a real file, with `synchronous` set to NORMAL.
@Suite("The size of the journal in ordinary loops", .aboutTheFile("measures the journal")) struct CheckpointTests {
    private static let limit = 12 << 20

    private func openStack(_ url: URL) async throws -> ContextStack {
        try await ContextStack.open(
            .sqlite(url),
            models: Bank.models,
            stack: .rootOnly,
            configuration: StoreConfiguration(synchronous: .normal, history: .off)
        )
    }

    private func size(of url: URL) throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: url.path + "-wal")[.size] as? Int)
    }

    /// Finds an account, and writes about five pages.
    private func step(_ index: Int, _ name: String, _ stack: ContextStack) async throws {
        try await stack.background(parent: .named(.root)) { context in
            let found = try context.first(Account.where { $0.name == name })
            let account = found ?? context.insert(Account(name: name, balance: 0))
            account.note = String(repeating: "\(index % 10)", count: 16_000)
            account.balance += 1
            try context.commit()
        }
    }

    @Test("Blocks that read before they commit keep the journal small", arguments: [1, 8])
    func readBeforeCommit(tasks: Int) async throws {
        let folder = try ScratchFolder()
        let url = folder.file("loop.sqlite")
        let stack = try await openStack(url)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<tasks {
                group.addTask {
                    for index in 0..<4000 / tasks {
                        try await step(index, "account \(task)", stack)
                        // Without checkpoints the journal would grow to more than sixty megabytes.
                        if index % 50 == 0 { try #expect(size(of: url) < Self.limit) }
                    }
                }
            }
            try await group.waitForAll()
        }
        try #expect(size(of: url) < Self.limit)
        try await stack.background { context in
            let balances = try context.fetch(Account.all).map(\.balance)
            #expect(balances == Array(repeating: 4000 / tasks, count: tasks))
        }
        try await stack.close()
    }

    private enum Held: ContextStateKey { typealias Value = ObjectCursor<Account> }

    @Test("Pages that a cursor or pinned context kept in the journal are copied once it is gone")
    func afterLongReads() async throws {
        for isPinned in [true, false] {
            let folder = try ScratchFolder()
            let url = folder.file("held.sqlite")
            let stack = try await openStack(url)
            for task in 0..<4 { try await step(0, "account \(task)", stack) }
            let holder = try stack.create(.private, merging: isPinned ? .pinned : .atNextBlock)
            try await holder.perform { context in
                if isPinned { return #expect(try context.count(Account.all) == 4) }
                let cursor = try context.cursor(Account.all)
                #expect(try cursor.next() != nil)
                context.state[Held.self] = cursor
            }
            let before = stack.core.engine.checkpointCount
            for index in 0..<2000 { try await step(index, "account 0", stack) }
            try #expect(size(of: url) > 30 << 20)
            // One checkpoint finds the snapshot in its way. The engine does not try again for each commit or each
            // thousand pages.
            #expect(stack.core.engine.checkpointCount - before <= 2)
            try await holder.perform { context in
                #expect(
                    try context.fetch(Account.where { $0.name == "account 0" }).map(\.balance) == [isPinned ? 1 : 2001]
                )
                context.state[Held.self]?.close()
                if isPinned { try context.merge() }
            }
            // The first commit that restarts the journal frees the space that the journal has taken.
            #expect(
                try await eventually {
                    try await step(0, "account 1", stack)
                    return try size(of: url) < Self.limit
                }
            )
            try await stack.close()
        }
    }

    @Test("Main waits for no checkpoint, and lets every checkpoint complete")
    func mainWithoutWaiting() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("main.sqlite")
        let stack = try await ContextStack.open(
            .sqlite(url),
            models: Bank.models,
            configuration: StoreConfiguration(synchronous: .normal, history: .off)
        )
        try await step(0, "account 0", stack)
        for index in 0..<2000 {
            let isThere = try await readOnMain(stack)
            #expect(isThere)
            try await stack.background(parent: .named(.root)) { context in
                try context.first(Account.all)?.note = String(repeating: "\(index % 10)", count: 16_000)
                try context.commit()
            }
        }
        try #expect(size(of: url) < Self.limit)
        try await stack.close()
    }

    @MainActor private func readOnMain(_ stack: ContextStack) throws -> Bool {
        try stack.main.first(Account.all) != nil
    }
}
