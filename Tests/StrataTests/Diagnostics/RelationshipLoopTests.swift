import InMemoryLogging
import Logging
import StoreModels
import Testing

@testable import Strata

@Suite("Warnings about relationships that are read in a loop", .timeLimit(.minutes(1))) struct RelationshipLoopTests {
    private let handler = InMemoryLogHandler()

    /// A stack with this number of accounts, each with one leg.
    private func open(limit: Int?, accounts: Int = 12, _ level: Logger.Level = .warning) async throws -> ContextStack {
        var logger = Logger(label: "test") { [handler] _ in handler }
        logger.logLevel = level
        let stack = try await ContextStack.open(
            .inMemory,
            models: Bank.models,
            stack: .rootOnly,
            logger: logger,
            diagnostics: Diagnostics(relationshipLoopLimit: limit)
        )
        try await stack.background { context in
            for number in 0..<accounts {
                let account = Account(name: "\(number)", balance: number)
                context.insert(Leg(amount: number, account: account))
            }
            try context.commit()
        }
        return stack
    }

    /// The relationship, the count and the query of each warning.
    private var warnings: [[String]] {
        handler.entries.filter { $0.metadata["strata.prefetch"] != nil }.map { entry in
            ["strata.relationship", "strata.count", "strata.prefetch"].map { entry.metadata[$0]?.description ?? "" }
        }
    }

    @Test("A to-one relationship that is read of more objects than the limit is one warning with the query to write")
    func toOne() async throws {
        let stack = try await open(limit: 10)
        let names = try await stack.background { context in try context.fetch(Leg.all).map { $0.account?.name ?? "" } }
        #expect(names.count == 12)
        #expect(warnings == [["Leg.account", "12", "Leg.including { $0.account }"]])
        let entry = try #require(handler.entries.last { $0.metadata["strata.prefetch"] != nil })
        #expect(entry.level == .warning)
        #expect(entry.message.description.contains("Prefetch it: Leg.including { $0.account }"))
        #expect(entry.metadata["strata.context"] != nil)
        try await stack.close()
    }

    @Test("Each call that prefetched members would answer counts for a to-many relationship", arguments: 0..<5)
    func toMany(_ call: Int) async throws {
        let stack = try await open(limit: 11)
        try await stack.on(.root) { context in
            for account in try context.fetch(Account.all) {
                switch call {
                case 0: #expect(try account.legs.fetch().count == 1)
                case 1: #expect(try account.legs.count == 1)
                case 2: #expect(try !account.legs.isEmpty)
                case 3: #expect(try account.legs.first != nil)
                default: #expect(try account.legs.last != nil)
                }
            }
            #expect(warnings.isEmpty, "the block has not ended")
        }
        #expect(warnings == [["Account.legs", "12", "Account.including { $0.legs }"]])
        try await stack.close()
    }

    @Test("Prefetched relationships, repeated reads of one object and as many objects as the limit are no warning")
    func noLoop() async throws {
        let stack = try await open(limit: 12)
        try await stack.background { context in
            let accounts = try context.fetch(Account.all)
            for account in accounts { _ = try account.legs.fetch() }
            for _ in 0..<30 { _ = try accounts[11].legs.count }
        }
        #expect(warnings == [])
        try await stack.close()
        let strict = try await open(limit: 0)
        try await strict.background { context in
            for leg in try context.fetch(Leg.including { $0.account }) { #expect(leg.account != nil) }
            for account in try context.fetch(Account.including { $0.legs }) { #expect(try account.legs.count == 1) }
            // The destinations are in memory.
            let accounts = try context.fetch(Account.all)
            for leg in try context.fetch(Leg.all) { #expect(leg.account != nil) }
            #expect(accounts.count == 12)
        }
        #expect(warnings == [])
        try await strict.close()
    }

    @Test("Each block counts alone, and each relationship is one warning")
    func blocks() async throws {
        let stack = try await open(limit: 6)
        for half in [0..<6, 6..<12] {
            try await stack.on(.root) { context in
                for account in try context.fetch(Account.where { $0.balance.in(half) }) { _ = try account.legs.count }
            }
        }
        #expect(warnings == [])
        for _ in 0..<2 {
            try await stack.background { context in
                let accounts = try context.fetch(Account.all)
                for account in accounts { _ = try account.legs.count }
                for account in accounts { _ = try account.legs.first }
            }
        }
        #expect(warnings.map { $0[0] } == ["Account.legs", "Account.legs"])
        #expect(warnings.map { $0[1] } == ["24", "24"])
        try await stack.close()
    }

    @Test("Without a limit, contexts do not count")
    func off() async throws {
        let stack = try await open(limit: nil)
        try await stack.background { context in
            #expect(context.reading.loops == nil)
            for account in try context.fetch(Account.all) { _ = try account.legs.count }
        }
        #expect(warnings == [])
        try await stack.close()
    }

    @Test("A turn of the main actor counts as a block")
    @MainActor func turn() async throws {
        var logger = Logger(label: "test") { [handler] _ in handler }
        logger.logLevel = .warning
        let stack = try await ContextStack.open(
            .inMemory,
            models: Bank.models,
            logger: logger,
            diagnostics: Diagnostics(relationshipLoopLimit: 2)
        )
        for number in 0..<4 { try stack.main.insert(Account(name: "\(number)", balance: 0)) }
        for account in try stack.main.fetch(Account.all) { #expect(try account.legs.isEmpty) }
        // Closing ends the turn's work.
        try await stack.close()
        #expect(warnings == [["Account.legs", "4", "Account.including { $0.legs }"]])
    }
}
