import Foundation
import GRDB
import InMemoryLogging
import Logging
import StoreModels
import Synchronization
import TestHomeTraits
import Testing

@testable import Strata

extension ContextName {
    fileprivate static let clerk: ContextName = "clerk"
}

@Suite("Logging") struct LogTests {
    private let handler = InMemoryLogHandler()

    private func logger(_ level: Logger.Level) -> Logger {
        var logger = Logger(label: "test") { [handler] _ in handler }
        logger.logLevel = level
        return logger
    }

    private func open(
        _ diagnostics: Diagnostics,
        _ level: Logger.Level = .debug,
        _ location: StoreLocation = .inMemory
    ) async throws -> ContextStack {
        try await ContextStack.open(
            location,
            models: Bank.models,
            stack: .rootOnly,
            logger: logger(level),
            diagnostics: diagnostics
        )
    }

    /// Records with this message, and metadata as text.
    private func records(_ message: String) -> [[String: String]] {
        handler.entries.filter { $0.message.description == message }.map { $0.metadata.mapValues(\.description) }
    }

    @Test("Statements are logged only if the program asks for it")
    func off() async throws {
        let stack = try await open(Diagnostics(), .trace)
        try await stack.on(.root) { try Bank.found(in: $0) }
        #expect(records("SQL").isEmpty && records("slow SQL").isEmpty)
        let reader = try stack.core.engine.borrowReader(for: "nobody")
        #expect(reader.connection.trace == nil)
        stack.core.engine.giveBack(reader)
        try stack.core.engine.write(for: { "nobody" }) { connection in
            #expect(connection.trace == nil)
            return []
        }
        try await stack.close()
    }

    @Test("Statements are logged with their context, rows and time, and without values")
    func text() async throws {
        let stack = try await open(Diagnostics(statements: .text))
        try stack.push(.private, named: .clerk)
        try await stack.on(.clerk) { context in
            for number in 1...3 { context.insert(Account(name: "secret \(number)", balance: 7)) }
            try context.commit()
            #expect(try context.fetch(Account.where { $0.name != "secret 2" }).count == 2)
        }
        let inserts = records("SQL").filter { $0[LogKey.sql]?.hasPrefix("INSERT INTO \"Account\"") ?? false }
        #expect(inserts.count == 3)
        #expect(inserts.allSatisfy { $0[LogKey.rows] == "1" && $0[LogKey.context] == "clerk" })
        let select = try #require(records("SQL").last { $0[LogKey.sql]?.contains("WHERE") ?? false })
        #expect(select[LogKey.rows] == "2" && select[LogKey.context] == "clerk", "\(select)")
        #expect(try #require(Double(select[LogKey.duration] ?? "")) >= 0)
        #expect(select[LogKey.values] == nil)
        #expect(!handler.entries.contains { "\($0.metadata)".contains("secret") })
        #expect(records("SQL").contains { $0[LogKey.sql] == "COMMIT" })
        try await stack.close()
    }

    @Test("Values are logged on request, and long ones are cut")
    func values() async throws {
        let stack = try await open(Diagnostics(statements: .textAndValues, statementLevel: .info), .info)
        try await stack.on(.root) { context in
            context.insert(Account(name: "Ursula", balance: 7, note: String(repeating: "é", count: 10_000)))
            try context.commit()
            #expect(try context.count(Account.where { $0.balance == 7 }) == 1)
        }
        let values = records("SQL").compactMap { $0[LogKey.values] }
        let insert = try #require(values.first { $0.contains("'Ursula'") })
        #expect(insert.count <= 4001)
        #expect(values.contains { $0.contains("SELECT count(") && $0.contains("7") })
        #expect(handler.entries.filter { $0.message == "SQL" }.allSatisfy { $0.level == .info })
        try await stack.close()
    }

