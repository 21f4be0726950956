import Dispatch
public import Foundation

/// The clock of the machine.
public struct SystemClock: PipelineClock {
    /// The clock.
    public init() {}

    /// The time of day of the machine.
    public var now: Date { Date() }

    /// Calls `body` on a queue of the system's.
    ///
    /// Where the time of day is set meanwhile, the call comes when as much time has passed as there was to go. So whoever waits for long
    /// looks at ``now`` from time to time.
    public func alarm(at date: Date, _ body: @escaping @Sendable () -> Void) -> any PipelineAlarm {
        let work = DispatchWorkItem(block: body)
        // A century, since not every date is one that can be waited for.
        let seconds = min(max(date.timeIntervalSinceNow, 0), 3.2e9)
        DispatchQueue.global().asyncAfter(deadline: .now() + seconds, execute: work)
        return SystemAlarm(work)
    }
}

private struct SystemAlarm: PipelineAlarm, @unchecked Sendable {
    // Its only use here is to be cancelled, which may be done from anywhere.
    private let work: DispatchWorkItem

    init(_ work: DispatchWorkItem) { self.work = work }

    func cancel() { work.cancel() }
}
