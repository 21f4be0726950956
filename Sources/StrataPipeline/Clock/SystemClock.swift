import Dispatch
public import Foundation

/// The clock of the machine.
public struct SystemClock: PipelineClock {
    /// Creates the clock.
    public init() {}

    /// The time of day of the machine.
    public var now: Date { Date() }

    /// Calls `body` on a global dispatch queue.
    ///
    /// If the time of day is set meanwhile, the call still comes after the remaining time at the moment of this call.
    /// So code that waits for long checks ``now`` from time to time.
    public func alarm(at date: Date, _ body: @escaping @Sendable () -> Void) -> any PipelineAlarm {
        let work = DispatchWorkItem(block: body)
        // The limit is a century, because `asyncAfter` does not support every date.
        let seconds = min(max(date.timeIntervalSinceNow, 0), 3.2e9)
        DispatchQueue.global().asyncAfter(deadline: .now() + seconds, execute: work)
        return SystemAlarm(work)
    }
}

private struct SystemAlarm: PipelineAlarm, @unchecked Sendable {
    // `Sendable` is unchecked because the work item is only cancelled, and `cancel()` may be called from any thread.
    private let work: DispatchWorkItem

    init(_ work: DispatchWorkItem) { self.work = work }

    func cancel() { work.cancel() }
}
