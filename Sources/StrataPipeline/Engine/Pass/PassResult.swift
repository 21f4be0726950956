import Foundation
import Strata

/// The result of one pass.
struct PassResult: Sendable {
    /// An event of an operation, for the listeners of its consumer.
    typealias Event = (hub: EventHub, operation: Int64, report: OperationRepository.Report)

    /// What the pass has found while it looked for a consumer's operations.
    struct Findings: Sendable {
        /// Whether nothing more is ready.
        var isDry = false
        /// As `isDry`, for operations that are exempt from the gate.
        var isExemptDry = false
        /// Until when the rate limit allows no further start.
        var limitedUntil: Date?
        /// A broker's position in the round through its queues.
        var cursor: RoundRobinCursor?
    }

    /// What this pass leaves for the next one.
    var memory: PassMemory
    var claims: [EngineExecutor.Attempt] = []
    var findings: [Consumer.ID: Findings] = [:]
    /// Whether an operation was released after other consumers had already looked.
    var hasUnseenWork = false
    /// The options that operators have overridden, by pipeline or queue.
    var overridden: [PipelineName: OverriddenOptions] = [:]
    /// The queues that several consumers take, with these consumers.
    var disputed: [PipelineName: [Consumer]] = [:]
    /// The types of payloads of operations that consumers have left to other processes.
    var unhandledTypes: [Consumer.ID: Set<UTF8Text>] = [:]
    /// The queues of brokers whose limits, which an operator had stored, were deleted.
    var deletedLimits: [PipelineName] = []
    var events: [Event] = []
    /// Events about requests of other commits.
    var decided: [Event] = []
    /// Running operations whose attempts must be cancelled.
    var unwanted: Set<Int64> = []
    /// The stray cycles that were broken.
    var cycles: [[Int64]] = []

    /// The options of a consumer that operators have overridden. The limits of a broker cannot be overridden.
    func overriddenOptions(for consumer: Consumer.Definition) -> OverriddenOptions {
        guard !overridden.isEmpty, case .pipeline(let name) = consumer.scope else { return OverriddenOptions() }
        return overridden[name] ?? OverriddenOptions()
    }
}
