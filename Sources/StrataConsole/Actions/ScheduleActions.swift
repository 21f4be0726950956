import Strata
import StrataPipeline

/// Pauses or resumes a schedule in all processes.
struct SchedulePauseAction: ConsoleAction {
    /// Whether the schedule is paused afterwards.
    let isPaused: Bool
    let needs = StoreNeeds.queues

    var path: String { isPaused ? "schedules/pause" : "schedules/resume" }

    func run(_ request: ConsoleRequest) async throws -> ActionResult {
        let name = try request.query.required("schedule")
        let isPaused = isPaused
        try await request.change { context, person in
            if isPaused {
                try context.pauseSchedule(name, by: person)
            } else {
                try context.resumeSchedule(name, by: person)
            }
        }
        return ActionResult(
            notice: "The schedule '\(ViewText.line(name))' was \(isPaused ? "paused" : "resumed") in all processes.",
            page: try SchedulesPage.address(request),
            count: 1,
            objects: [name]
        )
    }
}

/// Queues an extra operation of a schedule, also if the schedule is paused.
struct ScheduleRunAction: ConsoleAction {
    let path = "schedules/run"
    let needs = StoreNeeds.queues

    func run(_ request: ConsoleRequest) async throws -> ActionResult {
        let name = try request.query.required("schedule")
        let number = try await request.change { context, _ in try context.runScheduleNow(name).id.rawValue }
        return ActionResult(
            notice: "Operation \(number) of the schedule '\(ViewText.line(name))' was queued.",
            page: try SchedulesPage.address(request),
            count: 1,
            objects: [name, "\(number)"]
        )
    }
}
