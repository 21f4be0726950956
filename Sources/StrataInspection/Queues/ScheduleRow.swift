import Foundation
import Strata
import StrataPipeline

/// A schedule in a list. Its payload is not read, and values that cannot be read are shown as they are.
package struct ScheduleRow: Sendable {
    package let name: String
    package let pipeline: String
    /// The type of the payload.
    package let type: String
    /// The schedule for people.
    package let schedule: String
    package let overlap: String
    package let catchUp: String
    /// When the operation is due next; nil while the schedule is paused, and before an engine has computed it.
    package let nextAt: Date?
    /// When the operation was last due, also if none was queued for this time.
    package let lastAt: Date?
    package let isPaused: Bool
    /// The operator who has last paused or resumed the schedule, and when; nil if there was none.
    package let pauseChange: String?
    /// The last runs, newest first.
    package let runs: [ScheduledRun]

    /// Schedules, sorted by name.
    ///
    /// - Parameters:
    ///   - offset: the number of schedules before the first one of the list.
    ///   - limit: the greatest number of schedules.
    ///   - runs: the greatest number of runs of each schedule.
    /// - Complexity: O(`offset` + `limit`), and for each schedule O(`runs`) lookups.
    package static func list(
        offset: Int,
        limit: Int,
        runs: Int,
        in context: ObjectContext
    ) throws -> [ScheduleRow] {
        try context.rows(select(offset: offset, limit: limit)).map { row in
            let name = row.lenient("name").lenientText ?? ""
            return ScheduleRow(row, name, try context.scheduledRuns(of: name, limit: runs))
        }
    }

    package static func select(offset: Int, limit: Int) -> SQL {
        """
        SELECT "name", "pipeline", "type", "schedule", "overlap", "catchUp", "isPaused", "pauseChangedBy", \
        "pauseChangedAt", "nextAt", "lastAt" FROM "PeriodicOperation" ORDER BY "name" LIMIT \(limit) OFFSET \(offset)
        """
    }

    private init(_ row: SQLRow, _ name: String, _ runs: [ScheduledRun]) {
        self.name = name
        self.runs = runs
        pipeline = row.lenient("pipeline").lenientText ?? ""
        type = row.lenient("type").lenientText ?? ""
        schedule = Schedule.text(row.lenient("schedule").lenientText ?? "")
        overlap = row.lenient("overlap").lenientText ?? ""
        let stored = row.lenient("catchUp")
        catchUp = CatchUp(storedValue: stored)?.text ?? stored.lenientText ?? ""
        nextAt = row.lenient("nextAt").lenientDate
        lastAt = row.lenient("lastAt").lenientDate
        isPaused = row.lenient("isPaused").lenientInteger == 1
        if let person = row.lenient("pauseChangedBy").lenientText {
            let date = row.lenient("pauseChangedAt").lenientDate
            pauseChange = "by \(person) at \(Timestamp.text(date) ?? "-")"
        } else {
            pauseChange = nil
        }
    }
}
