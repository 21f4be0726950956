import CKillSwitch
import Foundation
import StoreModels
import Strata
import StrataPipeline

/// The deliberate failure of an operation in ``CrashCommands/steps(_:killBefore:)``.
private struct Mishap: Error {}

extension CrashCommands {
    /// Queues six operations in three commits and runs them to their ends in all possible ways: with changes by the
    /// handler, after another operation, at the second attempt, skipped, failed and retried manually, and after one
    /// that was retried.
    ///
    /// Operations that are already in the store are not queued again, so another process can continue the work of a
    /// killed one.
    ///
    /// - Parameter call: the process is killed right before this call, counted among the system calls by which SQLite
    ///   changes files. With 0 it is never killed.
    static func steps(_ path: String, killBefore call: Int) async throws {
        let url = URL(fileURLWithPath: path)
        let stack = try await ContextStack.open(.sqlite(url), models: [Mark.self] + Pipeline.models, stack: .rootOnly)
        guard kill_before_call(call) != 0 else {
            throw StrataError(.invalidState, "SQLite's calls cannot be counted here.")
        }
        for commit in 1...3 {
            try await stack.background { try queue(commit, in: $0) }
            acknowledge("queued \(commit)")
        }
        let pipeline = try await Pipeline.open(
            stack,
            named: "steps",
            options: PipelineOptions(
                ordering: .fifo,
                retry: RetryPolicy(base: .milliseconds(1), cap: .milliseconds(5)),
                maxCrashes: 1000
            )
        ) { (attempt: Attempt<Chore>) in
            let (number, attempts) = (attempt.payload.number, attempt.number)
            switch number {
            case 2: return .done
            case 3 where attempts == 1: throw Mishap()
            case 4: return .skip
            case 5:
                let isRetried = try await stack.background { try $0.count(Mark.where { $0.operation == retried }) > 0 }
                if !isRetried { return .fail("until somebody retries it") }
            default: break
            }
            return .done { $0.insert(Mark(operation: Int64(number), process: 1)) }
        }
        let events = pipeline.events
        let teller = Task {
            for await case .finished(let id, let result) in events { acknowledge("finished \(id.rawValue) \(result)") }
        }
        try await waitForEnds(stack)
        await pipeline.close()
        await teller.value
        try await stack.close()
        acknowledge("done \(kill_switch_calls())")
    }

    /// The mark of a manual retry of the fifth operation.
    private static let retried: Int64 = -50

    private static func queue(_ commit: Int, in context: SavingContext) throws {
        // Each commit inserts one mark, which exists if the commit's operations do.
        let mark = Int64(-commit)
        guard try context.count(Mark.where { $0.operation == mark }) == 0 else { return }
        context.insert(Mark(operation: mark, process: 0))
        switch commit {
        case 1:
            let first = context.enqueue(Chore(number: 1), in: "steps", lane: "a")
            let second = context.enqueue(Chore(number: 2), in: "steps", lane: "b")
            try second.addDependencies([first])
        case 2:
            context.enqueue(Chore(number: 3), in: "steps", lane: "a")
            context.enqueue(Chore(number: 4), in: "steps", lane: "b", key: "four")
        default:
            context.enqueue(Chore(number: 5), in: "steps", lane: "c")
            context.enqueue(Chore(number: 6), in: "steps", lane: "c")
        }
        try context.commit()
    }

    /// Retries failed operations until none is left.
    private static func waitForEnds(_ stack: ContextStack) async throws {
        for _ in 0..<2000 {
            let isDone = try await stack.background { context in
                if try context.retryFailed() > 0 {
                    context.insert(Mark(operation: retried, process: 0))
                    try context.commit()
                }
                return try context.count(QueuedOperation.all) == 0
            }
            if isDone { return }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw Mishap()
    }
}