    @Test("A slow statement is logged as a warning, and its plan follows once the block has finished reading")
    func slow() async throws {
        let stack = try await open(Diagnostics(slowStatementThreshold: .zero), .warning)
        try await stack.on(.root) { context in
            try Bank.found(in: context)
            // Every statement is explained, including those that write. Explaining a statement does not disturb the
            // next one.
            for _ in 1...20 { _ = try Bank.transfer(1, in: context) }
        }
        try await expectBalancedBooks(stack, last: 20)
        #expect(records("SQL").isEmpty)
        #expect(handler.entries.allSatisfy { $0.level == .warning })
        let slow = records("slow SQL")
        #expect(slow.contains { $0[LogKey.sql]?.hasPrefix("UPDATE \"Account\"") ?? false && $0[LogKey.rows] == "1" })
        #expect(!slow.contains { $0[LogKey.sql]?.contains("EXPLAIN") ?? true })
        let plans = records("the plan of slow SQL")
        #expect(
            plans.contains { $0[LogKey.plan]?.contains("SCAN") ?? false && $0[LogKey.context] == "root" },
            "\(plans)"
        )
        try await stack.close()
    }

    @Test("A statement that takes less than the threshold does not count as slow")
    func fast() async throws {
        let stack = try await open(Diagnostics(slowStatementThreshold: .seconds(3600)), .warning)
        try await stack.on(.root) { try Bank.found(in: $0) }
        #expect(handler.entries.isEmpty)
        try await stack.close()
    }

    @Test("A cursor that is abandoned early is logged with the rows that it has read")
    func abandoned() async throws {
        let stack = try await open(Diagnostics(statements: .text))
        try await stack.on(.root) { context in
            try Bank.found(in: context)
            let cursor = try context.cursor(Account.where { $0.balance > 1 })
            for _ in 1...2 { #expect(try cursor.next() != nil) }
            cursor.close()
        }
        let read = records("SQL").last { $0[LogKey.sql]?.contains("\"balance\" > ") ?? false }
        #expect(read?[LogKey.rows] == "2")
        try await stack.close()
    }

    @Test("In a user's pool the statements of Strata's readers are logged, and the writer's trace stays the user's")
    func ownPool() async throws {
        let folder = try ScratchFolder()
        let heard = Journal()
        let pool = try DatabasePool(path: folder.file("own.sqlite").path)
        let stack = try await open(Diagnostics(statements: .text), .debug, .pool(pool))
        try await pool.writeWithoutTransaction { $0.trace { heard.add($0.description) } }
        try await stack.on(.root) { context in
            try Bank.found(in: context)
            #expect(try context.count(Account.where { $0.balance > 3 }) == Bank.accountCount)
        }
        try await pool.write { try $0.execute(sql: "CREATE TABLE wallet (coins INTEGER)") }
        #expect(heard.all.contains { $0.hasPrefix("INSERT INTO \"Account\"") })
        #expect(heard.all.contains { $0.hasPrefix("CREATE TABLE wallet") })
        #expect(records("SQL").contains { $0[LogKey.sql]?.contains("\"balance\" >") ?? false })
        #expect(!records("SQL").contains { $0[LogKey.sql]?.contains("wallet") ?? false })
        try await stack.close()
        try pool.close()
    }

    @Test("Commits, batches and their failures are logged at the level debug")
    func commits() async throws {
        let stack = try await open(Diagnostics())
        try await stack.on(.root) { context in
            try Bank.found(in: context)
            try context.batchUpdate(Account.all) { $0.note.set(to: "seen") }
            context.insert(Account(name: "account 1", balance: 0))
            #expect(throws: StrataError.self) { try context.commit() }
        }
        let committed = try #require(records("committed").first)
        #expect(committed[LogKey.rows] == "\(Bank.accountCount + 1)")
        #expect(committed[LogKey.sequence] == "1" && committed[LogKey.context] == "root")
        #expect(records("ran a batch").map { $0[LogKey.rows] } == ["\(Bank.accountCount)"])
        #expect(records("a commit has failed").map { $0[LogKey.error] } == ["notUnique"])
        try await stack.close()
    }

    @Test("A migration is logged with its backup", .aboutTheFile("migrates a store"))
    func migration() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.library(format: 2)
        let stack = try await ContextStack.open(
            .sqlite(url),
            models: Library2.models,
            stack: .rootOnly,
            migration: Library2.migration,
            logger: logger(.info)
        )
        try await stack.close()
        let record = try #require(records("migrated the store").first)
        #expect(record[LogKey.backup]?.hasSuffix(".before-migration-1") ?? false)
        #expect(record[LogKey.duration] != nil)
    }

    @Test("A stack that waits for another's migration does not log one", .aboutTheFile("migrates a store"))
    func waiting() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.library(format: 2)
        let lock = try DiskLock(url)
        let openings = (0..<3).map { _ in
            Task { [logger = logger(.info)] in
                try await ContextStack.open(
                    .sqlite(url),
                    models: Library2.models,
                    stack: .rootOnly,
                    migration: Library2.migration,
                    logger: logger
                )
                .close()
            }
        }
        // This is long enough for the stacks to meet the lock. A stack that comes later finds the migration done as
        // well.
        try await Task.sleep(for: .milliseconds(300))
        try lock.release()
        for opening in openings { try await opening.value }
        #expect(records("migrated the store").count == 1)
        #expect(try folder.image().keys.count { $0.contains("before-migration") } == 1)
    }
}
