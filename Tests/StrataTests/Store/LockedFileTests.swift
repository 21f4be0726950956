import Foundation
import GRDB
import StoreModels
import Testing

@testable import Strata

@Suite("C21 a store that somebody else holds") struct LockedFileTests {
    @Test("a process holds it: opening gives busy after the timeout, and works once that process is gone")
    func opening() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let child = try Child("lock", url.path)
        #expect(try await child.next() == "locked")
        #expect(try await errorOfOpening(url, timeout: 0.05)?.code == .busy)
        child.kill()
        _ = await child.end()
        let stack = try await openBank(url)
        try await expectBalancedBooks(stack, last: 3)
        try await stack.close()
    }

    @Test("C18 a process holds it: a commit gives busy, keeps the changes, and goes through later")
    func committing() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let stack = try await openBank(url, timeout: 0.05)
        let child = try Child("lock", url.path)
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

    @Test("H28 ids of the range in hand need no lock; a drained range gives busy at save, and the object is kept")
    func ids() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let stack = try await openBank(url, timeout: 0.02)
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let holder = try DatabaseQueue(path: url.path, configuration: configuration)
        try holder.inDatabase { try $0.execute(sql: "BEGIN IMMEDIATE") }
        var last = Int64(0)
        while true {
            do {
                let next = try stack.newID(for: Account.self).number
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
            #expect(account.id.number > last)
        }
        try await stack.close()
        try holder.close()
    }
}
