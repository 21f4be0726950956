import Foundation
import GRDB
import StoreModels
import Synchronization
import TestHomeTraits
import Testing

@testable import Strata

@Suite("A user's own DatabasePool") struct OwnPoolTests {
    private func open(_ pool: DatabasePool) async throws -> ContextStack {
        try await ContextStack.open(.pool(pool), models: Bank.models, stack: .rootOnly)
    }

    @Test("Strata's tables live beside the user's own, and the user keeps the pool after close")
    func beside() async throws {
        let folder = try ScratchFolder()
        let pool = try DatabasePool(path: folder.file("own.sqlite").path)
        try await pool.write { db in
            try db.execute(sql: "CREATE TABLE wallet (coins INTEGER); INSERT INTO wallet VALUES (7)")
        }
        for round in 1...2 {
            let stack = try await open(pool)
            try await stack.on(.root) { context in
                try Bank.found(in: context)
                _ = try Bank.transfer(5, in: context)
            }
            try await expectBalancedBooks(stack, last: round)
            try await pool.write { try $0.execute(sql: "UPDATE wallet SET coins = coins + 1") }
            try await stack.close()
        }
        let (coins, accounts) = try await pool.read { db in
            (
                try Int.fetchOne(db, sql: "SELECT coins FROM wallet"),
                try Int.fetchOne(db, sql: "SELECT count(*) FROM \"Account\"")
            )
        }
        #expect(coins == 9 && accounts == Bank.accountCount)
        try pool.close()
    }

    @Test("The pool's observers hear of each of Strata's commits once, and of no rollback")
    func observers() async throws {
        final class Observer: TransactionObserver, Sendable {
            let commits = Mutex(0)
            func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }
            func databaseDidChange() {}
            func databaseDidChange(with event: DatabaseEvent) {}
            func databaseDidCommit(_ db: Database) { commits.withLock { $0 += 1 } }
            func databaseDidRollback(_ db: Database) {}
        }
        let folder = try ScratchFolder()
        let pool = try DatabasePool(path: folder.file("own.sqlite").path)
        let stack = try await open(pool)
        try await stack.on(.root) { try Bank.found(in: $0) }
        let observer = Observer()
        pool.add(transactionObserver: observer, extent: .databaseLifetime)
        let values =
            ValueObservation
            .trackingConstantRegion { try Int.fetchOne($0, sql: "SELECT max(\"last\") FROM \"Counter\"") ?? -1 }
            .removeDuplicates()
            .values(in: pool)
        var iterator = values.makeAsyncIterator()
        #expect(try await iterator.next() == 0)
        for position in 1...3 {
            _ = try await stack.on(.root) { try Bank.transfer(1, in: $0) }
            #expect(try await iterator.next() == position)
        }
        #expect(observer.commits.withLock { $0 } == 3)
        await #expect(throws: StrataError.self) {
            try await stack.background { context in
                context.insert(Account(name: "account 0", balance: 0))
                try context.commit()
            }
        }
        #expect(observer.commits.withLock { $0 } == 3)
        try await stack.close()
        try pool.close()
    }

    @Test("If an observer refuses COMMIT, the commit fails and loses nothing, and later commits succeed")
    func refusedCommit() async throws {
        final class Refusal: TransactionObserver, Sendable {
            struct Refused: Error {}
            let isOn = Mutex(true)
            func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }
            func databaseDidChange() {}
            func databaseDidChange(with event: DatabaseEvent) {}
            func databaseWillCommit() throws { if isOn.withLock({ $0 }) { throw Refused() } }
            func databaseDidCommit(_ db: Database) {}
            func databaseDidRollback(_ db: Database) {}
        }
        let folder = try ScratchFolder()
        let pool = try DatabasePool(path: folder.file("own.sqlite").path)
        let stack = try await open(pool)
        let refused = try stack.create(.private)
        try await refused.perform { _ = $0.insert(Account(name: "refused", balance: 1)) }
        let refusal = Refusal()
        pool.add(transactionObserver: refusal, extent: .databaseLifetime)
        await #expect(throws: (any Error).self) { try await refused.commit() }
        #expect(stack.core.engine.layers.state.withLock { $0.inFlight.isEmpty })
        refusal.isOn.withLock { $0 = false }
        try await stack.background { context in
            context.insert(Account(name: "other", balance: 2))
            try context.commit()
        }
        #expect(try await refused.perform { $0.hasChanges })
        try await refused.commit()
        let names = try await stack.background { try $0.fetch(Account.all).map(\.name).sorted() }
        #expect(names == ["other", "refused"])
        try await stack.close()
        try pool.close()
    }

    @Test("A table name that the user already has is refused, and nothing is left in the database")
    func clash() async throws {
        for statement in [
            "CREATE TABLE account (x)", "CREATE VIEW \"Leg\" AS SELECT 1 AS x", "CREATE TABLE strata_lineage (x)",
        ] {
            let folder = try ScratchFolder()
            let pool = try DatabasePool(path: folder.file("own.sqlite").path)
            try await pool.write { try $0.execute(sql: statement) }
            let error = await #expect(throws: StrataError.self) { try await open(pool).close() }
            #expect(error?.code == .schemaMismatch, "\(statement): \(String(describing: error))")
            let tables = try await pool.read { try String.fetchAll($0, sql: "SELECT name FROM sqlite_schema") }
            #expect(tables.count == 1)
            try pool.close()
        }
    }

    @Test(
        "A read-only or closed pool is refused, and a pool does not close before its stack",
        .aboutTheFile("opens the file as a user's own database")
    )
    func unusable() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("own.sqlite")
        let pool = try DatabasePool(path: url.path)
        try await pool.write { try $0.execute(sql: "CREATE TABLE wallet (coins INTEGER)") }
        var configuration = Configuration()
        configuration.readonly = true
        let readOnly = try DatabasePool(path: url.path, configuration: configuration)
        let error = await #expect(throws: StrataError.self) { try await open(readOnly).close() }
        #expect(error?.code == .readOnly)
        try readOnly.close()
        try pool.close()
        await #expect(throws: StrataError.self) { try await open(pool).close() }

        let living = try DatabasePool(path: url.path)
        let stack = try await open(living)
        try await stack.on(.root) { try Bank.found(in: $0) }
        // The stack's statements keep the pool from closing. Both continue as before.
        #expect(throws: DatabaseError.self) { try living.close() }
        try await stack.on(.root) { _ = try Bank.transfer(1, in: $0) }
        try await expectBalancedBooks(stack, last: 1)
        try await stack.close()
        try living.close()
    }
}
