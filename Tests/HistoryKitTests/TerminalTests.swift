import Foundation
import Testing

@testable import HistoryKit

@Suite struct TerminalTests {
    @Test(
        "Numbers are grouped by thousands",
        arguments: [
            (0, "0"), (7, "7"), (999, "999"), (1_000, "1,000"), (-1_234_567, "-1,234,567"),
            (Int.min, "-9,223,372,036,854,775,808"),
        ]
    )
    func numbers(number: Int, text: String) { #expect(Numbers.grouped(number) == text) }

    @Test(
        "Durations have one or two units",
        arguments: [
            (0.0, "0 s"), (0.9, "0 s"), (59.0, "59 s"), (75.0, "1 min 15 s"), (3_600.0, "1 h"), (3_605.0, "1 h"),
            (93_784.0, "1 d 2 h"),
            (86_400.0 * 400, "1 y 35 d"), (Double.infinity, "?"), (Double.nan, "?"),
        ]
    )
    func durations(seconds: Double, text: String) { #expect(Durations.text(seconds: seconds) == text) }

    @Test("The width of a text counts terminal columns")
    func widths() {
        #expect(TextWidth.width("abc") == 3)
        #expect(TextWidth.width("日本") == 4)
        #expect(TextWidth.width("e\u{301}") == 1)
        #expect(TextWidth.width("🎉👨‍👩‍👧") == 4)
        #expect(TextWidth.fit("日本語", to: 5) == "日本…")
        #expect(TextWidth.fit("日本語", to: 4) == "日… ")
        #expect(TextWidth.fit("ab", to: 4, alignment: .right) == "  ab")
        #expect(TextWidth.cut("abc", to: 0).isEmpty)
        #expect(TextWidth.printable("a\u{1B}[2J\n\u{202E}b") == "a\\u{1b}[2J\\n\\u{202e}b")
    }

    @Test(
        "A path that is too long loses its beginning",
        arguments: [
            (49, "Sources/Strata/Context/ObjectContext+Saving.swift"),
            (48, "…/Strata/Context/ObjectContext+Saving.swift"),
            (36, "…/Context/ObjectContext+Saving.swift"), (35, "…/ObjectContext+Saving.swift"),
            (27, "…ObjectContext+Saving.swift"), (13, "…Saving.swift"), (1, "…"), (0, ""),
        ]
    )
    func paths(width: Int, text: String) {
        #expect(TextWidth.cutPath("Sources/Strata/Context/ObjectContext+Saving.swift", to: width) == text)
    }

    @Test("A table shortens its paths")
    func tableOfPaths() {
        let table = Table([.path("file"), .number("n")], rows: [["a/long/way/to/one.txt", "2"], ["two.txt", "1"]])
        #expect(
            table.lines(width: 14) == ["file         n", "───────────  ─", "…/one.txt    2", "two.txt      1"]
        )
    }

    @Test("A table aligns its columns and fits its width")
    func table() {
        let table = Table(
            [.text("author"), .number("commits"), .text("file")],
            rows: [["Ada", "1,200", "src/main.swift"], ["日本", "7", "a\nb"], ["Bob"]]
        )
        #expect(
            table.lines(width: 80) == [
                "author  commits  file",
                "──────  ───────  ──────────────",
                "Ada       1,200  src/main.swift",
                "日本          7  a\\nb",
                "Bob",
            ]
        )
        #expect(
            table.lines(width: 26) == [
                "author  commits  file",
                "──────  ───────  ─────────",
                "Ada       1,200  src/main…",
                "日本          7  a\\nb",
                "Bob",
            ]
        )
        #expect(Table([.text("a")], rows: []).lines(width: 80) == ["a", "─", "(none)"])
    }

    @Test("A chart has one bar for each value")
    func chart() {
        let chart = BarChart([.init("2024", 1_000), .init("2025", 500), .init("2026", 1), .init("none", 0)])
        #expect(
            chart.lines(width: 19) == [
                "2024 ████████ 1,000", "2025 ████       500", "2026 ▏            1", "none              0",
            ]
        )
        #expect(BarChart([]).lines(width: 10) == ["(none)"])
        #expect(BarChart([.init("a", 0, text: "zero")]).lines(width: 12) == ["a       zero"])
        #expect(BarChart.draw(3, of: 8, width: 1) == "▍")
    }

    @Test("No line is wider than the terminal")
    func nothingWraps() {
        let names = ["", "a", "日本語の長い名前", "🎉🎉🎉", String(repeating: "x", count: 300), "a\u{1B}b\nc"]
        for width in 0..<100 {
            let table = Table([.text("name"), .number("count"), .path("x")], rows: names.map { [$0, "123,456", $0] })
            let chart = BarChart(names.enumerated().map { .init($1, $0 * 1_000_000) })
            let bar = ProgressBar.line("commits", done: 12_345, total: 99_999, elapsed: 3, width: width)
            for line in table.lines(width: width) + chart.lines(width: width) + [bar] {
                #expect(TextWidth.width(line) <= width, "\(width): \(line)")
            }
        }
    }

    @Test("The width of the terminal has a fallback")
    func terminalWidth() {
        #expect(Terminal.width(reported: 120, variable: "60") == 120)
        #expect(Terminal.width(reported: 0, variable: "60") == 60)
        #expect(Terminal.width(reported: nil, variable: "-5") == 80)
        #expect(Terminal.width(reported: nil, variable: nil) == 80)
    }

    @Test("A progress line has a bar, a rate and the remaining time")
    func progressLine() {
        #expect(
            ProgressBar.line("commits", done: 50, total: 200, elapsed: 5, width: 60)
                == "commits [████▎            ] 50 of 200  25 %  10/s  15 s left"
        )
        #expect(ProgressBar.line("commits", done: 1_200, total: nil, elapsed: 1, width: 60) == "commits 1,200  1,200/s")
        #expect(ProgressBar.line("x", done: 3, total: 2, elapsed: 0, width: 60).hasSuffix("3 of 2  100 %  0/s"))
    }

    @Test("Progress is drawn at limited intervals")
    func progressIsThrottled() {
        final class Output { var text: [String] = [] }
        let start = ContinuousClock.now
        for (isTerminal, expected) in [(true, 10), (false, 0)] {
            let output = Output()
            var bar = ProgressBar(
                "x",
                total: 1_000,
                isTerminal: isTerminal,
                start: start,
                width: { 40 },
                write: { output.text.append($0) }
            )
            for step in 0..<1_000 { bar.update(step, now: start + .milliseconds(step)) }
            #expect(output.text.count == expected)
            bar.update(1_000, now: start + .seconds(11))
            #expect(output.text.count == expected + 1)
            #expect(output.text.last?.hasPrefix("\r") == isTerminal)
            bar.finish()
        }
    }
}
