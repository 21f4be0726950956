import Foundation
import GRDB
import StoreModels
import TestHomeTraits
import Testing

@testable import Strata

@Suite("A store that another process has locked", .aboutTheFile("locks the file from outside")) struct LockedFileTests {
    @Test("Another writer never delays opening or reading, but a new copy waits and reports busy after the timeout")
    func opening() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let child = try HelperProcess("lock", url.path)
        #expect(try await child.next() == "locked")
        let reader = try await openBank(url, timeout: 0.05)
        try await expectBalancedBooks(reader, last: 3)
        try await reader.close()
        // A copy must write its own fingerprint.
        let copy = folder.file("copy.sqlite")
        try FileManager.default.copyItem(at: url, to: copy)
        let holder = try DatabaseQueue(path: copy.path, configuration: .unsafe)
        try holder.inDatabase { try $0.execute(sql: "BEGIN IMMEDIATE") }
        #expect(try await errorOfOpening(copy, timeout: 0.05)?.code == .busy)
        try holder.inDatabase { try $0.execute(sql: "ROLLBACK") }
        try holder.close()
        #expect(try await errorOfOpening(copy, timeout: 0.05) == nil)
        child.kill()
        _ = await child.end()
        let stack = try await openBank(url)
        try await expectBalancedBooks(stack, last: 3)
        try await stack.close()
    }

    @Test("A commit to a locked store reports busy, keeps the changes, and succeeds later")
    func committing() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let stack = try await openBank(url, timeout: 0.05)
        let child = try HelperProcess("lock", url.path)
        #expect(try await child.next() == "locked")
        try await stack.on(.root) { context in
            let account = try #require(try context.first(Account.all))
            account.note = "kept"
            let error = #expect(throws: StrataError.self) { try context.commit() }
            #expect(error?.code == .busy)
            #expect(context.hasChanges && account.note == "kept")
            #expect(try context.count(Account.where { $0.note == "kept" }) == 1)
        }
        child.kill()
        _ = await child.end()
        try await stack.on(.root) { context in
            try context.commit()
            #expect(!context.hasChanges)
        }
        let second = try await openBank(url)
        let count = try await second.on(.root) { try $0.count(Account.where { $0.note == "kept" }) }
        #expect(count == 1)
        try await second.close()
        try await stack.close()
    }

    @Test("A stack opened by a cancelled task waits for a locked store like any other stack")
    func openedWhileCancelled() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let opening = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await openBank(url, timeout: 30)
        }
        let stack = try await opening.value
        let lock = try DiskLock(url)
        let committing = Task {
            try await stack.on(.root) { context in
                let account = try #require(try context.first(Account.all))
                account.note = "late"
                try context.commit()
            }
        }
        // This is long enough for the commit to meet the lock. A commit that comes later succeeds anyway.
        try await Task.sleep(for: .milliseconds(300))
        try lock.release()
        try await committing.value
        try await stack.close()
        #expect(try folder.rows(url, "SELECT count(*) FROM Account WHERE note = 'late'") == ["1"])
    }

    @Test("A store opens with the longest and the shortest waiting time", arguments: [Double.infinity, 1e300, 0])
    func times(seconds: TimeInterval) async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let stack = try await ContextStack.open(
            .sqlite(url),
            models: Bank.models,
            stack: .rootOnly,
            configuration: StoreConfiguration(busyTimeout: seconds),
            migration: Migration().backup(.none).waiting(for: seconds).step("a") { _ in }
        )
        try await expectBalancedBooks(stack, last: 3)
        try await stack.close()
    }

    @Test("A plan of a migration waits for a lock on the file")
    func plan() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let holder = try DatabaseQueue(path: url.path, configuration: .waiting)
        // In this mode, the next transaction takes a lock that also keeps readers out, until the file is closed.
        try await holder.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; COMMIT")
        }
        async let plan = Migration().plan(for: .sqlite(url), models: Bank.models)
        try await Task.sleep(for: .milliseconds(100))
        try holder.close()
        let changes = try await plan.changes
        #expect(changes == [])
    }

    @Test("Ids of the reserved range need no lock; with the range used up, save reports busy and keeps the object")
    func ids() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let stack = try await openBank(url, timeout: 0.02)
        let holder = try DatabaseQueue(path: url.path, configuration: .unsafe)
        try holder.inDatabase { try $0.execute(sql: "BEGIN IMMEDIATE") }
        var last = Int64(0)
        while true {
            do {
                let next = try stack.newID(for: Account.self).rawValue
                #expect(next > last)
                last = next
            } catch let error as StrataError {
                #expect(error.code == .busy)
                break
            }
        }
        try await stack.on(.root) { context in
            context.insert(Account(name: "waiting", balance: 0))
            let error = #expect(throws: StrataError.self) { try context.commit() }
            #expect(error?.code == .busy)
        }
        try holder.inDatabase { try $0.execute(sql: "ROLLBACK") }
        try await stack.on(.root) { context in
            try context.commit()
            let account = try #require(try context.first(Account.where { $0.name == "waiting" }))
            #expect(account.id.rawValue > last)
        }
        try await stack.close()
        try holder.close()
    }
}

extension Configuration {
    /// Transactions may stay open between two accesses. A newly opened stack reserves ids.
    /// Leaves transactions open between calls.
    static var unsafe: Configuration {
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        configuration.allowsUnsafeTransactions = true
        return configuration
    }
}
