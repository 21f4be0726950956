import Foundation
import GRDB
import StoreModels
import Strata

enum CrashCommands {
    /// Transfers money until it is killed. Acknowledges each commit with its position and the new ids.
    static func transfer(_ path: String) async throws {
        let stack = try await ContextStack.open(.sqlite(path: path), models: Bank.models, stack: .rootOnly)
        try await stack.on(.root) { context in
            try Bank.found(in: context)
            while true {
                let (position, ids) = try Bank.transfer(Int.random(in: 1...9), in: context)
                acknowledge(([position] + ids.map(Int.init)).map(String.init).joined(separator: " "))
            }
        }
    }

    /// Adds an amount to the first account and to a separate one, `times` times. Repeats a transaction if another
    /// process was faster.
    static func add(_ path: String, amount: Int, times: Int) async throws {
        let stack = try await ContextStack.open(.sqlite(path: path), models: Bank.models, stack: .rootOnly)
        let own = "own \(getpid())"
        try await stack.on(.root) { context in
            context.insert(Account(name: own, balance: 0))
            try context.commit()
        }
        var conflicts = 0
        for _ in 0..<times {
            conflicts += try await Bank.add(amount, to: ["account 0", own], stack)
        }
        try await stack.close()
        acknowledge("done \(own) \(conflicts)")
    }

    /// Opens the bank with patience for other processes that write to it all the time, and reports that it is open.
    static func openAmongOthers(_ path: String) async throws -> ContextStack {
        let stack = try await ContextStack.open(
            .sqlite(path: path),
            models: Bank.models,
            stack: .rootOnly,
            configuration: StoreConfiguration(busyTimeout: 60)
        )
        acknowledge("ready")
        return stack
    }

    /// Adds 1 to the first account in `writers` tasks at once, with `times` blocks each. Reports that the store is
    /// open, and finally the balances that the blocks have set.
    static func count(_ path: String, writers: Int, times: Int) async throws {
        let stack = try await openAmongOthers(path)
        let balances = try await Bank.count(writers: writers, times: times, stack)
        try await stack.close()
        acknowledge(balances.map(String.init).joined(separator: " "))
    }

    /// Reserves `count` ids.
    static func ids(_ path: String, count: Int) async throws {
        let stack = try await ContextStack.open(.sqlite(path: path), models: Bank.models, stack: .rootOnly)
        let numbers = try (0..<count).map { _ in try stack.newID(for: Account.self).rawValue }
        acknowledge(numbers.map(String.init).joined(separator: " "))
        try await stack.close()
    }

    /// Runs `count` blocks at once that read and wait a little, in a process that may open 256 files.
    static func blocks(_ path: String, count: Int) async throws {
        var limit = rlimit(rlim_cur: 256, rlim_max: 256)
        guard setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { throw POSIXError(.EPERM) }
        let stack = try await ContextStack.open(.sqlite(path: path), models: Bank.models, stack: .rootOnly)
        let ended = try await withThrowingTaskGroup(of: Int.self) { group in
            for index in 0..<count {
                group.addTask {
                    try await stack.background { context in
                        let count = try context.count(Account.all)
                        // Some blocks wait while they hold their snapshot, and some wait for a nested block.
                        if index % 50 == 0 { try await Task.sleep(for: .milliseconds(20)) }
                        if index % 20 == 0 { _ = try await stack.background { try $0.count(Account.all) } }
                        return count > 0 ? 1 : 0
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        try await stack.close()
        acknowledge("done \(ended)")
    }

    /// Holds the write lock until it is killed.
    static func lock(_ path: String) async throws {
        var configuration = Configuration()
        // A stack that has just been opened may be reserving ids.
        configuration.busyMode = .timeout(5)
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        try queue.inDatabase { db in
            try db.execute(sql: "BEGIN EXCLUSIVE")
            acknowledge("locked")
            while true { sleep(1) }
        }
    }

    /// Migrates a store to the bank's next version. Reports the progress, and finally the number of customers.
    static func migrate(_ path: String) async throws {
        let migration = NewBank.migration.onProgress { progress in
            acknowledge("\(progress.fraction) \(progress.activity)")
        }
        let stack = try await ContextStack.open(
            .sqlite(path: path),
            models: NewBank.models,
            stack: .rootOnly,
            migration: migration
        )
        let count = try await stack.background { try $0.count(NewBank.Customer.all) }
        try await stack.close()
        acknowledge("done \(count)")
    }

    /// Opens a store in memory, and stays until it is killed.
    static func memory() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Bank.models, stack: .rootOnly)
        try await stack.on(.root) { try Bank.found(in: $0) }
        acknowledge("open \(getpid())")
        while true { try await Task.sleep(for: .seconds(1)) }
    }

    /// Opens a store, commits an account, and closes the store.
    static func open(_ path: String) async throws {
        let stack = try await ContextStack.open(.sqlite(path: path), models: Bank.models, stack: .rootOnly)
        try await stack.on(.root) { context in
            context.insert(Account(name: "\(getpid())", balance: 0))
            try context.commit()
        }
        try await stack.close()
        acknowledge("done")
    }
}
