import Foundation
import Strata
import StrataPipeline
import StoreModels
import Synchronization

struct Chore: OperationPayload {
    var number: Int
}

extension CrashCommands {
    /// Runs the queued operations of a pipeline until none is left. The commit that ends an operation also inserts a
    /// mark for it, and counts it in a common row. The operation's result is the number of its id.
    ///
    /// Handlers write into a process log when they begin and when they end, as ``ProcessLogEntry``.
    static func drain(_ path: String) async throws {
        let url = URL(fileURLWithPath: path)
        let models: [any Model.Type] = [Mark.self, Counter.self]
        let processLog = try ProcessLog(path + ".diary")
        let stack = try await ContextStack.open(.sqlite(url), models: models + Pipeline.models, stack: .rootOnly)
        let pipeline = try await Pipeline.open(
            stack,
            named: "chores",
            options: PipelineOptions(ordering: .fifo, maxConcurrent: 4, maxCrashes: 1000)
        ) { (attempt: Attempt<Chore>) in
            let (number, process) = (attempt.id.rawValue, ProcessInfo.processInfo.processIdentifier)
            var entry = ProcessLogEntry(process: process, lane: attempt.lane, number: attempt.payload.number)
            processLog.write(entry)
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...10)))
            entry.isEnd = true
            processLog.write(entry)
            return .doneWithResult { context in
                context.insert(Mark(operation: number, process: Int(process)))
                try context.first(Counter.all)!.last += 1
                return number
            }
        }
        // The loop is bounded, although the test that has started this process kills it long before.
        for _ in 0..<6000 {
            try await Task.sleep(for: .milliseconds(20))
            if try await stack.background({ try $0.count(QueuedOperation.all) }) == 0 { break }
        }
        await pipeline.close()
        try await stack.close()
    }

    /// Runs the queued operations until none is left. The operation with number 3 kills the process.
    ///
    /// - Parameter count: the number of handlers that must run before the kill. They all wait for it. 0 permits any
    ///   number.
    static func poison(_ path: String, besides count: Int) async throws {
        let url = URL(fileURLWithPath: path)
        let stack = try await ContextStack.open(.sqlite(url), models: Pipeline.models, stack: .rootOnly)
        let begun = Atomic(0)
        let pipeline = try await Pipeline.open(stack, named: "chores") { (attempt: Attempt<Chore>) in
            acknowledge("started \(attempt.payload.number)")
            begun.add(1, ordering: .relaxed)
            while begun.load(ordering: .relaxed) < count { try await Task.sleep(for: .milliseconds(1)) }
            if attempt.payload.number == 3 { kill(getpid(), SIGKILL) }
            if count > 0 { try await Task.sleep(for: .seconds(60)) }
            return .done
        }
        try await pipeline.waitUntilIdle()
        try await stack.close()
        acknowledge("drained")
    }

    /// Runs one operation. Reports when its handler has begun, and when it is about to return.
    static func handle(_ path: String) async throws {
        let url = URL(fileURLWithPath: path)
        let stack = try await ContextStack.open(.sqlite(url), models: [Mark.self] + Pipeline.models, stack: .rootOnly)
        _ = try await Pipeline.open(
            stack,
            named: "chores",
            options: PipelineOptions(maxCrashes: 1000)
        ) { (attempt: Attempt<Chore>) in
            acknowledge("started \(attempt.id.rawValue)")
            try await Task.sleep(for: .milliseconds(500))
            acknowledge("handled")
            return .done
        }
        try await Task.sleep(for: .seconds(30))
    }
}
