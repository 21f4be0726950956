import ArgumentParser
import Strata
import StrataInspection

/// `strata history`: the last commits, and the following ones.
struct HistoryCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "Prints the last commits of a store, oldest first.",
        discussion: """
            Each line has the number of the commit, its time, its author, and the number of inserted (+), updated (~) \
            and deleted (-) objects of each table.
            """
    )

    @OptionGroup var file: StoreArgument

    @Option(help: "The greatest number of past commits.")
    var limit = 20

    @Flag(help: "Continue with commits of any process as they arrive, until interrupted.")
    var follow = false

    @OptionGroup var output: OutputOptions

    func validate() throws {
        if limit < 0 { throw ValidationError("--limit must not be negative.") }
    }

    func run(on console: Console) async throws {
        try await file.reading { stack in
            // Taken first, so that no commit is missing if there are no past ones.
            var token = stack.historyToken
            for commit in try await stack.recentHistory(limit: limit) {
                try print(commit, on: console)
                token = commit.token
            }
            guard follow else { return }
            for try await commit in stack.changes(since: token) { try print(commit, on: console) }
            // The sequence also ends when the task is cancelled.
            try Task.checkCancellation()
        }
    }

    private func print(_ commit: ChangeSet, on console: Console) throws {
        if output.json { try console.print(commit.json) } else { try console.print(commit.line) }
    }
}

extension ChangeSet {
    fileprivate var line: String {
        let tables = changedTables.map { table in
            let counts: [(mark: String, count: Int)] = [
                ("+", table.inserted.count), ("~", table.updatedCount), ("-", table.deleted.count),
            ]
            return ([table.name] + counts.filter { $0.count > 0 }.map { "\($0.mark)\($0.count)" })
                .joined(separator: " ")
        }
        return ["\(token.sequence)", Timestamp.text(time) ?? "-", author ?? "-", tables.joined(separator: ", ")]
            .joined(separator: "  ")
    }

    fileprivate var json: JSON {
        .object([
            ("sequence", .integer(token.sequence)),
            ("token", .text(token.description)),
            ("time", .time(time)),
            ("author", .orNull(author)),
            ("tables", .array(changedTables.map(\.json))),
        ])
    }
}

extension ChangedTable {
    /// The number of updated rows. A row that was updated in several sets of columns counts once.
    fileprivate var updatedCount: Int { updated.reduce(IDRanges([Int64]())) { $0.union($1.ids) }.count }

    fileprivate var json: JSON {
        .object([
            ("table", .text(name)),
            ("inserted", Self.json(inserted)),
            (
                "updated",
                .array(
                    updated.map { columns, ids in
                        .object([("columns", .array(columns.map { .text($0) })), ("ids", Self.json(ids))])
                    }
                )
            ),
            ("deleted", Self.json(deleted)),
        ])
    }

    /// The first and the last id of each range.
    private static func json(_ ids: IDRanges) -> JSON {
        .array(ids.ranges.map { .array([.integer($0.lowerBound), .integer($0.upperBound)]) })
    }
}
