import Foundation
import StoreModels
import TestHomeTraits
import Testing

@testable import Strata

@Suite("Compaction of a store", .aboutTheFile("measures the free pages of the file"), .timeLimit(.minutes(1)))
struct CompactionTests {
    private func size(_ url: URL) throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: url.path)[.size] as? Int)
    }

    @Test("A new store returns its free pages in portions while others commit")
    func portions() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let stack = try await openBank(url)
        try await stack.fill(megabytes: 12)
        try await stack.fill(megabytes: 0)
        let before = try await stack.statistics()
        #expect(before.compactsInPortions && before.freePageCount > 2500)
        let (begun, reports) = (Signal(), ProgressReports())
        let commits = Task {
            await begun.wait()
            for _ in 0..<20 { try await stack.annotate() }
        }
        let freed = try await stack.compact { progress in
            reports.add(progress)
            begun.set()
        }
        try await commits.value
        #expect(freed > 10 << 20)
        #expect(reports.all.count > 4 && reports.all.last?.fraction == 1)
        let after = try await stack.statistics()
        #expect(after.freePageCount < 20)
        try await expectBalancedBooks(stack, last: 3)
        #expect(try await stack.check() == [])
        try await stack.close()
        #expect(try size(url) < 1 << 20)
    }

    @Test("A store of an earlier version is written again once, and then returns pages in portions")
    func earlierVersion() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        try folder.sql(url, "PRAGMA auto_vacuum = NONE", "VACUUM")
        let stack = try await openBank(url)
        let fingerprint = stack.fingerprint
        let token = stack.historyToken
        try await stack.fill(megabytes: 4)
        try await stack.fill(megabytes: 0)
        let before = try await stack.statistics()
        #expect(!before.compactsInPortions && before.freePageCount > 500)
        #expect(try await stack.compact() > 2 << 20)
        let after = try await stack.statistics()
        #expect(after.compactsInPortions && after.freePageCount == 0)
        try await expectBalancedBooks(stack, last: 3)
        #expect(try await stack.history(since: token).count == 2)
        try await stack.close()
        let again = try await openBank(url)
        #expect(again.fingerprint == fingerprint)
        try await again.close()
    }

    @Test("A cancelled compaction throws and keeps the store")
    func cancelled() async throws {
        let folder = try ScratchFolder()
        let stack = try await openBank(try await folder.makeBank())
        try await stack.fill(megabytes: 4)
        try await stack.fill(megabytes: 0)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await stack.compact()
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        try await expectBalancedBooks(stack, last: 3)
        try await stack.close()
    }

    @Test("A stack that only reads does not compact or optimize")
    func readOnly() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let stack = try await openBank(url)
        let reading = try await ContextStack.open(
            .sqlite(url),
            models: Bank.models,
            stack: .rootOnly,
            configuration: StoreConfiguration(isReadOnly: true)
        )
        await expect(.readOnly) { _ = try await reading.compact() }
        await expect(.readOnly) { try await reading.optimize() }
        #expect(try await reading.check() == [])
        #expect(try await reading.statistics().table(of: Account.self)?.rowCount == 6)
        try await reading.backup(to: folder.file("copy.sqlite"))
        try await reading.close()
        try await stack.close()
        await expect(.closed) { _ = try await stack.statistics() }
    }
}
