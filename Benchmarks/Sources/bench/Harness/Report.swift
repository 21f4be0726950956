import BenchFigures
import Foundation

/// The table on standard output and the file for machines.
enum Report {
    static func printHead() {
        print(line("row", "unit", "subject", "min..max", "reference", "min..max", "ratio", "target"))
    }

    static func print(_ outcome: Outcome) {
        let verdict =
            outcome.isMet.map { "\(number(outcome.target ?? 0)) \($0 ? "met" : "MISSED")" } ?? "none"
        Swift.print(
            line(
                outcome.name,
                outcome.unit.rawValue,
                number(outcome.subject.median),
                range(outcome.subject),
                number(outcome.reference.median),
                range(outcome.reference),
                number(outcome.ratio),
                verdict
            )
        )
        // Rows take seconds: whoever watches through a pipe sees each as it comes.
        fflush(nil)
    }

    static func printSummary(_ outcomes: [Outcome]) {
        let verdicts = outcomes.compactMap(\.isMet)
        guard !verdicts.isEmpty else { return }
        Swift.print("\(verdicts.count { $0 }) of \(verdicts.count) targets met")
    }

    /// Prints the table of a check, in the order of the names.
    static func print(_ changes: [String: RatioChange], tolerance: Double) {
        Swift.print("\n" + line("row", "kept", "now", "change", "", widths: changeWidths))
        for (name, change) in changes.sorted(by: { $0.key < $1.key }) {
            let (kept, now, difference) = texts(change)
            let verdict = change.isFailure(tolerance: tolerance) ? "FAILED" : "ok"
            Swift.print(line(name, kept, now, difference, verdict, widths: changeWidths))
        }
    }

    static func percent(_ part: Double) -> String { String(format: "%g percent", part * 100) }

    static func write(_ value: some Encodable, to file: URL) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        var data = try encoder.encode(value)
        data.append(UInt8(ascii: "\n"))
        try data.write(to: file)
    }

    private static func print(_ text: String) { Swift.print(text) }

    private static let outcomeWidths = [5, 10, 19, 10, 19, 6, 12]
    private static let changeWidths = [9, 9, 10, 7]

    private static func line(_ name: String, _ fields: String..., widths: [Int] = outcomeWidths) -> String {
        let right = zip(fields, widths).map { field, width in
            String(repeating: " ", count: max(0, width - field.count)) + field
        }
        return name + String(repeating: " ", count: max(0, 64 - name.count)) + right.joined(separator: " ")
    }

    private static func texts(_ change: RatioChange) -> (kept: String, now: String, difference: String) {
        switch change {
        case .measured(let kept, let now):
            (ratio(kept), ratio(now), String(format: "%+.1f %%", (now / kept - 1) * 100))
        case .new(let now): ("none", ratio(now), "new")
        case .gone(let kept): (ratio(kept), "none", "gone")
        }
    }

    /// Ratios of small figures are far below 1, so they have digits instead of decimals.
    private static func ratio(_ value: Double) -> String { String(format: "%.4g", value) }

    private static func range(_ spread: Spread) -> String { "\(number(spread.least))..\(number(spread.most))" }

    private static func number(_ value: Double) -> String {
        String(format: value >= 1000 ? "%.0f" : value >= 100 ? "%.1f" : "%.2f", value)
    }
}
