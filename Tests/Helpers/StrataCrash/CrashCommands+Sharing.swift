import CKillSwitch
import Foundation
import GRDB
import StoreModels
import Strata

extension CrashCommands {
    /// Commits in all contexts of ``SharedWork`` at the same time, until the process is killed. Acknowledges each
    /// commit with its worker and its number, and the number of transactions that this process has written so far.
    static func share(_ path: String) async throws {
        let stack = try await ContextStack.open(.sqlite(path: path), models: SharedWork.models, stack: .rootOnly)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<SharedWork.workerCount {
                let handle = try stack.create(.private)
                group.addTask {
                    try await handle.perform { context in
                        while true {
                            let number = try SharedWork.prepare(worker, in: context)
                            try context.commit()
                            acknowledge("\(worker) \(number) \(stack.transactionCount)")
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Commits several times in all contexts of ``SharedWork``. Each time, all commits wait for the writer before the
    /// first one is written. Acknowledges each commit with its worker and its number, and at the end the number of
    /// SQLite's calls and of transactions.
    ///
    /// - Parameter call: the process is killed right before this call, counted among the system calls by which SQLite
    ///   changes files. With 0 it is never killed.
    static func groups(_ path: String, killBefore call: Int) async throws {
        let stack = try await ContextStack.open(
            .sqlite(path: path),
            models: SharedWork.models,
            stack: .rootOnly,
            configuration: StoreConfiguration(busyTimeout: 60)
        )
        try await stack.on(.root) { try SharedWork.found(in: $0) }
        let handles = try (0..<SharedWork.workerCount).map { _ in try stack.create(.private) }
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        configuration.allowsUnsafeTransactions = true
        let lock = try DatabaseQueue(path: path, configuration: configuration)
        let before = stack.transactionCount
        guard kill_before_call(call) != 0 else {
            throw StrataError(.invalidState, "SQLite's calls cannot be counted here.")
        }
        for _ in 0..<SharedWork.groupCount {
            try lock.inDatabase { try $0.execute(sql: "BEGIN IMMEDIATE") }
            let begun = stack.transactionCount
            var commits: [Task<Void, any Error>] = []
            for (worker, handle) in handles.enumerated() {
                commits.append(
                    Task {
                        let number = try await handle.perform { context in
                            let number = try SharedWork.prepare(worker, in: context)
                            try context.commit()
                            return number
                        }
                        acknowledge("\(worker) \(number)")
                    }
                )
            }
            try await waitForWrites(handles.count, after: begun, stack)
            try lock.inDatabase { try $0.execute(sql: "ROLLBACK") }
            for commit in commits { try await commit.value }
        }
        acknowledge("done \(kill_switch_calls()) \(stack.transactionCount - before)")
        try lock.close()
        try await stack.close()
    }

    /// Waits until one write has begun a transaction and waits for the lock, and the others wait for their turn.
    ///
    /// - Parameter begun: the number of transactions that had begun before.
    private static func waitForWrites(_ count: Int, after begun: Int, _ stack: ContextStack) async throws {
        for _ in 0..<30_000 {
            if stack.transactionCount == begun + 1, stack.waitingWriteCount == count - 1 { return }
            try await Task.sleep(for: .milliseconds(1))
        }
        throw StrataError(.busy, "\(stack.waitingWriteCount) of \(count) writes wait.")
    }
}
