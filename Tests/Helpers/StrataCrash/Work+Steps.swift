import CKillSwitch
import Foundation
import StoreModels
import Strata
import StrataPipeline

/// What goes wrong with the operations of ``Work/steps(_:killBefore:)`` on purpose.
private struct Mishap: Error {}

extension Work {
    /// Queues six operations in three commits and runs them to their ends, by as many ways as there are: with changes of the
    /// handler's, after another one, at the second attempt, skipped, failed and retried by hand, and behind one of these.
    ///
    /// What is in the store already is not queued again, so that a process which is killed on the way can be followed by another one.
    ///
    /// - Parameter call: the process ends right before this one of the system calls by which SQLite changes files; never for 0.
    static func steps(_ path: String, killBefore call: Int) async throws {
        let url = URL(fileURLWithPath: path)
        let stack = try await ContextStack.open(.sqlite(url), models: [Mark.self] + Pipeline.models, stack: .rootOnly)
        guard kill_before_call(call) != 0 else { throw StrataError(.misuse, "SQLite's calls cannot be counted here.") }
        for commit in 1...3 {
            try await stack.background { try queue(commit, in: $0) }
            acknowledge("queued \(commit)")
        }
        let pipeline = try await Pipeline.open(
            stack,
            named: "steps",
            ordering: .fifo,
            retry: RetryPolicy(base: .milliseconds(1), cap: .milliseconds(5)),
            crashLimit: 1000
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
            for await case .finished(let id, let result) in events { acknowledge("finished \(id.number) \(result)") }
        }
        try await waitForEnds(stack)
        await pipeline.close()
        await teller.value
        try await stack.close()
        acknowledge("done \(kill_switch_calls())")
    }

    /// The mark that says that the fifth operation was retried by hand.
    private static let retried: Int64 = -50

    private static func queue(_ commit: Int, in context: ObjectContext) throws {
        // One mark for each commit, which is there if the operations are.
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

    /// Retries what has failed, until nothing is left.
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
