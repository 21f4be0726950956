import Strata
import StrataInspection

/// The recorded commits, newest first.
struct CommitsPage: ConsolePage {
    let path = "commits"
    let title = "Commits"
    let group: NavigationGroup? = .store
    let needs = StoreNeeds.store
    let template = PageTemplate.commits

    static let pageSize = 50
    /// The greatest number of bytes of a commit's changes that are read for the list.
    private static let largest = 128 << 10
    /// The greatest number of tables that are named for a commit.
    private static let greatestTableCount = 6

    struct Values: Sendable {
        let table: Table
    }

    func content(_ request: ConsoleRequest) async throws -> PageContent {
        let before = try request.query.number("before")
        let found = try await request.read { context in
            try context.recordedCommits(before: before, limit: Self.pageSize + 1, largest: Self.largest)
        }
        var table = Table("Commits", [], numbers: ["Commit"], ["Time", "Author", "Changes"])
        let shown = found.prefix(Self.pageSize)
        for commit in shown {
            let link = request.address(ofCommit: commit.sequence)
            table.add([
                .number(commit.sequence, href: link), .time(commit.time), .text(commit.author ?? "-"),
                .text(Self.text(of: commit.changes)),
            ])
        }
        table.whenEmpty = before == nil ? "The store has no recorded commits." : "The history has no earlier commits."
        let last = found.count > Self.pageSize ? shown.last?.sequence : nil
        table.pager = Pager(
            first: before == nil ? nil : request.link("commits"),
            next: last.flatMap { request.link("commits", ["before": "\($0)"]) },
            firstTitle: "Newest",
            nextTitle: "Older"
        )
        return PageContent(Values(table: table))
    }

    /// The number of inserted (+), updated (~) and deleted (-) objects of each table.
    private static func text(of changes: RecordedCommit.Changes) -> String {
        guard case .known(let tables) = changes else { return CommitPage.reason(changes) }
        let texts = tables.prefix(greatestTableCount).map { table in
            let counts: [(mark: String, count: Int)] = [
                ("+", table.inserted.count), ("~", table.updatedRows.count), ("-", table.deleted.count),
            ]
            let marks = counts.filter { $0.count > 0 }.map { "\($0.mark)\($0.count)" }
            return ([TerminalText.shortened(table.name, to: 60)] + marks).joined(separator: " ")
        }
        let rest = tables.count - texts.count
        return texts.joined(separator: ", ") + (rest > 0 ? " and \(rest) more tables" : "")
    }
}
