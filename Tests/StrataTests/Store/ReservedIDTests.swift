import Foundation
import GRDB
import StoreModels
import Synchronization
import TestHomeTraits
import Testing

@testable import Strata

@Suite("Ids while the store is being written") struct ReservedIDTests {
    private static let more = Int(IDSource.rangeSize) + 10

    /// As many ids as there are in a range, plus ten.
    private static func takeRange(_ stack: ContextStack) throws -> Int64 {
        var last: Int64 = 0
        for _ in 0..<more { last = try stack.core.engine.ids.take() }
        return last
    }

    @Test("A batch whose rows take more ids than are reserved completes")
    func largeBatch() async throws {
        let folder = try ScratchFolder()
        let stack = try await openBank(folder.file("batch.sqlite"))
        let last = try await stack.background { context in
            let rows = (0..<3).lazy.map { index in
                _ = try! Self.takeRange(stack)
                return Account(name: "\(index)", balance: 0).snapshot
            }
            let done = try context.batchInsert(rows)
            #expect(done.inserted.count == 3)
            return done.inserted.map(\.rawValue).max()!
        }
        // No other object has the ids of the batch, or the ids that were taken meanwhile.
        #expect(try stack.newID(for: Account.self).rawValue > last)
        try await stack.close()
    }

    @Test("Ids that were taken in a failed batch are not used again", arguments: [false, true])
    func failedBatch(isPool: Bool) async throws {
        let folder = try ScratchFolder()
        let url = folder.file("failed.sqlite")
        let pool = isPool ? try DatabasePool(path: url.path, configuration: .waiting) : nil
        let stack = try await ContextStack.open(
            pool.map { .pool($0) } ?? .sqlite(url),
            models: Bank.models,
            stack: .rootOnly
        )
        let last = try await stack.background { context in
            var last: Int64 = 0
            let rows = (0..<2).lazy.map { _ in
                last = try! Self.takeRange(stack)
                return Account(name: "twice", balance: 0).snapshot
            }
            let error = #expect(throws: StrataError.self) { try context.batchInsert(rows) }
            #expect(error?.code == .notUnique)
            return last
        }
        let otherPool = isPool ? try DatabasePool(path: url.path, configuration: .waiting) : nil
        let other = try await ContextStack.open(
            otherPool.map { .pool($0) } ?? .sqlite(url),
            models: Bank.models,
            stack: .rootOnly
        )
        #expect(try other.newID(for: Account.self).rawValue > last)
        for _ in 0..<Self.more { #expect(try stack.newID(for: Account.self).rawValue != last) }
        try await other.close()
        try await stack.close()
        try otherPool?.close()
        try pool?.close()
    }

    /// Another process could reserve the ids of a failed transaction before this one reserves them again.
    @Test(
        "A transaction that begins before the first ids have arrived does not reserve them itself",
        .aboutTheFile("expects that ids come from the file")
    )
    func beforeTransaction() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("early.sqlite")
        let stack = try await openBank(url)
        let (ids, writer) = (stack.core.engine.ids, stack.core.engine.writer)
        ids.stop()
        while (try? ids.take()) != nil {}
        let reservations = Reservations()
        ids.start {
            writer.isOnLeadingThread
        } _: { count, areNeeded in
            // The background queue comes first, and is too slow.
            if reservations.note(inTransaction: writer.isOnLeadingThread) == 1 { return nil }
            return try writer.reserveIDs(count, if: areNeeded)
        }
        #expect(try await eventually { !reservations.inTransaction.isEmpty })
        let owed = try await nextID(in: url)
        try await stack.background { context in
            let rows = (0..<2).lazy.map { _ in
                _ = try! ids.take()
                return Account(name: "twice", balance: 0).snapshot
            }
            #expect(throws: StrataError.self) { try context.batchInsert(rows) }
        }
        #expect(!reservations.inTransaction.contains(true))
        #expect(try await nextID(in: url) == owed + IDSource.rangeSize)
        try await stack.close()
    }

