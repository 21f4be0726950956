public import Foundation
public import Strata

/// A schedule at one moment, with its next and its last runs.
public struct ScheduleSnapshot: Sendable, Hashable {
    /// The name of the schedule.
    public let name: String
    /// The pipeline of its operations.
    public let pipeline: PipelineName
    /// The times at which the operation is due.
    public let schedule: Schedule
    /// What happens when the operation is due and the previous one is still queued.
    public let overlap: OverlapPolicy
    /// What happens with missed due times.
    public let catchUp: CatchUp
    /// When the operation is due next; nil while the schedule is paused, and before an engine has computed it.
    public let nextAt: Date?
    /// When the operation was last due, also if none was queued for this time; nil before the first time.
    public let lastAt: Date?
    /// Whether the schedule is paused.
    public let isPaused: Bool
    /// The operator who last paused or resumed the schedule by ``Strata/ObjectContext/pauseSchedule(_:by:at:)`` or
    /// ``Strata/ObjectContext/resumeSchedule(_:by:at:)``; nil if there was none.
    public let pauseChange: PipelineSettings.Change?
    /// The last runs, newest first.
    public let runs: [ScheduledRun]
}

extension ObjectContext {
    /// All schedules as this context sees them, sorted by name.
    ///
    /// - Parameter limit: the greatest number of runs of each schedule.
    /// - Throws: the store's errors.
    /// - Complexity: O(schedules · runs).
    public func scheduleSnapshots(runs limit: Int = 10) throws -> [ScheduleSnapshot] {
        try fetch(PeriodicOperation.all.sorted { $0.name }).map { known in
            var change: PipelineSettings.Change?
            if let name = known.pauseChangedBy, let date = known.pauseChangedAt {
                change = PipelineSettings.Change(by: name, at: date)
            }
            return ScheduleSnapshot(
                name: known.name,
                pipeline: known.pipeline,
                schedule: known.schedule,
                overlap: known.overlap,
                catchUp: known.catchUp,
                nextAt: known.nextAt,
                lastAt: known.lastAt,
                isPaused: known.isPaused,
                pauseChange: change,
                runs: try scheduledRuns(of: known.name, limit: limit)
            )
        }
    }
}
