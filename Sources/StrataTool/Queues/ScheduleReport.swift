import Foundation
import Strata
import StrataInspection
import StrataPipeline

/// The output of `strata schedules`.
extension ScheduleSnapshot {
    static func table(_ schedules: [ScheduleSnapshot]) -> TextTable {
        var table = TextTable(["name", "pipeline", "schedule", "next", "last run", "paused"])
        for schedule in schedules {
            let run = schedule.runs.first
            table.add([
                .text(schedule.name), .text(schedule.pipeline.rawValue), .text(schedule.scheduleText),
                .text(Timestamp.text(schedule.nextAt) ?? "-"),
                .text(run.map { "\($0.outcome.rawValue) \(Timestamp.text($0.queuedAt) ?? "-")" } ?? "-"),
                .text(schedule.pauseText ?? "-"),
            ])
        }
        return table
    }

    var json: JSON {
        .object([
            ("name", .text(name)),
            ("pipeline", .text(pipeline.rawValue)),
            ("schedule", .text(schedule.rawValue)),
            ("overlap", .text(overlap.rawValue)),
            ("catchUp", .text(catchUpText)),
            ("nextAt", .time(nextAt)),
            ("lastAt", .time(lastAt)),
            ("isPaused", .bool(isPaused)),
            ("by", .orNull(pauseChange?.by)),
            ("at", .time(pauseChange?.at)),
            ("lastRun", runs.first.map { Self.json($0) } ?? JSON.null),
        ])
    }

    private var catchUpText: String {
        switch catchUp {
        case .none: "none"
        case .one: "one"
        case .all(let limit): "all \(limit)"
        }
    }

    private static func json(_ run: ScheduledRun) -> JSON {
        .object([
            ("operation", .integer(run.operation.rawValue)),
            ("outcome", .text(run.outcome.rawValue)),
            ("dueAt", .time(run.dueAt)),
            ("queuedAt", .time(run.queuedAt)),
            ("startedAt", .time(run.startedAt)),
            ("finishedAt", .time(run.finishedAt)),
            ("error", .orNull(run.error)),
        ])
    }
}