    @Test("A commit without ids waits once for a store that is locked", .aboutTheFile("locks the file"))
    func locked() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let stack = try await openBank(url, timeout: 0.5)
        let ids = stack.core.engine.ids
        ids.stop()
        while (try? ids.take()) != nil {}
        let other = try DatabaseQueue(path: url.path, configuration: .unsafe)
        try other.inDatabase { db in try db.execute(sql: "BEGIN IMMEDIATE") }
        let asked = Reservations()
        ids.start {
            false
        } _: { _, _ in
            _ = asked.note(inTransaction: false)
            return nil
        }
        #expect(try await eventually { !asked.inTransaction.isEmpty })
        let before = stack.transactionCount
        try await stack.background { context in
            try #require(try context.fetch(Account.all).first).balance += 1
            let error = #expect(throws: StrataError.self) { try context.commit() }
            #expect(error?.code == .busy)
        }
        // The transaction of the commit itself was not tried after the one for the ids.
        #expect(stack.transactionCount == before)
        try other.inDatabase { db in try db.execute(sql: "ROLLBACK") }
        try await stack.background { context in
            try #require(try context.fetch(Account.all).first).balance += 1
            try context.commit()
        }
        try other.close()
        try await stack.close()
    }

    /// The first id that no process has reserved.
    private func nextID(in url: URL) async throws -> Int64 {
        let queue = try DatabaseQueue(path: url.path, configuration: .waiting)
        defer { try? queue.close() }
        return try await queue.read { try #require(try Int64.fetchOne($0, sql: SchemaSQL.readNextID)) }
    }

    /// The calls that reserve ids: whether each was made inside a transaction.
    private final class Reservations: Sendable {
        private let calls = Mutex<[Bool]>([])
        var inTransaction: [Bool] { calls.withLock { $0 } }

        /// Returns the number of calls.
        func note(inTransaction: Bool) -> Int {
            calls.withLock {
                $0.append(inTransaction)
                return $0.count
            }
        }
    }

    @Test(
        "The main actor inserts from reserved ids while the store is written, and gets an error when none is left",
        .aboutTheFile("expects that ids come from the file")
    )
    func mainActor()
        async throws
    {
        let folder = try ScratchFolder()
        let stack = try await ContextStack.open(
            .sqlite(folder.file("main.sqlite")),
            models: Bank.models,
            configuration: StoreConfiguration(synchronous: .normal)
        )
        try await insertOnMain(1, "first", stack)
        try await stack.commit(.main)
        let (begun, end) = (Signal(), DispatchSemaphore(value: 0))
        let batch = Task {
            try await stack.background(parent: .named(.root)) { context in
                let rows = (0..<1).lazy.map { index in
                    begun.set()
                    end.wait()
                    return Account(name: "batch", balance: 0).snapshot
                }
                _ = try context.batchInsert(rows)
            }
        }
        await begun.wait()
        // The batch waits for this insert. If the main actor waited for the batch, both would wait forever.
        try await insertOnMain(10_000, "many", stack)
        let code = await MainActor.run { () -> StrataError.Code? in
            do { _ = try Self.takeRange(stack) } catch { return (error as? StrataError)?.code }
            return nil
        }
        #expect(code == .busy)
        try await insertOnMain(1, "late", stack)
        end.signal()
        try await batch.value
        // Objects without an id get one now.
        #expect(
            try await eventually {
                do { try await stack.commit(.main) } catch let error as StrataError where error.code == .busy {
                    return false
                }
                return true
            }
        )
        #expect(try await stack.background(parent: .named(.root)) { try $0.count(Account.all) } == 10_003)
        try await stack.close()
    }

    @MainActor private func insertOnMain(_ count: Int, _ name: String, _ stack: ContextStack) throws {
        let main = try stack.main
        for index in 0..<count { main.insert(Account(name: "\(name) \(index)", balance: 0)) }
    }
}
