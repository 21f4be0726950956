import Foundation
import StoreModels
import Strata

extension CrashCommands {
    /// The commits of a context or of a process.
    private struct Commits: Sendable {
        var count = 0
        var longestWait = Duration.zero
    }

    /// Commits single rows in several contexts at the same time and without a pause, until the file `PATH.stop` exists.
    /// Reports that the store is open, and finally the number of commits and the longest wait for a commit in
    /// milliseconds.
    static func compete(_ path: String, contexts: Int) async throws {
        let stack = try await openAmongOthers(path)
        let sum = try await withThrowingTaskGroup(of: Commits.self) { group in
            for _ in 0..<max(1, contexts) {
                let handle = try stack.create(.private)
                group.addTask { try await handle.perform { try Self.commitRows(in: $0, until: path + ".stop") } }
            }
            return try await group.reduce(into: Commits()) { sum, commits in
                sum.count += commits.count
                sum.longestWait = max(sum.longestWait, commits.longestWait)
            }
        }
        try await stack.close()
        acknowledge("done \(sum.count) \(Int(sum.longestWait / .milliseconds(1)))")
    }

    /// Inserts an account, and then changes and commits it until a file exists.
    private static func commitRows(in context: SavingContext, until file: String) throws -> Commits {
        let account = context.insert(Account(name: "own \(UUID())", balance: 0))
        var commits = Commits()
        while access(file, F_OK) != 0 {
            account.balance += 1
            let start = ContinuousClock.now
            try context.commit()
            commits.count += 1
            commits.longestWait = max(commits.longestWait, start.duration(to: .now))
        }
        return commits
    }
}
