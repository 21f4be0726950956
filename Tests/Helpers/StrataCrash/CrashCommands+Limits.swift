import Foundation
import StoreModels
import Strata
import StrataPipeline

extension CrashCommands {
    /// Runs the queued operations of a pipeline with limits that all processes share, until the process is killed or no
    /// operation is left. Handlers write into a process log when they begin and when they end, as ``ProcessLogEntry``.
    ///
    /// - Parameters:
    ///   - limit: the number of operations that all processes together run at once.
    ///   - rate: the number of attempts of each lane in a day; 0 for any number.
    static func limited(_ path: String, limit: Int, rate: Int) async throws {
        let processLog = try ProcessLog(path + ".diary")
        let stack = try await ContextStack.open(
            .sqlite(URL(fileURLWithPath: path)),
            models: Pipeline.models,
            stack: .rootOnly
        )
        let pipeline = try await Pipeline.open(
            stack,
            named: "chores",
            options: PipelineOptions(
                // Less than the limit of all processes, so that no process can hold all places.
                maxConcurrent: 2,
                maxConcurrentGlobally: limit,
                rateLimitPerLane: rate > 0 ? RateLimit(rate, per: .seconds(86_400)) : nil,
                maxCrashes: 1000
            )
        ) { (attempt: Attempt<Chore>) in
            var entry = ProcessLogEntry(
                process: ProcessInfo.processInfo.processIdentifier,
                lane: attempt.lane,
                number: attempt.payload.number
            )
            processLog.write(entry)
            // In a store with a home, a pass takes longer. The handlers of all places must be able to meet nevertheless.
            let hasHome = ProcessInfo.processInfo.environment["STRATA_TEST_HOME"] != nil
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...(hasHome ? 80 : 10))))
            entry.isEnd = true
            processLog.write(entry)
            return .done
        }
        // The loop is bounded, although the test that has started this process kills it long before.
        for _ in 0..<6000 {
            try await Task.sleep(for: .milliseconds(20))
            if try await stack.background({ try $0.count(QueuedOperation.all) }) == 0 { break }
        }
        await pipeline.close()
        try await stack.close()
    }
}
