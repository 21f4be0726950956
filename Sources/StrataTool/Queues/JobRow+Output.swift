import Strata
import StrataInspection

extension JobRow {
    static func table(_ rows: [JobRow]) -> TextTable {
        var table = TextTable(["id", "pipeline", "lane", "status", "type", "attempts", "queued"])
        for row in rows {
            table.add([
                .number(row.id), .text(row.pipeline), .text(row.lane), .text(row.status), .text(row.type),
                .number(row.attempts), .text(Timestamp.text(row.queuedAt) ?? "-"),
            ])
        }
        return table
    }

    /// The fields of a line of JSON.
    var fields: [(name: String, value: JSON)] {
        [
            ("id", .integer(id)),
            ("pipeline", .text(pipeline)),
            ("lane", .text(lane)),
            ("status", .text(status)),
            ("type", .text(type)),
            ("key", .orNull(key)),
            ("priority", .orNull(priority)),
            ("attempts", .orNull(attempts)),
            ("queuedAt", .time(queuedAt)),
            ("startedAt", .time(startedAt)),
            ("progress", .orNull(progress)),
            ("finishedAt", .time(finishedAt)),
            ("payloadSize", .orNull(payloadSize)),
        ]
    }
}
