import Foundation
import Strata

extension OperationRepository {
    /// Records a run of a schedule under the id of its operation.
    func recordRun(of number: Int64, _ schedule: String, dueAt: Date) throws {
        try transaction.run(
            QueueSQL.insertRun,
            [
                .integer(number), .text(schedule), .real(dueAt.timeIntervalSinceReferenceDate),
                .real(now.timeIntervalSinceReferenceDate), version,
            ]
        )
        try transaction.report(inserted: number, of: ScheduleRun.self)
        sideResults.facts[.queuedRuns] = true
    }

    /// Deletes the runs of a schedule that are no longer kept.
    func pruneRuns(of schedule: String) throws {
        let old = try transaction.numbers(
            QueueSQL.selectOldRuns,
            [.text(schedule), .integer(Int64(ScheduledRun.keptCount))]
        )
        try delete(old, of: ScheduleRun.self, by: QueueSQL.deleteRun)
    }

    /// Deletes the runs that are no longer kept, of the schedules that these runs belong to.
    func pruneRuns(among numbers: [Int64]) throws {
        var schedules: [String] = []
        for range in IDRanges(ascending: numbers).ranges {
            try transaction.rows(
                QueueSQL.selectSchedulesOfRuns,
                [.integer(range.lowerBound), .integer(range.upperBound)]
            ) { row in schedules.append(try row.read(String.self, at: 0)) }
        }
        for schedule in schedules { try pruneRuns(of: schedule) }
    }

    /// Deletes the runs of schedules that no longer exist. The context that has deleted a schedule does not know the
    /// runs that engines have recorded since.
    ///
    /// - Complexity: O(runs).
    func deleteRunsWithoutSchedule() throws {
        let runs = try transaction.numbers(QueueSQL.selectRunsWithoutSchedule, [])
        try delete(runs, of: ScheduleRun.self, by: QueueSQL.deleteRun)
    }

    /// Records the ends of those of the operations that are runs of schedules. Either the operations are archived, and
    /// not deleted from the queue yet, or they were deleted without a result.
    func endRuns(of numbers: [Int64]) throws {
        for range in IDRanges(ascending: numbers.sorted()).ranges {
            let runs = try transaction.numbers(
                QueueSQL.selectQueuedRuns,
                [.integer(range.lowerBound), .integer(range.upperBound)]
            )
            for number in runs {
                var error: String?
                try transaction.rows(QueueSQL.selectFinishedFailures, [.integer(number)]) { row in
                    error = (try? row.read(AttemptFailures.self, at: 0))?.list.last?.message
                }
                try transaction.run(
                    QueueSQL.endRun,
                    [.integer(number), error.map { .text($0) } ?? .null, version]
                )
            }
            try transaction.report(
                updated: runs,
                ["isQueued", "startedAt", "finishedAt", "result", "error"],
                of: ScheduleRun.self
            )
        }
    }
}
