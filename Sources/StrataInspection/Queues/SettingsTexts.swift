import Foundation
import Strata
import StrataPipeline

extension PipelineSettings.Change {
    /// The operator and the time, for people.
    package var text: String { "by \(by) at \(Timestamp.text(at) ?? "-")" }
}

extension PipelineSettings {
    /// Who has paused the queue, and when; nil if it is not paused.
    package var pauseText: String? {
        guard isPaused.value else { return nil }
        return isPaused.change?.text ?? "yes"
    }
}

extension Schedule {
    /// A stored schedule for people, with the time span of an interval in its largest unit.
    package static func text(_ stored: String) -> String {
        let beginning = "every "
        guard stored.hasBytePrefix(beginning), let seconds = Double(stored.droppingFirstBytes(beginning.utf8.count))
        else { return stored }
        return beginning + TimeSpan.text(seconds)
    }
}

extension CatchUp {
    /// The policy for people and scripts, such as `one` and `all 5`.
    package var text: String {
        switch self {
        case .none: "none"
        case .one: "one"
        case .all(let limit): "all \(limit)"
        }
    }
}

extension ScheduleSnapshot {
    /// The schedule, with the time span of an interval in its largest unit.
    package var scheduleText: String { Schedule.text(schedule.rawValue) }

    /// Who has paused the schedule, and when; nil if it is not paused.
    package var pauseText: String? {
        guard isPaused else { return nil }
        return pauseChange?.text ?? "yes"
    }
}
