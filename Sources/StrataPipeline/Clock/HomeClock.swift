import Foundation
import Strata

/// The clock of a store's home, as far as the node knows it: the clock of the node, corrected by the difference that the
/// reports of the node have measured.
///
/// All nodes read the same holds, schedules and rate limits, so they need one time.
struct HomeClock: PipelineClock {
    /// The clock of the node.
    let base: any PipelineClock
    let stack: ContextStack

    var now: Date { base.now.addingTimeInterval(-stack.clockDifference) }

    /// If the difference changes meanwhile, the alarm keeps its time. The engine looks at each heartbeat anyway.
    func alarm(at date: Date, _ body: @escaping @Sendable () -> Void) -> any PipelineAlarm {
        base.alarm(at: date.addingTimeInterval(stack.clockDifference), body)
    }
}
