import Foundation
import StoreModels
import Synchronization
import TestHomeTraits
import Testing

@testable import Strata

extension ScratchFolder {
    /// Makes a bank of many accounts with SQL.
    fileprivate func makeLargeBank(_ count: Int) async throws -> URL {
        let url = try await makeBank()
        try sql(
            url,
            """
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count)) \
            INSERT INTO "Account" ("id", "name", "balance", "note") SELECT 1000000 + i, 'more ' || i, 0, printf('%200d', i) FROM n
            """
        )
        return url
    }
}

@Suite("Long migrations", .aboutTheFile("migrates stores"), .serialized) struct LargeMigrationTests {
    private let count = 60_000

    private func make(_ folder: ScratchFolder) async throws -> URL {
        try await folder.makeLargeBank(count)
    }

    /// Expects that the store is unchanged.
    private func expectOld(_ folder: ScratchFolder, _ url: URL) throws {
        let total = Bank.accountCount * Bank.openingBalance
        #expect(try folder.rows(url, "SELECT count(*), sum(balance) FROM Account") == ["\(count + 6)|\(total)"])
        #expect(try folder.rows(url, "SELECT last FROM Counter") == ["3"])
        #expect(try folder.rows(url, "SELECT count(*) FROM strata_steps") == ["0"])
        #expect(try folder.rows(url, "PRAGMA quick_check") == ["ok"])
    }

    private func expectNew(_ folder: ScratchFolder, _ url: URL) async throws {
        let sums = try await folder.with(url, NewBank.models, NewBank.migration) { context in
            (
                try context.count(NewBank.Customer.where { $0.region == "north" }),
                try context.sum(NewBank.Customer.all, \.balance), try context.first(NewBank.Counter.all)!.last
            )
        }
        #expect(sums.0 == count + Bank.accountCount && sums.1 == Double(Bank.accountCount * Bank.openingBalance))
        // The step has run once.
        #expect(sums.2 == 103)
        #expect(try folder.rows(url, "SELECT max(migrations) FROM strata_history") == ["1"])
        #expect(try folder.rows(url, "PRAGMA integrity_check") == ["ok"])
    }

    @Test("Progress grows from 0 to 1 and names the current activity")
    func progress() async throws {
        let folder = try ScratchFolder()
        let url = try await make(folder)
        let seen = Mutex<[MigrationProgress]>([])
        let migration = NewBank.migration.onProgress { progress in seen.withLock { $0.append(progress) } }
        try await folder.with(url, NewBank.models, migration) { _ in }
        let all = seen.withLock { $0 }
        #expect(all.map(\.fraction) == all.map(\.fraction).sorted())
        #expect(all.first?.fraction == 0 && all.last?.fraction == 1)
        let activities = all.map(\.activity).reduce(into: [String]()) { if $0.last != $1 { $0.append($1) } }
        #expect(
            activities == [
                "Backing up", "Copying Customer", "Indexing Leg", "Step 'count'", "Checking unique values of Customer",
                "Done",
            ]
        )
        #expect(all.filter { $0.activity == "Copying Customer" }.count > 3)
        try await expectNew(folder, url)
    }

    @Test(
        "A cancelled migration leaves the store unchanged, in every activity",
        arguments: ["Backing up", "Copying", "Step"]
    )
    func cancellation(moment: String) async throws {
        let folder = try ScratchFolder()
        let url = try await make(folder)
        let started = Signal()
        let migration = NewBank.migration
            .step("never ends") { database in
                _ = try database.rows(
                    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
                )
            }
            .onProgress { if $0.activity.hasPrefix(moment) { started.set() } }
        let task = Task { try await ContextStack.open(.sqlite(url), models: NewBank.models, migration: migration) }
        await started.wait()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try expectOld(folder, url)
        #expect(!(try folder.image().keys.contains { $0.contains("partial") }))
        try await expectNew(folder, url)
    }

    @Test("A migration that waits for the store gives up when it is cancelled or when its time is over")
    func waiting() async throws {
        let folder = try ScratchFolder()
        let url = try await make(folder)
        let lock = try DiskLock(url)
        let task = Task {
            try await ContextStack.open(.sqlite(url), models: NewBank.models, migration: NewBank.migration)
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        // The migration's waiting time counts, whether it is longer or shorter than that of the store.
        for timeout in [0.01, .infinity] {
            await expect(.busy) {
                _ = try await ContextStack.open(
                    .sqlite(url),
                    models: NewBank.models,
                    configuration: StoreConfiguration(busyTimeout: timeout),
                    migration: NewBank.migration.waiting(for: 0.02)
                )
            }
        }
        try lock.release()
        try await expectNew(folder, url)
    }

    @Test(
        "A process killed during a migration leaves the old store whole, and the migration runs again (seed: STRATA_SEED)"
    )
    func killed() async throws {
        let seed = SeededGenerator.seed
        var random = SeededGenerator(seed: seed)
        let folder = try ScratchFolder()
        let url = try await make(folder)
        for round in 0..<8 {
            let child = try HelperProcess("migrate", url.path)
            // A random moment of the migration, chosen by its progress, plus a short delay.
            for _ in 0..<Int.random(in: 1...5, using: &random) { _ = try await child.next() }
            try await Task.sleep(for: .microseconds(Int.random(in: 0..<20_000, using: &random)))
            child.kill()
            let lines = await child.end()
            #expect(!lines.contains { $0.hasPrefix("done") || $0.hasPrefix("error") }, "seed \(seed), round \(round)")
            let migrated = try folder.rows(url, "SELECT count(*) FROM strata_steps") == ["1"]
            if migrated { break }
            try expectOld(folder, url)
        }
        try await expectNew(folder, url)
    }

    @Test("If several processes open an old store, one migrates it, and the others wait and find it migrated")
    func processes() async throws {
        let folder = try ScratchFolder()
        let url = try await make(folder)
        let children = try (0..<3).map { _ in try HelperProcess("migrate", url.path) }
        var copies = 0
        for child in children {
            let lines = await child.end()
            #expect(lines.last == "done \(count + Bank.accountCount)", "\(lines)")
            if lines.contains(where: { $0.contains("Copying") }) { copies += 1 }
        }
        #expect(copies == 1)
        try await expectNew(folder, url)
    }

    @Test("A stack that was open during the migration no longer reads or writes, and reports the reason")
    func openBefore() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let old = try await openBank(url)
        let ready = try await old.on(.root) { context in
            context.insert(Account(name: "late", balance: 0))
            return try context.count(Account.all)
        }
        #expect(ready == Bank.accountCount + 1)
        try await folder.with(url, NewBank.models, NewBank.migration) { _ in }
        await expect(.schemaMismatch) { _ = try await old.background { try $0.count(Account.all) } }
        await expect(.schemaMismatch) { try await old.commit(.root) }
        try await old.close()
        #expect(try folder.rows(url, "SELECT count(*) FROM Customer") == ["\(Bank.accountCount)"])
    }
}
