import Foundation
import Strata
import StrataInspection

/// The output of `strata inspect`.
struct StoreReport {
    let file: String
    let record: StoreRecord
    let statistics: StoreStatistics
    let rate: CommitRate
    /// Nil if the system does not tell.
    let processes: StoreProcesses?
    /// When the store was read.
    let time: Date
    /// What the home of a working copy has answered.
    var comparison = HomeComparison.notAsked

    // MARK: For people

    var lines: [String] {
        var lines = TextTable.lines(of: facts)
        lines.append("")
        lines += tables.lines
        lines.append("")
        // The text ends with a line feed.
        lines += record.schema.description.split(atBytes: "\n", omitsEmpty: false).dropLast()
        return lines
    }

    private var facts: [(name: String, value: String)] { storeFacts + homeFacts }

    private var storeFacts: [(name: String, value: String)] {
        [
            ("file", file),
            (
                "size",
                "\(statistics.fileSize) bytes, \(statistics.pageCount) pages of \(statistics.pageSize) bytes, "
                    + "\(statistics.freePageCount) of them free"
            ),
            ("journal", "\(statistics.journalSize) bytes"),
            ("format", "\(record.format)"),
            ("version", "\(record.version)"),
            ("steps", record.steps.isEmpty ? "none" : record.steps.joined(separator: ", ")),
            ("history", "\(statistics.history.commitCount) commits, \(statistics.history.size) bytes"),
            ("newest", newest),
            ("rate", rateText),
            ("processes", StoreProcesses.text(processes)),
        ]
    }

    /// What a working copy knows of its home, and the answer of the home if it was asked.
    private var homeFacts: [(name: String, value: String)] {
        guard let home = record.home else { return [] }
        return [
            ("home", home.name), ("node", home.node ?? "not recorded"),
            (
                "position",
                home.position.map { "transaction \($0.number)" }
                    ?? "damaged; the copy is made again when it is opened with its home"
            ),
            ("lag", lag),
        ]
    }

    private var rateText: String {
        let text = "\(rate.lastMinute) commits in the last minute, \(rate.lastHour) in the last hour"
        return rate.isComplete ? text : text + ", or more: the history does not reach back so far"
    }

    private var lag: String {
        if let text = comparison.text(record.home?.position) { return text }
        let age = record.newest?.time.map { Timestamp.age(since: $0, at: time) }
        let text = age.map { "the newest commit of this copy is \($0) old" } ?? "this copy has no commit yet"
        return text + "; only the home knows whether it has newer ones"
    }

    private var newest: String {
        guard let commit = record.newest else { return "no commit yet" }
        return ["commit \(commit.sequence)", Timestamp.text(commit.time), commit.author].compactMap { $0 }
            .joined(separator: ", ")
    }

    private var tables: TextTable {
        var table = TextTable(["model", "table", "rows", "bytes", "index bytes"])
        for entry in statistics.tables {
            let indexSize: Int? = entry.totalSize.flatMap { total in entry.size.map { total - $0 } }
            table.add([
                .text(entry.subject), .text(entry.name), .number(entry.rowCount), .number(entry.size),
                .number(indexSize),
            ])
        }
        return table
    }

    // MARK: For scripts

    var json: JSON {
        .object([
            ("file", .text(file)),
            ("pageSize", .count(statistics.pageSize)),
            ("pageCount", .count(statistics.pageCount)),
            ("freePageCount", .count(statistics.freePageCount)),
            ("compactsInPortions", .bool(statistics.compactsInPortions)),
            ("journalSize", .count(statistics.journalSize)),
            ("externalSize", .count(statistics.externalSize)),
            ("format", .integer(record.format)),
            ("version", .integer(record.version)),
            ("migrations", .integer(record.migrations)),
            ("steps", .array(record.steps.map { .text($0) })),
            (
                "history",
                .object([
                    ("commitCount", .count(statistics.history.commitCount)),
                    ("size", .count(statistics.history.size)),
                    ("lastMinute", .count(rate.lastMinute)),
                    ("lastHour", .count(rate.lastHour)),
                ])
            ),
            ("newest", newestJSON),
            ("home", homeJSON),
            ("processes", processesJSON),
            ("tables", .array(zip(record.schema.tables, statistics.tables).map { Self.json($0, $1) })),
            ("schema", .text(record.schema.description)),
        ])
    }

    private var newestJSON: JSON {
        guard let commit = record.newest else { return .null }
        return .object([
            ("sequence", .integer(commit.sequence)), ("time", .time(commit.time)), ("author", .orNull(commit.author)),
        ])
    }

    private var homeJSON: JSON {
        guard let home = record.home else { return .null }
        var fields: [(name: String, value: JSON)] = [
            ("name", .text(home.name)), ("node", .orNull(home.node)),
            ("transaction", .orNull(home.position?.number)), ("id", .orNull(home.position?.id.uuidString)),
        ]
        fields += comparison.fields(home.position)
        return .object(fields)
    }

    private var processesJSON: JSON {
        guard let processes else { return .null }
        let list = processes.entries.map { entry in
            JSON.object([("id", .integer(Int64(entry.id))), ("command", .orNull(entry.command))])
        }
        return .object([("complete", .bool(processes.isComplete)), ("list", .array(list))])
    }

    private static func json(_ table: TableDescription, _ measured: StoreStatistics.TableStatistics) -> JSON {
        .object([
            ("subject", .text(table.subject)),
            ("name", .text(table.name)),
            ("isRelationship", .bool(table.isRelationship)),
            ("rowCount", .count(measured.rowCount)),
            ("size", .orNull(measured.size)),
            (
                "indexes",
                .array(measured.indexes.map { .object([("name", .text($0.name)), ("size", .orNull($0.size))]) })
            ),
            (
                "columns",
                .array(
                    table.columns.map { column in
                        .object([
                            ("name", .text(column.name)),
                            ("type", .text(column.type.rawValue)),
                            ("isOptional", .bool(column.isOptional)),
                            ("valueType", .orNull(column.valueType)),
                            ("references", .orNull(column.referencedTable)),
                        ])
                    }
                )
            ),
        ])
    }
}
