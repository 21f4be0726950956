import CKillSwitch
import Foundation
import StoreModels
import Strata

extension CrashCommands {
    /// Commits in all contexts of ``SharedWork`` at the same time, until the process is killed. Acknowledges each
    /// commit with its worker and its number, and the number of transactions that this process has written so far.
    static func share(_ path: String) async throws {
        let stack = try await openSharedWork(path)
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

    /// Commits the groups of ``SharedWork`` and closes the store. All commits of a group wait for the writer before the
    /// first one begins a transaction. Acknowledges each commit with its name, or with "refused" and its name. At the
    /// end, acknowledges the number of steps of each kind: see `CKillSwitch`.
    ///
    /// - Parameter step: the process is killed at this step, counted among those of its kind. With nil it is never
    ///   killed.
    static func groups(_ path: String, seed: Int, killAt step: (kind: String, number: Int)?) async throws {
        try followTransactions()
        let stack = try await openSharedWork(path)
        let handles = try (0..<SharedWork.participantCount).map { _ in try stack.create(.private) }
        // Waits for the transaction that reserves the stack's ids. A background thread runs it.
        _ = try stack.newID(for: Receipt.self)
        try countSteps(killAt: step)
        for turns in SharedWork.groups(seed: UInt64(bitPattern: Int64(seed))) {
            try await commit(turns, in: handles, of: stack)
        }
        try await stack.close()
        acknowledgeSteps()
    }

    /// Creates a store like ``open(_:)``, and acknowledges the steps like ``groups(_:seed:killAt:)``.
    static func create(_ path: String, killAt step: (kind: String, number: Int)?) async throws {
        try followTransactions()
        try countSteps(killAt: step)
        try await open(path)
        acknowledgeSteps()
    }

    private static func followTransactions() throws {
        guard follow_transactions() != 0 else {
            throw StrataError(.invalidState, "The steps of transactions cannot be counted here.")
        }
    }

    private static func countSteps(killAt step: (kind: String, number: Int)?) throws {
        guard kill_before_step_of_transaction(step?.kind ?? "", step?.number ?? 0) != 0 else {
            throw StrataError(.invalidState, "'\(step?.kind ?? "")' is not a kind of step.")
        }
    }

    private static func acknowledgeSteps() {
        let steps = (0..<step_kind_count()).map { "\(String(cString: step_kind($0)))=\(step_count($0))" }
        acknowledge("done " + steps.joined(separator: ","))
    }

    /// Opens a store of ``SharedWork``. Each transaction is flushed before its commits are acknowledged.
    private static func openSharedWork(_ path: String) async throws -> ContextStack {
        try await ContextStack.open(
            .sqlite(path: path),
            models: SharedWork.models,
            stack: .rootOnly,
            configuration: StoreConfiguration(synchronous: .full)
        )
    }

    /// Commits a group, in the order of its turns.
    private static func commit(
        _ turns: [SharedWork.Turn],
        in handles: [ContextHandle],
        of stack: ContextStack
    ) async throws {
        var names: [String] = []
        for turn in turns {
            names.append(try await handles[turn.participant].perform { try SharedWork.prepare(turn, in: $0) })
        }
        let begun = stack.transactionCount
        hold_transactions(1)
        var commits: [Task<Void, any Error>] = []
        for (turn, name) in zip(turns, names) {
            let handle = handles[turn.participant]
            commits.append(Task { try await run(turn, named: name, in: handle) })
            try await waitForWrites(commits.count, after: begun, stack)
        }
        hold_transactions(0)
        for commit in commits { try await commit.value }
    }

    /// Commits a turn whose changes are made, and acknowledges the commit.
    private static func run(_ turn: SharedWork.Turn, named name: String, in handle: ContextHandle) async throws {
        try await handle.perform { context in
            var code: StrataError.Code?
            do { try context.commit() } catch let error as StrataError { code = error.code }
            guard code == turn.expectedError else {
                let outcome = code?.description ?? "success"
                throw StrataError(.invalidState, "The commit '\(name)' has ended with \(outcome).")
            }
            count_acknowledgement()
            acknowledge(code == nil ? name : "refused \(name)")
        }
    }

    /// Waits until one write has begun a transaction, and the others wait for their turn.
    ///
    /// - Parameter begun: the number of transactions that had begun before.
    private static func waitForWrites(_ count: Int, after begun: Int, _ stack: ContextStack) async throws {
        for _ in 0..<150_000 {
            if stack.transactionCount == begun + 1, stack.waitingWriteCount == count - 1 { return }
            try await Task.sleep(for: .microseconds(200))
        }
        throw StrataError(.busy, "\(stack.waitingWriteCount) of \(count) writes wait.")
    }
}
