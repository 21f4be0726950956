import Foundation
import HistoryKit

/// Formats the answers as text for the terminal.
struct Report {
    let answers: Answers

    func lines(width: Int) -> [String] {
        guard answers.commits > 0 else { return ["There are no commits in the store."] }
        let sections = [
            ("Busiest authors", authors.lines(width: width)),
            ("Files that change together", pairs.lines(width: width)),
            ("Longest quiet periods", quiet.lines(width: width)),
            ("Commits over time", BarChart(commits).lines(width: width)),
            ("Lines over time, added less deleted", growth.lines(width: width)),
        ]
        return summary(width) + sections.flatMap { ["", TextWidth.cut($0, to: width), ""] + $1 }
    }

    private func summary(_ width: Int) -> [String] {
        let counts = [
            Numbers.counted(answers.commits, "commit"), Numbers.counted(answers.people, "author"),
            Numbers.counted(answers.files, "file"),
            "\(Numbers.counted(answers.added, "line")) added, \(Numbers.grouped(answers.deleted)) deleted",
        ]
        return [TextWidth.cut(counts.joined(separator: ", "), to: width)]
    }

    private var authors: Table {
        Table(
            [.text("author"), .number("commits"), .number("added"), .number("deleted")],
            rows: answers.busiest.map {
                [$0.name, Numbers.grouped($0.commits), Numbers.grouped($0.added), Numbers.grouped($0.deleted)]
            }
        )
    }

    private var pairs: Table {
        Table(
            [.path("file"), .path("and"), .number("commits")],
            rows: answers.together.map { [$0.first, $0.second, Numbers.grouped($0.count)] }
        )
    }

    private var quiet: Table {
        Table(
            [.text("length"), .text("from"), .text("to")],
            rows: answers.quiet.map { [Durations.text(seconds: $0.seconds), Self.day($0.start), Self.day($0.end)] }
        )
    }

    private var commits: [BarChart.Bar] { answers.growth.map { .init($0.name, $0.commits) } }

    private var growth: Table {
        var total = 0
        let rows = answers.growth.map { period in
            total += period.added - period.deleted
            return [period.name, Numbers.grouped(period.added - period.deleted), Numbers.grouped(total)]
        }
        return Table([.text("period"), .number("growth"), .number("lines in all")], rows: rows)
    }

    private static func day(_ date: Date) -> String {
        date.formatted(.iso8601.year().month().day())
    }
}
