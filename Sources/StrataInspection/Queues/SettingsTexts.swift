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

extension ScheduleSnapshot {
    /// The schedule, with the time span of an interval in its largest unit.
    package var scheduleText: String {
        let (text, beginning) = (schedule.rawValue, "every ")
        guard text.hasBytePrefix(beginning), let seconds = Double(text.droppingFirstBytes(beginning.utf8.count)) else {
            return text
        }
        return beginning + TimeSpan.text(seconds)
    }

    /// Who has paused the schedule, and when; nil if it is not paused.
    package var pauseText: String? {
        guard isPaused else { return nil }
        return pauseChange?.text ?? "yes"
    }
}
