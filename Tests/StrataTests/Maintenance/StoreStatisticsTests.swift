import Foundation
import GRDB
import StoreModels
import TestHomeTraits
import Testing

@testable import Strata

@Suite("Statistics of a store", .aboutTheFile("measures the tables of the file"), .timeLimit(.minutes(1)))
struct StoreStatisticsTests {
    @Test("Statistics report rows, indexes, the history and the file")
    func statistics() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let stack = try await openBank(url)
        let statistics = try await stack.statistics()
        let commitCount = try await stack.history().count
        let accounts = try #require(statistics.table(of: Account.self))
        #expect(accounts.rowCount == Bank.accountCount)
        #expect(accounts.indexes.contains { $0.name == "Account_name_unique" })
        #expect(statistics.table(of: Transfer.self)?.rowCount == 3)
        #expect(statistics.history.commitCount == commitCount)
        #expect(statistics.history.size > 0)
        #expect(statistics.fileSize == statistics.pageCount * statistics.pageSize)
        // Debian's SQLite measures sizes, and other builds may not.
        if let size = accounts.size { #expect(size > 0 && (accounts.totalSize ?? 0) > size) }
        try await stack.close()
    }

    /// The tables with measurements of SQLite; nil without any.
    private func measured(_ url: URL) async throws -> Set<String>? {
        let queue = try DatabaseQueue(path: url.path, configuration: .waiting)
        defer { try? queue.close() }
        return try await queue.read { db -> Set<String>? in
            guard try db.tableExists("sqlite_stat1") else { return nil }
            return try Set(String.fetchAll(db, sql: "SELECT tbl FROM sqlite_stat1"))
        }
    }

    private func insertAccounts(_ stack: ContextStack) async throws {
        try await stack.background { context in
            let rows = (0..<6000).map { Account(name: "many \($0)", balance: 0).snapshot }
            try context.batchInsert(rows)
        }
    }

    @Test("Closing measures large tables, and leaves small stores unchanged")
    func closing() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        #expect(try await measured(url) == nil)
        let stack = try await openBank(url)
        try await insertAccounts(stack)
        try await stack.close()
        #expect(try await measured(url) == ["Account"])
        // The store opens, and its tables are as recorded.
        let again = try await openBank(url)
        #expect(try await again.check() == [])
        try await again.close()
    }

    @Test("A stack that stays open measures large tables on request")
    func optimize() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let stack = try await openBank(url)
        try await stack.optimize()
        #expect(try await measured(url) == nil)
        try await insertAccounts(stack)
        try await stack.optimize()
        #expect(try await measured(url) == ["Account"])
        try await stack.close()
    }
}
