import Foundation
import StrataPipeline

/// The clock of a machine whose time of day is wrong.
struct ShiftedClock: PipelineClock {
    /// The seconds by which the clock is ahead.
    let offset: TimeInterval

    var now: Date { Date().addingTimeInterval(offset) }

    func alarm(at date: Date, _ body: @escaping @Sendable () -> Void) -> any PipelineAlarm {
        SystemClock().alarm(at: date.addingTimeInterval(-offset), body)
    }
}
