import Foundation
import Strata
import StrataPipeline

extension CrashCommands {
    /// Changes all settings of a pipeline at once until it is killed, as an operator with a number. Acknowledges each
    /// change with the number, which is also the limit of handlers. The pipeline is paused for odd numbers.
    static func settings(_ path: String) async throws {
        let stack = try await ContextStack.open(.sqlite(path: path), models: Pipeline.models, stack: .rootOnly)
        var number = try await stack.pipelineSettings(of: "chores").maxConcurrent.value ?? 0
        while true {
            number += 1
            let next = number
            try await stack.updatePipelineSettings(of: "chores", by: "operator \(next)") {
                $0.isPaused = next % 2 == 1
                $0.maxConcurrent = next
                $0.rateLimit = RateLimit(1000 + next, per: .seconds(1))
            }
            acknowledge("\(next)")
        }
    }
}
